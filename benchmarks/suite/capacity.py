"""What an index of a size that was not measured takes, computed from those that were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.index.tables import LAYOUTS

from .measuring import quartiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .measuring import Finding

SIZES = {"1 M": 10**6, "10 M": 10**7, "100 M": 10**8, "1 billion": 10**9}
BYTES = "bytes a document, all that a crawl keeps"
ENTRY = 12


def markdown(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the section; none if bytes were not measured."""
    measured = [each for each in findings if each.work == BYTES]
    if not measured:
        return
    each = quartiles(measured[-1].ours)[1]
    yield "### Disk and memory by size\n"
    yield (
        f"Computed from the {each:.0f} B a document measured at {measured[-1].size:,} pages (default scheme, "
        "four tables), and 12 B"
        " an entry for each further table. During the largest merge the tables of both are there. What has "
        "to be in memory for warm"
        " probes are the tables, those of digests, URLs and anchors, too; the page cache holds them, no "
        "process does.\n"
    )
    yield (
        "| pages | tables | on disk | during the largest merge | tables, to be cached | fingerprints "
        "compared a probe |"
    )
    yield "|---|---|---|---|---|---|"
    for name, size in SIZES.items():
        for tables, layout in LAYOUTS.items():
            if tables == 20 and size < 10**8:
                continue
            total = each + ENTRY * (tables - 4)
            entries = ENTRY * (tables + 10)  # digest, URL, eight anchors
            compared = sum(size / 2**bits for bits in layout.prefix_bits)
            cells = (total * size, (total + entries) * size, entries * size)
            yield f"| {name} | {tables} | {' | '.join(map(gigabytes, cells))} | {compared:,.1f} |"
    yield ""


def gigabytes(count: float) -> str:
    return f"{count / 1e9:,.3g} GB" if count < 1e12 else f"{count / 1e12:,.3g} TB"
