"""Writes the report: a page, its data, its program, and last the texts, piece by piece."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import PAIR_KINDS, VERDICTS

from .embed import STRINGS, column_block, json_block, string_blocks
from .patterns import Pattern, Urls, find_patterns, find_thin
from .review import borderline
from .tables import plain_tables
from .texts import LEAST_PACKED, text_blocks, wanted_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .data import ReportData

SCRIPTS = (
    "dom", "format", "download", "unpack", "clustering", "figures", "diff", "comparison", "chart", "table",
    "overview",
    "clusters", "review", "main",
)  # fmt: skip
#: Similarities are kept in ten-thousandths, in 16 bits.
SCALE = 10_000
NO_SIMILARITY = 65_535
NO_TIME = 2**32 - 1
#: Characters kept of a title.
LONGEST_TITLE = 200
_FOOT = "</body>\n</html>\n"
#: The style of what needs scripts, where these do not run.
_BARE = ".bar nav, #theme, main > section { display: none; }"
#: Bytes of a report that its texts fill at most: it opens at once. Of a million pages the URLs take more.
SIZE = 9_000_000


def write_report(path: str | os.PathLike[str], data: ReportData) -> None:
    """Write the report of *data* to the file *path*; the same bytes for the same data.

    The file appears, or takes the place of another, once it is complete. Raises OSError.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            written = 0
            for piece in _pieces(data):
                written += file.write(piece)
            for piece in _texts(data, max(SIZE - written, LEAST_PACKED)):
                file.write(piece)
            file.write(_FOOT)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _pieces(data: ReportData) -> Iterator[str]:
    urls = Urls.of(data.pages["url"].tolist())
    host_of = [url.host for url in urls.split]
    patterns, thin = _patterns(data, urls), _thin(data, urls)
    del urls
    static = files(__package__).joinpath("static")
    style = static.joinpath("report.css").read_text("utf-8")
    parts = (static.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    program = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    shell = Template(static.joinpath("report.html").read_text("utf-8")).substitute(
        style=style,
        style_hash=_hash(style),
        bare=_BARE,
        bare_hash=_hash(_BARE),
        program_hash=_hash(program),
        without_script=plain_tables(data, host_of, patterns, thin),
    )
    review = borderline(data)
    yield shell
    yield json_block("report", _description(data) | {"reviewed": _reviewed(data, review)})
    hosts, host_names = _numbered(host_of)
    yield json_block("hosts", host_names)
    yield column_block("page-host", hosts, "<u4")
    yield from _page_columns(data.pages)
    yield column_block("canonical", data.clusters["canonical"], "<i4")
    yield from _pair_columns(data.pairs)
    yield column_block("review", review, "<u4")
    yield from _pattern_blocks(patterns)
    yield json_block("thin", [[p.name, p.example[0], p.advice, len(p.pages), p.repeats] for p in thin])
    yield from string_blocks("urls", data.pages["url"].tolist())
    yield from string_blocks("titles", [title[:LONGEST_TITLE] for title in data.pages["title"]])
    yield f"<script>{program}</script>\n"  # runs at once, while the texts, most of the file, are still read


def _texts(data: ReportData, room: int) -> Iterator[str]:
    """Yield the blocks of texts that have *room*, in bytes."""
    yield from text_blocks(wanted_texts(data, borderline(data)), data.text, room)


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
        "seconds": round(about.seconds, 1),
        "version": about.version,
        "finished": about.finished,
    }


def _reviewed(data: ReportData, review: NDArray[np.int64]) -> str:
    """Return a name for this set of pairs to review, under which the browser keeps their labels."""
    digest = hashlib.sha256()
    for page in np.concatenate((data.pairs["first"][review], data.pairs["second"][review])).tolist():
        digest.update(data.pages["url"][page].encode("utf-8", "backslashreplace") + b"\n")
    return digest.hexdigest()[:16]


def _numbered(names: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each of *names*, int64[n], and the names that these numbers are of."""
    numbers: dict[str, int] = {}
    found = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    return found, list(numbers)


def _page_columns(pages: NDArray[Any]) -> Iterator[str]:
    yield column_block("page-verdict", _positions(pages["verdict"], VERDICTS), "u1")
    yield column_block("page-cluster", pages["cluster"], "<i4")
    # Their order is what counts, and small numbers pack better.
    ranks = np.empty(len(pages), np.uint32)
    ranks[np.lexsort((np.arange(len(pages)), pages["rank"]))] = np.arange(len(pages))
    yield column_block("page-rank", ranks, "<u4")
    yield column_block("page-distance", pages["distance"], "u1")
    yield column_block("page-similarity", _scaled(pages["similarity"]), "<u2")
    yield column_block("page-tokens", pages["tokens"], "<u4")
    times = np.nan_to_num(pages["fetched"], nan=NO_TIME, posinf=NO_TIME, neginf=NO_TIME)
    yield column_block("page-time", np.where((times >= 0) & (times < NO_TIME), times, NO_TIME), "<u4")


def _pair_columns(pairs: NDArray[Any]) -> Iterator[str]:
    yield column_block("pair-first", pairs["first"], "<u4")
    yield column_block("pair-second", pairs["second"], "<u4")
    yield column_block("pair-distance", pairs["distance"], "u1")
    yield column_block("pair-similarity", _scaled(pairs["similarity"]), "<u2")
    yield column_block("pair-kind", _positions(pairs["kind"], PAIR_KINDS), "u1")


def _positions(names: NDArray[np.str_], among: Sequence[str]) -> NDArray[np.uint8]:
    """Return the position of each of *names* in *among*; uint8[n]."""
    positions = np.zeros(len(names), np.uint8)
    for position, name in enumerate(among):
        positions[names == name] = position
    return positions


def _scaled(similarities: NDArray[np.floating]) -> NDArray[np.float64]:
    values = np.round(np.clip(similarities.astype(np.float64), 0, 1) * SCALE)
    return np.where(np.isnan(values), NO_SIMILARITY, values)


def _patterns(data: ReportData, urls: Urls) -> list[Pattern]:
    pages = data.pages
    repeats = np.isin(pages["verdict"], ("exact", "near"))
    own = np.arange(len(pages))
    canonical = np.append(data.clusters["canonical"], 0)[pages["cluster"]]
    return find_patterns(urls, repeats, np.where(pages["cluster"] >= 0, canonical, own))


def _pattern_blocks(patterns: list[Pattern]) -> Iterator[str]:
    yield json_block(
        "patterns",
        [[p.kind, p.name, p.example[0], p.example[1], p.advice, len(p.pages)] for p in patterns],
    )
    pages = [p.pages for p in patterns]
    yield column_block("pattern-pages", np.concatenate(pages) if pages else np.zeros(0), "<u4")


def _thin(data: ReportData, urls: Urls) -> list[Pattern]:
    pages = data.pages
    return find_thin(urls, pages["verdict"] == "too_short", pages["tokens"] == 0)
