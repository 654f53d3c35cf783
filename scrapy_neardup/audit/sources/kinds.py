"""Of what kind a file or a directory is, by its content first and its name second."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from .arc import read_arc
from .contents import looks_like_html
from .dbm_cache import is_dbm, is_dbm_folder, read_dbm
from .earlier import AUDIT, read_audit
from .feeds import read_csv, read_json, read_json_lines
from .filesystem_cache import is_cache, read_cache
from .html import read_html
from .parquet import read_parquet
from .streams import head
from .warc import read_wacz, read_warc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .records import Options, Record

Kind: TypeAlias = Literal[
    "json lines", "json", "csv", "parquet", "warc", "wacz", "arc", "html", "cache", "dbm", "audit", "folder"
]

#: Readers take the path, its name in messages, and the options. A folder is read by those of its files.
READERS: dict[Kind, Callable[[Path, str, Options], Iterator[Record]]] = {
    "json lines": read_json_lines,
    "json": read_json,
    "csv": read_csv,
    "parquet": read_parquet,
    "warc": read_warc,
    "wacz": read_wacz,
    "arc": read_arc,
    "html": read_html,
    "cache": read_cache,
    "dbm": read_dbm,
    "audit": read_audit,
}
#: For kinds that need one: the module, and the extra that brings it.
EXTRAS: dict[Kind, tuple[str, str]] = {
    "parquet": ("pyarrow", "parquet"),
    "warc": ("fastwarc", "warc"),
    "wacz": ("fastwarc", "warc"),
    "arc": ("fastwarc", "warc"),
}
KNOWN = (
    "feeds (.jl .jsonl .json .csv, also .gz .bz2 .xz), .parquet, .warc, .warc.gz, .wacz, .arc, .html, "
    "Scrapy's HTTP cache, the folder of an audit and folders of such files"
)
_SUFFIXES: dict[str, Kind] = {
    ".jl": "json lines", ".jsonl": "json lines", ".jsonlines": "json lines", ".ndjson": "json lines",
    ".json": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".warc": "warc", ".wacz": "wacz",
    ".wet": "warc", ".arc": "arc", ".html": "html", ".htm": "html", ".xhtml": "html",
}  # fmt: skip
#: What pages are made of besides HTML: some begin as JSON does.
_ASSETS = frozenset({
    ".css", ".js", ".mjs", ".map", ".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".woff",
    ".woff2",
})  # fmt: skip
_PACKED = (".gz", ".xz", ".bz2")
#: What else files are packed with.
_TO_UNPACK = (".zst", ".zip", ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".lz4", ".br")
#: How arrays of objects begin, and objects. Style sheets, templates and texts begin otherwise.
_OBJECTS = re.compile(rb"\s*(?:\[\s*)*(?:\{\s*[\"}]|\[\s*\])")


def kind_of_directory(path: Path) -> Kind:
    """Tell caches and the results of an audit from a folder."""
    if (path / AUDIT).is_file():
        return "audit"
    if is_dbm_folder(path):
        return "dbm"
    return "cache" if is_cache(path) else "folder"


def kind_of_file(path: Path) -> Kind | None:
    """Tell the kind of a file; None if the kind is not known."""
    named = _kind_by_name(path.name)
    if named is None and path.suffix.lower() in _ASSETS:
        return None
    start = head(path).removeprefix(b"\xef\xbb\xbf")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"filedesc://"):
        return "arc"
    if start.startswith(b"WARC/"):
        return "warc"
    if start.startswith(b"PK\x03\x04") and named == "wacz":
        return "wacz"
    if named in ("json lines", "json"):
        return "json" if start.lstrip()[:1] == b"[" else named
    if named is not None:
        return named
    if is_dbm(path):
        return "dbm"
    if _OBJECTS.match(start):
        return "json"
    return "html" if looks_like_html(start) else None


def is_in_folder(path: Path, kind: Kind | None, *, of_site: bool) -> bool:
    """Tell whether a file of a folder is to be read.

    *of_site* says that pages are beside or above it. Then JSON and CSV files are data of the site, such as
    the search index that repeats all its pages, and no feeds.
    """
    if kind in ("json", "csv"):
        return not of_site and (kind == "csv" or head(path).lstrip()[:1] == b"[")
    return kind is not None


def remedy(path: Path) -> str:
    """Return what to do with a file of no known kind."""
    return "unpack it" if path.name.lower().endswith(_TO_UNPACK) else f"name {KNOWN}"


def is_named_html(name: str) -> bool:
    """Tell whether a file is a page by its name."""
    return _kind_by_name(name) == "html"


def _kind_by_name(name: str) -> Kind | None:
    name = name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)
