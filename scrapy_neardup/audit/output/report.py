"""The report of an audit, and its stories, the clusters in time: HTML files that need no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from scrapy_neardup.audit.arrays import places
from scrapy_neardup.audit.model import Audit, clustered
from scrapy_neardup.audit.options import AuditOptions
from scrapy_neardup.audit.url_rules import LEAST_PRECISION, find_rules
from scrapy_neardup.matching.sites import split_url

from .files import (
    cluster_columns,
    is_url,
    page_columns,
    read_rows,
    replacing,
    rows_of,
    settings_of,
    summarise,
)

SCRIPTS = ("dom", "unpack", "diff", "comparison", "clusters")
#: Characters kept of a title, of a text, and of what stands in a cell.
LONGEST_TITLE, LONGEST_TEXT, LONGEST = 200, 20_000, 300
#: How much a report holds, so that a browser opens it at once: pages of clusters that are listed, and of
#: these those of any one cluster; rows of a table; bytes of the file, and of these those for texts.
PAGES, OF_CLUSTER, ROWS, SIZE, TEXTS = 100_000, 100, 100, 9_000_000, 2_000_000
#: A rule for URLs is shown if two pages speak for it, 2 / (2 + 1.645²); where there are many pages, if 52 do.
LEAST, MANY = 0.4, 50_000
#: The parts of a bar: verdicts, and what they are called.
_PARTS = {
    "unique": "unique", "near": "near copies", "exact": "exact copies", "part": "parts of others",
    "template": "of one template", "wall": "walls", "too_short": "too short", "revisit": "revisits",
}  # fmt: skip


def write_report(path: str | os.PathLike[str], audit: Audit) -> None:
    """Write the report of *audit*; what there is no room for is counted, not listed. Raises OSError."""
    program = f'"use strict";\n(() => {{\n{"".join(_static(f"{name}.js") for name in SCRIPTS)}}})();\n'
    head = partial(page_of, "report.html", program_hash=_hash(program), **_facts(audit))
    # Of the largest clusters first, the canonical page first.
    rows = clustered(audit.pages)
    rows = rows[places(audit.pages["cluster"][rows]) < OF_CLUSTER][:PAGES]
    room = SIZE - TEXTS - len(head(left_out=_left_out(audit, rows[:0]))) - len(program)
    blocks = list(_blocks("pages", _listed(audit, rows), 1000, room))
    rows = rows[: blocks[-1][0] if blocks else 0]
    # The program runs at once, while the texts, most of the file, are still read.
    pieces = [head(left_out=_left_out(audit, rows)), *(piece for _, piece in blocks)]
    pieces += [_block("page-blocks", len(blocks)), f"<script>{program}</script>\n"]
    with replacing(Path(path)) as file:
        written = sum(map(file.write, pieces))
        ends = []
        texts = (text[:LONGEST_TEXT] if text else None for text in map(audit.text, rows.tolist()))
        for end, piece in _blocks("texts", texts, 50, SIZE - written):
            file.write(piece)
            ends.append(end)
        file.write(_block("text-ends", ends) + "</body>\n</html>\n")


def _static(name: str) -> str:
    return files(__package__).joinpath("static", name).read_text("utf-8")


def page_of(name: str, **facts: Any) -> str:
    """Fill in a template. Texts of the crawl are escaped, and what cannot be printed is replaced."""
    environment = Environment(
        loader=PackageLoader(__package__, "static"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_printable,
    )  # fmt: skip
    environment.globals["zip"] = zip
    environment.tests["url"] = lambda text: is_url(text) and len(text) <= LONGEST
    style = _static("report.css")
    fixed = {"style": style, "style_hash": _hash(style), "parts": _PARTS, "most": ROWS}
    return environment.get_template(name).render(fixed, **facts)


def _printable(value: Any) -> Any:
    """Return texts with a mark for each character that is not printed or cannot be encoded, cut."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "".join(c if c.isprintable() else "\ufffd" for c in value[:LONGEST])


def _facts(audit: Audit) -> dict[str, Any]:
    """Return what the template shows: figures, and the rows of tables, which are of all pages."""
    facts, urls = summarise(audit), audit.pages["url"].tolist()
    verdicts, pages = facts["verdicts"], facts["pages"]
    repeats = verdicts["exact"] + verdicts["near"]
    least = LEAST if len(audit.pages) < MANY else LEAST_PRECISION
    rules = [*find_rules(rows_of(page_columns(audit.pages, audit.clusters)), least)]
    rules.sort(key=lambda rule: rule.support - rule.urls)
    usual = settings_of(AuditOptions(seed=0)) | {"seed": None}
    settings = {name: _said(value) for name, value in facts["settings"].items() if value != usual[name]}
    handled = [f"{count:,} {name.replace('_', ' ')}" for name, count in facts["handled"].items() if count]
    settings |= {"all others": "as usual", "repeats": ", ".join(handled), "version": facts["version"]}
    clusters = audit.clusters[["canonical", "size", "near", "exact", "part"]][:ROWS].tolist()
    return {
        "repeats": repeats,
        "share": _share(repeats, pages),
        "verdicts": _counts(verdicts),
        "totals": {
            "pages": pages, **{name: verdicts[key] for key, name in _PARTS.items()},
            "clusters": len(audit.clusters), "repeats to fix": facts["handled"]["to_fix"],
        },
        "hosts": [
            (each["host"] or "(no host)", _counts(each), each["pages"], again, _share(again, each["pages"]))
            for each in facts["hosts"] for again in (each["exact"] + each["near"],)
        ],
        "causes": [
            (rule.what, rule.scope, rule.urls, rule.support, rule.examples[0]) for rule in rules
        ],
        "clusters": [(urls[row], *counts) for row, *counts in clusters],
        "boilerplate": [(*each.values(),) for each in facts["boilerplate"]],
        "settings": [(name.replace("_", " "), each) for name, each in settings.items()],
        "sources": [(*each, count) for each, count in audit.inputs],
        "problems": audit.problems,
    }  # fmt: skip


def _said(value: Any) -> str:
    """Return the value of a setting, parts of it after one another."""
    if isinstance(value, dict):
        value = [f"{name} {each}" for name, each in value.items()]
    return ", ".join(value) if isinstance(value, (list, tuple)) else str(value)


def _counts(verdicts: dict[str, int]) -> dict[str, int]:
    """Return the parts of a bar."""
    return {name: verdicts[name] for name in _PARTS}


def _share(part: int, whole: int) -> str:
    """Return a share in per cent; never 0 % of something, nor 100 % of less than all."""
    return f"{min(max(100 * part / max(whole, 1), 0.1 * bool(part)), 100 if part == whole else 99.9):.3g} %"


def _listed(audit: Audit, rows: NDArray[np.int64]) -> Iterator[list[Any]]:
    """Yield what the report has of each page in *rows*; of a canonical page what its cluster has, too."""
    pages, clusters = audit.pages, audit.clusters
    of_cluster = cluster_columns(pages, clusters)
    led = [*zip(*(of_cluster[name] for name in ("size", "near", "exact", "part", "hosts")), strict=True)]
    columns, leads = page_columns(pages, clusters, rows), (pages["canonical"][rows] == rows).tolist()
    names = ("cluster", "fetched", "url", "title", "verdict", "distance", "similarity", "tokens")
    for lead, row in zip(leads, zip(*(columns[name] for name in names), strict=True), strict=True):
        label, fetched, url, title, *others = row
        time = None if fetched is None else int(fetched)
        yield [url, title[:LONGEST_TITLE], *others, time, *(led[label] if lead else ())]


def _left_out(audit: Audit, rows: NDArray[np.int64]) -> dict[str, int] | None:
    """Return how much is listed of what, if only *rows* are; None if nothing is missing."""
    every = int(audit.clusters["size"].sum())
    if len(rows) == every:
        return None
    clusters = len(np.unique(audit.pages["cluster"][rows]))
    return {"pages": len(rows), "of": every, "clusters": clusters, "of_clusters": len(audit.clusters)}


def _blocks(name: str, values: Iterable[Any], each: int, room: int) -> Iterator[tuple[int, str]]:
    """Yield blocks of *each* of *values*, name-0 and so on, while there is *room*, and how many so far."""
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


Story = dict[str, Any]
#: Columns of ``pages.jsonl`` that a story has of each page, besides the time.
_COLUMNS = ("url", "title", "verdict", "similarity", "tokens", "cluster")
#: Stories that the page shows, and how many sources and pages a picture has.
_STORIES, _SOURCES, _DOTS = 50, 30, 1000


def read_stories(folder: Path, least: int = 2) -> list[Story]:
    """Return the clusters of the audit in *folder* with at least so many sources, those with the most first.

    A story is as docs/audit.md has it in JSON. Raises `ConfigurationError`.
    """
    clusters, parts = defaultdict[int, list["Story"]](list), defaultdict[str, set[str]](set)
    pages: dict[str, Story] = {}
    for pair in read_rows(folder, "pairs", "kind", "url1", "url2"):
        if pair["kind"] == "part":
            parts[pair["url1"]].add(pair["url2"])
            parts[pair["url2"]].add(pair["url1"])
    for page in read_rows(folder, "pages", *_COLUMNS, "fetched"):
        if page["cluster"] is not None:
            clusters[page["cluster"]].append(_seen(page))
        if page["url"] in parts:
            pages.setdefault(page["url"], _seen(page))
    found = [_story(each, parts, pages) for each in clusters.values()]
    found = [story for story in found if len(story["sources"]) >= least]
    return sorted(found, key=lambda story: (-len(story["sources"]), -len(story["copies"]), story["cluster"]))


def _seen(row: Story) -> Story:
    page = {name: row[name] for name in _COLUMNS}
    if (time := row["fetched"]) is not None:
        time = datetime.fromtimestamp(time, timezone.utc).isoformat(timespec="seconds")
    return page | {"source": split_url(row["url"]).netloc, "time": time}


def _when(page: Story) -> tuple[object, ...]:
    return page["time"] is None, page["time"], page["url"]


def _story(pages: list[Story], parts: Mapping[str, set[str]], known: Mapping[str, Story]) -> Story:
    pages.sort(key=_when)
    for page in pages:
        page["first"] = page is pages[0]
    times = [page["time"] for page in pages if page["time"]] or [None]
    number, least = pages[0]["cluster"], min(page["tokens"] for page in pages)
    beside = [known[url] for page in pages for url in parts[page["url"]]]
    fuller = {page["url"]: page for page in beside if page["cluster"] != number and page["tokens"] > least}
    return {
        "cluster": number, "title": pages[0]["title"], "first_seen": times[0], "last_seen": times[-1],
        "sources": list(dict.fromkeys(page["source"] for page in pages)), "copies": pages,
        "fuller": sorted(fuller.values(), key=_when),
    }  # fmt: skip


def picture(pages: Sequence[Story], hosts: Sequence[str]) -> dict[str, Any]:
    """Return the dots of *pages*: how far across (time, if any is known; 0 to 1), in which row, the page."""
    rows, timed = {host: row for row, host in enumerate(hosts[:_SOURCES])}, pages[0]["time"] is not None
    shown = [page for page in pages if page["source"] in rows and (page["time"] or not timed)][:_DOTS]
    at = [datetime.fromisoformat(page["time"]).timestamp() if timed else 0.0 for page in shown]
    dots = [
        ((x - at[0]) / (at[-1] - at[0] or 1), rows[page["source"]], page)
        for x, page in zip(at, shown, strict=True)
    ]
    ends = [page["time"] or "unknown" for page in (shown[0], shown[-1])]
    return {"hosts": [*rows], "more": len(hosts) - len(rows), "dots": dots[::-1], "ends": ends}


def write_stories(path: Path, stories: list[Story]) -> None:
    """Write the page with the pictures of *stories*: of all of them, and of each. Raises OSError."""
    firsts = [story["copies"][0]["source"] for story in stories]
    hosts = sorted(
        {host for each in stories for host in each["sources"]}, key=lambda host: (-firsts.count(host), host)
    )
    every = sorted((page for story in stories for page in story["copies"]), key=_when)
    shown = [(story, picture(story["copies"], story["sources"])) for story in stories[:_STORIES]]
    with replacing(path) as file:
        file.write(
            page_of("stories.html", count=len(stories), shown=shown, every=every and picture(every, hosts))
        )
