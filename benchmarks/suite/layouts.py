"""Which number of permuted tables answers a probe fastest, and from which size on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup import FingerprintIndex
from scrapy_neardup.index.tables import LAYOUTS

from . import inputs
from .indexes import fingerprint_index
from .measuring import Finding, interleave
from .probing import each_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .measuring import Form

PROBES = 1000
#: With fewer stored, a probe meets too few candidates to tell what one costs.
ENOUGH = 10**7


def measure(form: Form) -> Iterator[Finding]:
    medians: dict[tuple[int, int], float] = {}
    for size in form.sizes:
        if size > 10**7:
            break  # 20 tables of 100 million take 24 GB
        paths = {tables: index_of(form, size, tables) for tables in LAYOUTS}
        probes = inputs.queries(inputs.fingerprints(size), PROBES, 3, seed=size + 2)
        tasks: dict[str, Callable[[], float]] = {}
        opened = {tables: FingerprintIndex.open(path, tables=tables) for tables, path in paths.items()}
        for tables, index in opened.items():
            tasks[str(tables)] = lambda index=index, probes=probes: float(
                np.median(each_probe(index, probes, 3))
            )
            tasks[str(tables)]()  # from the disk
        found = interleave(form.repeats, tasks)
        for tables, index in opened.items():
            index.close()
            medians[tables, size] = float(np.median(found[str(tables)]))
            yield Finding(
                f"one probe within 3 bits, warm, median, {tables} tables",
                size,
                "µs",
                found[str(tables)],
                note=candidates(tables, size),
            )
    sizes = sorted({size for _, size in medians})
    if len(sizes) > 1 and sizes[-1] >= ENOUGH:
        yield from crossings(medians, sizes[0], sizes[-1])


def index_of(form: Form, size: int, tables: int) -> Path:
    if tables == 4:
        return fingerprint_index(form, size)
    path = form.folder / f"layout-{tables}-{size}"
    with FingerprintIndex.open(path, tables=tables) as index:
        index.add(inputs.fingerprints(size))
        index._index.compact()  # type: ignore[attr-defined]
    return path


def compared(tables: int, size: int) -> float:
    """Return how many fingerprints a probe is compared with, if they are spread evenly."""
    return sum(size / 2**bits for bits in LAYOUTS[tables].prefix_bits)


def candidates(tables: int, size: int) -> str:
    return (
        f"{tables} tables, {size:,} stored: compared with {compared(tables, size):,.1f} on average, in "
        f"{12 * tables} B each"
    )


def crossings(medians: dict[tuple[int, int], float], small: int, large: int) -> Iterator[Finding]:
    """Compute from which size on more tables are faster: a candidate costs the same, a table its search."""
    each = (medians[4, large] - medians[4, small]) / (compared(4, large) - compared(4, small))
    if each <= 0:
        return
    fixed = {tables: medians[tables, small] - each * compared(tables, small) for tables in LAYOUTS}
    for fewer, more in ((4, 10), (10, 20)):
        saved = compared(fewer, 1) - compared(more, 1)
        size = (fixed[more] - fixed[fewer]) / (each * saved)
        note = (
            f"from {each * 1000:.1f} ns a candidate, and {fixed[fewer]:.0f} and {fixed[more]:.0f} µs without "
            "any; all in memory"
        )
        yield Finding(
            f"fingerprints from which on {more} tables answer faster than {fewer}",
            0,
            "",
            (size,),
            note=note,
            computed=True,
        )
