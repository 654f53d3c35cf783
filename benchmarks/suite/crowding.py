"""Fingerprints of real texts in one language crowd: with how many a probe is compared, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup import FingerprintIndex
from scrapy_neardup.audit.pairs.joins import near_pairs
from scrapy_neardup.index.tables import LAYOUTS

from . import inputs, recombined
from .layouts import compared
from .measuring import Finding, interleave, timed
from .probing import check, each_probe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.fingerprint import Weight

    from .measuring import Form

PROBES = 2000
#: How many texts are recombined, by form: one takes .2 ms or more.
SIZES = {"quick": (20_000, 100_000), "full": (10**5, 10**6), "huge": (10**7,)}
WEIGHTS: tuple[Weight, ...] = ("tf", "keywords")


def measure(form: Form) -> Iterator[Finding]:
    sizes = SIZES[form.name]
    texts = inputs.releases(form.data)
    paragraphs = recombined.Paragraphs(texts)
    for weight in WEIGHTS:
        yield from crowd(paragraphs.originals(weight), f"{len(texts):,} press releases, weight {weight}")
    made = recombined.fingerprints(texts, max(sizes))
    yield from crowd(made[: len(texts)], f"{len(texts):,} texts recombined from their paragraphs")
    for size in sizes:
        yield from probe(form, made[:size], 4)
        yield join(form, made[:size])
    for tables in (10, 20):
        yield from probe(form, made, tables)


def crowd(marks: NDArray[np.uint64], of: str) -> Iterator[Finding]:
    """Count with how many of a million a probe is compared."""
    marks = np.unique(marks)  # a probe finds equal ones whatever the tables are
    for tables in LAYOUTS:
        found = per_million(marks, tables)
        note = f"{tables} tables: {compared(tables, 10**6):.3g} if fingerprints were uniform"
        yield Finding(
            f"a probe meets, of a million, {tables} tables: {of}", len(marks), "", (found,), note=note
        )


def per_million(marks: NDArray[np.uint64], tables: int) -> float:
    """Return with how many of a million stored ones like *marks* (distinct) another of them is compared."""
    layout = LAYOUTS[tables]
    pairs = 0
    for keys, bits in zip(layout.keys(marks), layout.prefix_bits, strict=True):
        counts = np.unique(keys >> np.uint64(64 - bits), return_counts=True)[1].astype(np.int64)
        pairs += int((counts * (counts - 1)).sum())
    return pairs / len(marks) / (len(marks) - 1) * 1e6


def probe(form: Form, stored: NDArray[np.uint64], tables: int) -> Iterator[Finding]:
    size = len(stored)
    wanted = inputs.queries(stored, PROBES, 3, seed=size)
    # The others are of texts that are not stored, too: a uniform one would meet fewer.
    wanted[1::2] = stored[np.random.default_rng(1).integers(0, size, len(wanted) // 2)] ^ np.uint64(0x1111)
    path = form.folder / f"real-{tables}-{size}"
    with FingerprintIndex.open(path, tables=tables) as index:
        index.add(stored)
        index._index.compact()  # type: ignore[attr-defined]
        check(index, stored, wanted[:10], 3)
        each_probe(index, wanted, 3)  # from the disk
        kept = [each_probe(index, wanted, 3) for _ in range(form.repeats)]
    work = f"one probe within 3 bits, warm, real texts, {tables} tables"
    median, last = (tuple(float(np.percentile(each, q)) for each in kept) for q in (50, 99))
    yield Finding(f"{work}, median", size, "µs", median, growth=tables == 4)
    yield Finding(f"{work}, 99th percentile", size, "µs", last)


def join(form: Form, stored: NDArray[np.uint64]) -> Finding:
    def ours() -> float:
        return timed(lambda: sum(map(len, near_pairs(stored))))

    ours()
    found = interleave(form.repeats, {"ours": ours})
    return Finding("all pairs within 3 bits, real texts", len(stored), "s", found["ours"], growth=True)
