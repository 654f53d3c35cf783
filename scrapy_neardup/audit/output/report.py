"""One HTML file that shows what a crawl repeats. It opens from disk and needs no network.

Figures and tables stand in the page. Clusters are data for its program: blocks of JSON, as gzip in base64,
which cannot close a tag; last come the texts, as many as there is room for.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import math
import re
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.arrays import places
from scrapy_neardup.audit.model import NO_DISTANCE, clustered
from scrapy_neardup.audit.urls import split_url

from .causes import find_causes
from .files import is_url, replacing, summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.audit.model import Audit

SCRIPTS = ("dom", "unpack", "diff", "comparison", "clusters")
#: Characters kept of a title, of a text, and of what stands in a cell.
LONGEST_TITLE, LONGEST_TEXT, LONGEST = 200, 20_000, 300
#: How much a report holds, so that a browser opens it at once: pages of clusters that are listed, and of
#: these those of any one cluster; rows of a table; bytes of the file, and of these those for texts.
PAGES, OF_CLUSTER, ROWS, SIZE, TEXTS = 100_000, 100, 100, 9_000_000, 2_000_000
#: Times are known up to here, in seconds since 1970.
LAST_SECOND = 2**32
#: The parts of a bar: verdicts, and what they are called.
_PARTS = {
    "unique": "unique", "near": "near copies", "exact": "exact copies", "part": "parts of others",
    "template": "of one template", "wall": "walls", "too_short": "too short", "revisit": "revisits",
}  # fmt: skip


def write_report(path: str | os.PathLike[str], audit: Audit) -> None:
    """Write the report of *audit* to the file *path*; the same bytes for the same results.

    What there is no room for is counted, not listed, and the report says so. Raises OSError.
    """
    static = files(__package__).joinpath("static")
    style = static.joinpath("report.css").read_text("utf-8")
    program = "\n".join(static.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    program = f'"use strict";\n(() => {{\n{program}}})();\n'
    parts = _parts(audit)
    rows = _members(audit)
    room = SIZE - TEXTS - len(style) - len(program) - sum(map(len, parts.values()))
    blocks = list(_blocks("pages", _listed(audit, rows), 1000, room))
    rows = rows[: blocks[-1][0] if blocks else 0]
    head = Template(static.joinpath("report.html").read_text("utf-8")).substitute(
        parts, style=style, style_hash=_hash(style), program_hash=_hash(program), notes=_left_out(audit, rows)
    )
    # The program runs at once, while the texts, most of the file, are still read.
    pieces = [head, *(piece for _, piece in blocks), _block("page-blocks", len(blocks))]
    pieces.append(f"<script>{program}</script>\n")
    with replacing(Path(path)) as file:
        written = sum(map(file.write, pieces))
        ends = []
        texts = (text[:LONGEST_TEXT] if text else None for text in map(audit.text, rows.tolist()))
        for end, piece in _blocks("texts", texts, 50, SIZE - written):
            file.write(piece)
            ends.append(end)
        file.write(_block("text-ends", ends) + "</body>\n</html>\n")


def _parts(audit: Audit) -> dict[str, str]:
    """Return the HTML of figures and tables, which are of all pages."""
    facts, pages = summarise(audit), audit.pages
    verdicts = facts["verdicts"]
    repeats, count = verdicts["exact"] + verdicts["near"], len(pages)
    says = (
        f"{_share(repeats, count)} of this crawl repeats itself: {repeats:,} of {count:,} pages."
        if repeats
        else f"No page of {count:,} repeats another."
    )
    totals = {"pages": count, **{name: verdicts[key] for key, name in _PARTS.items()}}
    totals |= {"clusters": len(audit.clusters), "repeats to fix": facts["handled"]["to_fix"]}
    urls = pages["url"].tolist()
    causes = find_causes(
        [split_url(url) for url in urls], np.isin(pages["verdict"], ("exact", "near")), pages["canonical"]
    )
    settings = {name: value for name, value in facts["settings"].items() if value not in (None, [])}
    settings |= {"repeats": facts["handled"], "version": facts["version"]}
    clusters = audit.clusters[["canonical", "size", "near", "exact"]][:ROWS].tolist()
    rows: dict[str, tuple[str, list[tuple[object, ...]]]] = {
        "hosts": ("Host, ,Pages,Repeats,Share", [
            (each["host"] or "(no host)", _bar(each), each["pages"], again, _share(again, each["pages"]))
            for each in facts["hosts"] for again in (each["exact"] + each["near"],)
        ]),
        "causes": ("Cause,Kind,Pages,Repeats,Share,Measured", [
            (each.name, each.kind, each.pages, each.repeats, _share(each.repeats, each.pages),
             _Html(_escaped(each.said) + "".join(_link(urls[row]) for row in each.example)))
            for each in causes
        ]),
        "plain_clusters": (
            "Canonical page,Pages,Near,Exact", [(_link(urls[row]), *counts) for row, *counts in clusters]
        ),
        "boilerplate": (
            "Host,Paragraphs,Pages,Such as", [tuple(each.values()) for each in facts["boilerplate"]]
        ),
        "settings": ("Setting,Value", [(key.replace("_", " "), _said(settings[key])) for key in settings]),
        "sources": ("Source,Kind,Pages", [(*each, pages) for each, pages in audit.inputs]),
        "problems": ("Source,Place,Problem", [*audit.problems]),
    }  # fmt: skip
    figures = (
        f'<div><dt>{name}</dt><dd data-figure="{name}">{number:,}</dd></div>'
        for name, number in totals.items()
    )
    tables = {name: _table(heads.split(","), table) for name, (heads, table) in rows.items()}
    return {"headline": says, "bar": _bar(verdicts), "totals": "".join(figures), **tables}


class _Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def _escaped(text: object) -> str:
    """Return *text* as HTML, with a mark for each character that is not printed or cannot be encoded."""
    return html.escape("".join(c if c.isprintable() else "\ufffd" for c in str(text)[:LONGEST]))


def _link(url: str) -> _Html:
    shown = f'<bdi dir="ltr">{_escaped(url) or "(no URL)"}</bdi>'
    if not is_url(url) or len(url) > LONGEST:
        return _Html(f'<span class="url">{shown}</span>')
    aside = 'rel="noopener noreferrer nofollow" target="_blank"'
    return _Html(f'<a class="url" href="{_escaped(url)}" {aside}>{shown}</a>')


def _said(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in value.items() if count)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _share(part: int, whole: int) -> str:
    """Return a share in per cent; never 0 % of something, nor 100 % of less than all."""
    return f"{min(max(100 * part / max(whole, 1), 0.1 * bool(part)), 100 if part == whole else 99.9):.3g} %"


def _bar(counts: dict[str, int]) -> _Html:
    """Return a line of stacked parts."""
    numbers = [counts[name] for name in _PARTS]
    ends = [0.0, *(np.cumsum(numbers) * 100 / max(sum(numbers), 1)).tolist()]
    parts, said = "", []
    for name, number, (start, end) in zip(_PARTS, numbers, pairwise(ends), strict=True):
        if number:
            said.append(f"{number:,} {_PARTS[name]}")
            place = f'x="{start:.3f}%" width="{end - start:.3f}%" height="100%"'
            parts += f'<rect class="{name}" {place}><title>{said[-1]}</title></rect>'
    return _Html(f'<svg class="line" role="img" aria-label="{", ".join(said)}">{parts}</svg>')


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return '<p class="muted">None.</p>'
    more = f'<p class="muted">The first {ROWS:,} of {len(rows):,}.</p>' if len(rows) > ROWS else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(map(_cell, heads, row))}</tr>" for row in rows[:ROWS])
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{heads[0]}">{table}</div>{more}'


def _cell(head: str, value: object) -> str:
    if isinstance(value, int):
        return f'<td class="number" data-column="{head}">{value:,}</td>'
    shown = value if isinstance(value, _Html) else f"<bdi>{_escaped(value)}</bdi>"
    return f'<td data-column="{head}">{shown}</td>'


def _members(audit: Audit) -> NDArray[np.int64]:
    """Return the rows of the pages to list: of the largest clusters first, the canonical page first."""
    rows = clustered(audit.pages)
    labels = audit.pages["cluster"][rows]
    found: NDArray[np.int64] = rows[places(labels) < OF_CLUSTER][:PAGES]
    return found


def _listed(audit: Audit, rows: NDArray[np.int64]) -> Iterator[list[Any]]:
    """Yield what the report has of each page in *rows*; of a canonical page what its cluster has, too."""
    pages, clusters = audit.pages, audit.clusters
    hosts: list[set[str]] = [set() for _ in range(len(clusters))]
    for label, url in zip(pages["cluster"].tolist(), pages["url"].tolist(), strict=True):
        if label >= 0:
            hosts[label].add(split_url(url).host)
    for row in rows.tolist():
        page = pages[row]
        fetched, similarity, label = float(page["fetched"]), float(page["similarity"]), int(page["cluster"])
        listed = [
            page["url"],
            page["title"][:LONGEST_TITLE],
            str(page["verdict"]),
            None if page["distance"] == NO_DISTANCE else int(page["distance"]),
            None if math.isnan(similarity) else round(similarity, 4),
            int(page["tokens"]),
            int(fetched) if 0 <= fetched < LAST_SECOND else None,
        ]
        if page["canonical"] == row:
            listed += [*clusters[label][["size", "near", "exact"]].tolist(), len(hosts[label])]
        yield listed


def _left_out(audit: Audit, rows: NDArray[np.int64]) -> str:
    """Say what is not listed if only *rows* are, and where it is; "" if nothing is missing."""
    every = int(audit.clusters["size"].sum())
    if len(rows) == every:
        return ""
    clusters = len(np.unique(audit.pages["cluster"][rows]))
    return (
        f'<p class="note">So that a browser can open it, this report lists {len(rows):,} of {every:,} pages '
        f"of clusters, in {clusters:,} of {len(audit.clusters):,} clusters, the largest first. All are in "
        "clusters.jsonl. Figures, hosts and causes are of all pages.</p>"
    )


def _blocks(name: str, values: Iterable[Any], each: int, room: int) -> Iterator[tuple[int, str]]:
    """Yield blocks of *each* of *values*, called name-0, name-1 and so on, as long as there is *room*.

    Each comes with how many of *values* are in it and in those before. Similar texts in one shrink to little.
    """
    rest, done, number = iter(values), 0, 0
    while content := [*islice(rest, each)]:
        piece = _block(f"{name}-{number}", content)
        room -= len(piece)
        if room < 0:
            return
        number, done = number + 1, done + len(content)
        yield done, piece


def _block(name: str, content: Any) -> str:
    """Return the element with *content*; halves of surrogate pairs, which UTF-8 cannot hold, are replaced."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Level 6 takes more than twice the time, for 4 % fewer bytes.
    packed = gzip.compress(re.sub("[\ud800-\udfff]", "\ufffd", text).encode(), 4, mtime=0)
    encoded = base64.b64encode(packed).decode("ascii")
    return f'<script type="application/octet-stream" id="data-{name}">{encoded}</script>\n'


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")
