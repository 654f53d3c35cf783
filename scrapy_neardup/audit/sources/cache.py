"""Scrapy's HTTP cache as `FilesystemCacheStorage` writes it: one directory a response.

What it has pickled is not read.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w3lib.http import headers_raw_to_dict

from .contents import page_of_response
from .fields import clean, seconds
from .records import MAX_HEADERS, MAX_RECORD, BrokenRecord, Origin, Unreadable
from .streams import DAMAGE, open_regular, read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .records import Options, Record

_FINGERPRINT = re.compile(r"[0-9a-f]{16,128}")
#: A dictionary of strings and numbers, without nesting, which could exhaust the stack of Python's parser.
_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_META = re.compile(rf"\{{(?:{_STRING}: (?:{_STRING}|None|-?[0-9][0-9.e+-]{{0,30}})(?:, |(?=\}})))*\}}")
_DEPTH = 6
_PROBES = 50


def is_cache(path: Path, depth: int = 4) -> bool:
    """Tell whether *path* is the cache of a spider or contains one.

    Only some of its directories are looked at.
    """
    for _, directory in zip(range(_PROBES), _directories(path), strict=False):
        if _is_entry(directory) or (depth and is_cache(directory, depth - 1)):
            return True
    return False


def read_cache(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of all spiders whose caches are in *path*."""
    for entry in _entries(path, _DEPTH):
        origin = Origin(label, entry.relative_to(path).as_posix())
        try:
            yield _page(entry, origin)
        except FileNotFoundError as error:
            yield BrokenRecord(origin, f"{Path(error.filename).name} is missing")
        except DAMAGE as error:
            yield BrokenRecord(origin, str(error))


def _entries(path: Path, depth: int) -> Iterator[Path]:
    for directory in sorted(_directories(path)):
        if _is_entry(directory):
            yield directory
        elif depth:
            yield from _entries(directory, depth - 1)


def _directories(path: Path) -> Iterator[Path]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield path / entry.name


def _is_entry(directory: Path) -> bool:
    return directory.name[:2] == directory.parent.name and _FINGERPRINT.fullmatch(directory.name) is not None


def _page(entry: Path, origin: Origin) -> Record:
    # Whether HTTPCACHE_GZIP was on: bodies may be gzip anyway, as received, so the meta data tell.
    with open_regular(entry / "meta") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    meta = parse_meta(_read(entry / "meta", MAX_HEADERS, compressed=compressed))
    url, status = meta.get("response_url") or meta.get("url"), meta.get("status")
    if not isinstance(url, str) or not isinstance(status, int):
        raise Unreadable("meta has no URL or no status")
    raw = headers_raw_to_dict(_read(entry / "response_headers", MAX_HEADERS, compressed=compressed))
    headers = {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1") for name, values in raw.items()
    }
    body = _read(entry / "response_body", MAX_RECORD, compressed=compressed)
    # Scrapy writes this file last.
    if not (entry / "request_body").exists():
        raise Unreadable("the crawl ended while it was written")
    stated = headers.get("content-length", "")
    if stated.isdecimal() and len(body) < int(stated[:18]) and not body.rstrip().endswith(b"</html>"):
        raise Unreadable(f"response_body has {len(body)} of {stated[:18]} bytes")
    return page_of_response(clean(url), status, headers, body, seconds(meta.get("timestamp")), origin)


def parse_meta(content: bytes) -> dict[str, Any]:
    """Parse the repr of a flat dictionary; raises `Unreadable`, or ValueError for what is no UTF-8."""
    source = content.decode()
    if not _META.fullmatch(source):
        raise Unreadable("meta is damaged: it is no dictionary of strings and numbers")
    try:
        meta: dict[str, Any] = ast.literal_eval(source)
    except (SyntaxError, ValueError) as error:
        raise Unreadable("meta is damaged: it cannot be parsed") from error
    return meta


def _read(path: Path, limit: int, *, compressed: bool) -> bytes:
    """Return the content of a file; raises `Unreadable` beyond *limit* bytes."""
    if compressed:
        return read_whole(path, limit)
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise Unreadable(f"{path.name} has more than {limit} bytes")
    return content
