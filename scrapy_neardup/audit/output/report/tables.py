"""What a report shows where scripts do not run: the figures, and the first rows of its tables, in HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.model import VERDICTS

from .totals import repeating

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .data import ReportData
    from .patterns import Pattern

#: Rows of a table, and characters of a cell.
ROWS, LONGEST = 50, 300


def plain_tables(
    data: ReportData,
    hosts: NDArray[np.int64],
    names: Sequence[str],
    patterns: Sequence[Pattern],
    thin: Sequence[Pattern],
) -> str:
    """Return the HTML of the tables: hosts, causes, short pages and clusters, and what each leaves out.

    *hosts* has for each page the number of its host in *names*.
    """
    pages, clusters = data.pages, data.clusters
    found = ", ".join(
        f"{int((pages['verdict'] == name).sum()):,} {name.replace('_', ' ')}" for name in VERDICTS
    )
    parts = [f"<p>{html.escape(f'{len(pages):,} pages in {len(clusters):,} clusters: {found}.')}</p>"]
    every = np.bincount(hosts, minlength=len(names)).tolist()
    again = np.bincount(hosts[repeating(data)], minlength=len(names)).tolist()
    by_host = sorted(zip(names, every, again, strict=True), key=lambda row: (-row[2], row[0]))
    parts += _table("Hosts", ("Host", "Pages", "Repeats"), by_host)
    causes = [(p.name, p.kind, len(p.pages), p.repeats, p.advice) for p in patterns]
    parts += _table(
        "What leads to repeated pages", ("Pattern", "Kind", "Pages", "Repeats", "What to do"), causes
    )
    short = [(p.name, len(p.pages), p.repeats, p.advice) for p in thin]
    parts += _table("Pages with little text, by path", ("Path", "Pages", "Too short", ""), short)
    groups = [
        (pages["url"][canonical], *counts)
        for canonical, *counts in clusters[["canonical", "size", "near", "exact"]][:ROWS].tolist()
    ]
    parts += _table("Clusters", ("Canonical page", "Pages", "Near", "Exact"), groups, len(clusters))
    return "\n".join(parts)


def _table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[object]], count: int = 0
) -> Iterable[str]:
    if not rows:
        return
    shown, count = rows[:ROWS], max(count, len(rows))
    left_out = f" (the first {len(shown):,} of {count:,})" if count > len(shown) else ""
    yield f'<div class="scroll"><table><caption>{html.escape(caption + left_out)}</caption><thead><tr>'
    yield "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads) + "</tr></thead><tbody>"
    for row in shown:
        cells = (f"{cell:,}" if isinstance(cell, int) else str(cell)[:LONGEST] for cell in row)
        yield (
            "<tr>"
            + "".join(
                f'<td data-column="{html.escape(head)}"><bdi>{html.escape(_visible(cell))}</bdi></td>'
                for head, cell in zip(heads, cells, strict=True)
            )
            + "</tr>"
        )
    yield "</tbody></table></div>"


def _visible(text: str) -> str:
    """Return *text* with a mark for each character that is not printed or cannot be encoded."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
