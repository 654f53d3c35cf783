"""Writes the report: a page, its data, its program, and last the texts, piece by piece.

Data are blocks of JSON, as gzip in base64, which cannot close a tag and are unpacked on demand.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import zlib
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.arrays import places
from scrapy_neardup.audit.model import NO_DISTANCE
from scrapy_neardup.audit.urls import split_url

from .data import Limits
from .figures import LAST_SECOND, count_figures

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .data import ReportData

SCRIPTS = (
    "dom", "format", "download", "unpack", "diff", "comparison", "chart", "table", "overview", "clusters",
    "main",
)  # fmt: skip
#: Characters kept of a title and of a text.
LONGEST_TITLE, LONGEST_TEXT = 200, 20_000
#: Characters in a block before it is packed. Similar texts side by side shrink to little.
BLOCK = 256_000
#: Rows of a table where scripts do not run, and characters of a cell.
ROWS, LONGEST = 50, 300
#: How thoroughly blocks are packed: level 6 takes more than twice the time, for 4 % fewer bytes.
_LEVEL = 4
_LIMITS = Limits()
_SURROGATE = re.compile("[\ud800-\udfff]")
#: The style of what needs scripts, where these do not run.
_BARE = ".bar nav, #theme, main > section { display: none; }"


def write_report(path: str | os.PathLike[str], data: ReportData, limits: Limits = _LIMITS) -> None:
    """Write the report of *data* to the file *path*; the same bytes for the same data.

    What is beyond the *limits* is counted, not listed, and the report says so. The file appears, or takes the
    place of another, once it is complete. Raises OSError.
    """
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            rows, pieces = _without_texts(data, limits)
            written = sum(map(file.write, pieces))
            texts = (_cut(data.text(row)) for row in rows)
            ends = []
            for end, piece in _blocks("texts", texts, limits.size - written):
                file.write(piece)
                ends.append(end)
            file.write(_block("text-ends", ends) + "</body>\n</html>\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _without_texts(data: ReportData, limits: Limits) -> tuple[list[int], list[str]]:
    """Return the rows of the pages that are listed, in their order, and the file up to its texts."""
    figures = count_figures(data, limits.hosts)
    about = _block("report", _description(data) | figures)
    static = files(__package__).joinpath("static")
    style = static.joinpath("report.css").read_text("utf-8")
    parts = (static.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    program = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    rows = _members(data, limits)
    room = limits.size - limits.texts - len(about) - len(style) - len(program)
    blocks = list(_blocks("pages", _listed(data, rows), room))
    rows = rows[: blocks[-1][0] if blocks else 0]
    sentence = _left_out(data, rows)
    head = Template(static.joinpath("report.html").read_text("utf-8")).substitute(
        style=style,
        style_hash=_hash(style),
        bare=_BARE,
        bare_hash=_hash(_BARE),
        program_hash=_hash(program),
        left_out=f'<p id="left-out" class="note">{sentence}</p>' if sentence else "",
        without_script=_plain_tables(data, figures),
    )
    pieces = [about, *(piece for _, piece in blocks), _block("page-blocks", len(blocks))]
    # The program runs at once, while the texts, most of the file, are still read.
    return rows.tolist(), [head, *pieces, f"<script>{program}</script>\n"]


def _members(data: ReportData, limits: Limits) -> NDArray[np.int64]:
    """Return the rows of the pages to list: of the largest clusters first, the canonical page first."""
    pages = data.pages
    members = np.flatnonzero(pages["cluster"] >= 0)
    labels = pages["cluster"][members]
    leads = data.clusters["canonical"][labels] == members
    order = np.lexsort((members, pages["rank"][members], ~leads, labels, -data.sizes()[labels]))
    found: NDArray[np.int64] = members[order][places(labels[order]) < limits.of_cluster][: limits.pages]
    return found


def _listed(data: ReportData, rows: NDArray[np.int64]) -> Iterator[list[Any]]:
    """Yield what the report has of each page in *rows*; of a canonical page what its cluster has, too."""
    pages, canonical = data.pages, data.clusters["canonical"]
    facts = _facts(data)
    for row in rows.tolist():
        page = pages[row]
        fetched, similarity = float(page["fetched"]), float(page["similarity"])
        listed = [
            page["url"],
            page["title"][:LONGEST_TITLE],
            str(page["verdict"]),
            None if page["distance"] == NO_DISTANCE else int(page["distance"]),
            None if math.isnan(similarity) else round(similarity, 4),
            int(page["tokens"]),
            int(fetched) if 0 <= fetched < LAST_SECOND else None,
        ]
        yield [*listed, *facts[page["cluster"]]] if canonical[page["cluster"]] == row else listed


def _facts(data: ReportData) -> list[list[Any]]:
    """Return for each cluster: how many pages, hosts, near and exact copies; the least similarity."""
    pages, count = data.pages, len(data.clusters)
    members = np.flatnonzero(pages["cluster"] >= 0)
    labels = pages["cluster"][members]
    copies = members[data.clusters["canonical"][labels] != members]
    least = np.full(count, np.inf)
    np.fmin.at(least, pages["cluster"][copies], pages["similarity"][copies])
    hosts: list[set[str]] = [set() for _ in range(count)]
    for label, url in zip(labels.tolist(), pages["url"][members].tolist(), strict=True):
        hosts[label].add(split_url(url).host)
    of_verdict = (
        np.bincount(pages["cluster"][copies[pages["verdict"][copies] == name]], minlength=count).tolist()
        for name in ("near", "exact")
    )
    alike = [round(value, 4) if math.isfinite(value) else None for value in least.tolist()]
    rows = zip(data.sizes().tolist(), map(len, hosts), *of_verdict, alike, strict=True)
    return [list(row) for row in rows]


def _left_out(data: ReportData, rows: NDArray[np.int64]) -> str:
    """Say what is not listed if only *rows* are, and where it is; "" if nothing is missing."""
    pages, every = len(rows), int((data.pages["cluster"] >= 0).sum())
    if pages == every:
        return ""
    clusters = len(np.unique(data.pages["cluster"][rows]))
    return (
        f"So that a browser can open it, this report lists {pages:,} of {every:,} pages of clusters, in "
        f"{clusters:,} of {len(data.clusters):,} clusters, the largest first. All are in clusters.jsonl. "
        "Figures, charts, hosts and causes are of all pages."
    )


def _description(data: ReportData) -> dict[str, Any]:
    about = data.particulars
    return {
        "sources": [[name, kind, pages] for (name, kind), pages in about.inputs],
        "maxDistance": about.max_distance,
        "minSimilarity": round(100 * about.min_similarity),
        "settings": list(about.settings.items()),
        "problems": [list(problem) for problem in about.problems],
        "skipped": max(about.skipped, len(about.problems)),
        "version": about.version,
    }


def _cut(text: str | None) -> str | None:
    return text[:LONGEST_TEXT] if text else None


def _blocks(name: str, values: Iterable[Any], room: int) -> Iterator[tuple[int, str]]:
    """Yield blocks of *values*, called name-0, name-1 and so on, as long as there is *room* for them.

    Each comes with how many of *values* are in it and in those before.
    """
    number = done = 0
    for content in _portions(values):
        piece = _block(f"{name}-{number}", content)
        room -= len(piece)
        if room < 0:
            return
        number, done = number + 1, done + len(content)
        yield done, piece


def _portions(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield *values* in lists of some `BLOCK` characters."""
    portion, length = list[Any](), 0
    for value in values:
        portion.append(value)
        length += len(str(value))
        if length >= BLOCK:
            yield portion
            portion, length = [], 0
    if portion:
        yield portion


def _block(name: str, content: Any) -> str:
    """Return the element with *content*; halves of surrogate pairs, which UTF-8 cannot hold, are replaced."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
    packed = packer.compress(_SURROGATE.sub("\ufffd", text).encode()) + packer.flush()
    encoded = base64.b64encode(packed).decode("ascii")
    return f'<script type="application/octet-stream" id="data-{name}">{encoded}</script>\n'


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")


def _plain_tables(data: ReportData, figures: dict[str, Any]) -> str:
    """Return the HTML of what is shown without scripts: the figures, and the first rows of tables."""
    found = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in figures["verdicts"].items())
    said = f"{figures['pageCount']:,} pages in {figures['clusterCount']:,} clusters: {found}."
    hosts = [
        (row["host"], sum(row[name] for name in figures["verdicts"]), row["exact"] + row["near"])
        for row in figures["hosts"]
    ]
    causes = [
        (each["name"], each["kind"], each["pages"], each["repeats"], each["said"])
        for each in figures["causes"]
    ]
    columns = data.clusters[["canonical", "size", "near", "exact"]][:ROWS].tolist()
    clusters = [(data.pages["url"][canonical], *counts) for canonical, *counts in columns]
    tables = (
        _table("Hosts", ("Host", "Pages", "Repeats"), hosts),
        _table("What leads to repeated pages", ("Cause", "Kind", "Pages", "Repeats", "Measured"), causes),
        _table("Clusters", ("Canonical page", "Pages", "Near", "Exact"), clusters, len(data.clusters)),
    )
    return "\n".join([f"<p>{html.escape(said)}</p>", *(line for table in tables for line in table)])


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
        named = (
            f'<td data-column="{html.escape(head)}"><bdi>{html.escape(_visible(cell))}</bdi></td>'
            for head, cell in zip(heads, cells, strict=True)
        )
        yield f"<tr>{''.join(named)}</tr>"
    yield "</tbody></table></div>"


def _visible(text: str) -> str:
    """Return *text* with a mark for each character that is not printed or cannot be encoded."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
