"""Writes the report: a page, its data, its program, and last the texts, piece by piece."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.urls import split_url

from .columns import page_columns, pair_columns
from .embed import STRINGS, column_block, json_block, string_blocks
from .extent import Extent, Limits, canonical_of, left_out, part, whole
from .patterns import Pattern, by_path, find_patterns, find_thin
from .review import borderline
from .tables import plain_tables
from .texts import text_blocks, wanted_texts
from .totals import describe, group_hosts, pairs_of_hosts, repeating, totals

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .data import ReportData

SCRIPTS = (
    "dom", "format", "download", "unpack", "clustering", "figures", "diff", "comparison", "chart", "table",
    "overview", "clusters", "review", "main",
)  # fmt: skip
#: Characters kept of a title.
LONGEST_TITLE = 200
_LIMITS = Limits()
_FOOT = "</body>\n</html>\n"
#: The style of what needs scripts, where these do not run.
_BARE = ".bar nav, #theme, main > section { display: none; }"


@dataclass(frozen=True, slots=True)
class _Findings:
    """What is found out of all pages once, however much of them a report then lists."""

    hosts: NDArray[np.int64]
    names: list[str]
    patterns: list[Pattern]
    thin: list[Pattern]
    host_pairs: list[list[int]]
    review: NDArray[np.int64]
    reviewed: str

    def examples(self) -> Iterator[int]:
        for pattern in (*self.patterns, *self.thin):
            yield from pattern.example
        for pair in self.host_pairs:
            yield from pair[4:]


def write_report(path: str | os.PathLike[str], data: ReportData, limits: Limits = _LIMITS) -> None:
    """Write the report of *data* to the file *path*; the same bytes for the same data.

    What is beyond the *limits* is counted, not listed, and the report says so. The file appears, or takes the
    place of another, once it is complete. Raises OSError.
    """
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            extent, pieces = _within(data, limits)
            written = sum(map(file.write, pieces))
            wanted = wanted_texts(extent.data, extent.review)
            for piece in text_blocks(wanted, extent.data.text, max(limits.size - written, limits.texts)):
                file.write(piece)
            file.write(_FOOT)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _within(data: ReportData, limits: Limits) -> tuple[Extent, list[str]]:
    """Return as much of *data* as the *limits* allow, and all blocks but those of its texts."""
    findings = _findings(data, limits)
    room = limits.size - limits.texts
    if len(data.pages) <= limits.pages and len(data.pairs) <= limits.pairs:
        extent = whole(data, findings.review)
        pieces = list(_pieces(data, extent, findings))
        size = sum(map(len, pieces))
        if size <= room:
            return extent, pieces
        # A part has next to no pairs. Fewer pages pack a little worse.
        size -= sum(map(len, pair_columns(data.pairs)))
        most = 19 * len(data.pages) * room // (20 * size)
    else:  # no page takes less than its address packed to a tenth
        letters = sum(map(len, data.pages["url"].tolist()))
        most = 10 * room * len(data.pages) // max(1, letters)
    most = min(limits.pages, len(data.pages), most)
    while True:
        extent = part(data, findings.review, findings.examples(), most)
        pieces = list(_pieces(data, extent, findings))
        size = sum(map(len, pieces))
        if size <= room or most <= 0:
            return extent, pieces
        most = min(most * room // size, most * 9 // 10)


def _findings(data: ReportData, limits: Limits) -> _Findings:
    split = [split_url(url) for url in data.pages["url"].tolist()]
    paths = by_path(split)
    numbers: dict[str, int] = {}
    hosts = np.fromiter((numbers.setdefault(url.host, len(numbers)) for url in split), np.int64, len(split))
    hosts, names = group_hosts(data, hosts, list(numbers), limits.hosts)
    review = borderline(data)
    pages = data.pages
    return _Findings(
        hosts,
        names,
        find_patterns(split, paths, repeating(data), canonical_of(data)),
        find_thin(paths, pages["verdict"] == "too_short", pages["tokens"] == 0),
        pairs_of_hosts(data, hosts, limits.hosts),
        review,
        _reviewed(data, review),
    )


def _pieces(data: ReportData, extent: Extent, findings: _Findings) -> Iterator[str]:
    static = files(__package__).joinpath("static")
    style = static.joinpath("report.css").read_text("utf-8")
    parts = (static.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    program = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    sentence = left_out(data, extent)
    yield Template(static.joinpath("report.html").read_text("utf-8")).substitute(
        style=style,
        style_hash=_hash(style),
        bare=_BARE,
        bare_hash=_hash(_BARE),
        program_hash=_hash(program),
        left_out=f'<p id="left-out" class="note">{sentence}</p>' if sentence else "",
        without_script=plain_tables(data, findings.hosts, findings.names, findings.patterns, findings.thin),
    )
    held = extent.data
    yield json_block("report", _description(held) | {"reviewed": findings.reviewed})
    yield json_block("totals", _totals(data, extent, findings) if sentence else None)
    yield json_block("hosts", findings.names)
    yield column_block("page-host", findings.hosts[extent.row >= 0], "<u4")
    yield from page_columns(held.pages)
    yield column_block("canonical", held.clusters["canonical"], "<i4")
    yield from pair_columns(held.pairs)
    yield column_block("review", extent.review, "<u4")
    row = np.append(extent.row, -1)  # that of no page, -1, is -1
    yield json_block(
        "patterns",
        [
            [p.kind, p.name, *row[list(p.example)].tolist(), p.advice, len(p.pages), p.repeats]
            for p in findings.patterns
        ],
    )
    pages = [p.pages for p in findings.patterns] if not sentence else []
    yield column_block("pattern-pages", np.concatenate(pages) if pages else np.zeros(0), "<u4")
    yield json_block(
        "thin",
        [[p.name, int(row[p.example[0]]), p.advice, len(p.pages), p.repeats] for p in findings.thin],
    )
    yield from string_blocks("urls", held.pages["url"].tolist())
    yield from string_blocks("titles", [title[:LONGEST_TITLE] for title in held.pages["title"]])
    yield f"<script>{program}</script>\n"  # runs at once, while the texts, most of the file, are still read


def _totals(data: ReportData, extent: Extent, findings: _Findings) -> dict[str, Any]:
    row = np.append(extent.row, -1)
    return totals(data, findings.hosts, findings.names) | {
        "hostPairs": [pair[:4] + row[pair[4:]].tolist() for pair in findings.host_pairs],
        "described": describe(data, extent.clusters, findings.hosts),
    }


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")


def _description(data: ReportData) -> dict[str, Any]:
    about = data.particulars
    return {
        "pages": len(data.pages),
        "strings": STRINGS,
        "sources": [[name, kind, pages] for (name, kind), pages in about.inputs],
        "maxDistance": about.max_distance,
        "minSimilarity": round(100 * about.min_similarity),
        "settings": list(about.settings.items()),
        "problems": [list(problem) for problem in about.problems],
        "skipped": max(about.skipped, len(about.problems)),
        "version": about.version,
    }


def _reviewed(data: ReportData, review: NDArray[np.int64]) -> str:
    """Return a name for this set of pairs to review, under which the browser keeps their labels."""
    digest = hashlib.sha256()
    for page in np.concatenate((data.pairs["first"][review], data.pairs["second"][review])).tolist():
        digest.update(data.pages["url"][page].encode("utf-8", "backslashreplace") + b"\n")
    return digest.hexdigest()[:16]
