"""Scrapy's HTTP cache as `FilesystemCacheStorage` writes it: one directory a response."""

from __future__ import annotations

import ast
import gzip
import io
import os
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from w3lib.http import headers_raw_to_dict

from .contents import page_of_response
from .fields import clean, seconds
from .limits import MAX_HEADERS, MAX_RECORD, Unreadable
from .records import BrokenRecord, Origin
from .streams import open_regular

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
            yield _page(entry, origin, options)
        except FileNotFoundError as error:
            yield BrokenRecord(origin, f"{Path(error.filename).name} is missing")
        except (OSError, EOFError, ValueError, Unreadable) as error:
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


def _page(entry: Path, origin: Origin, options: Options) -> Record:
    compressed = _is_compressed(entry)
    meta = _meta(entry, options, compressed=compressed)
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


def _is_compressed(entry: Path) -> bool:
    """Whether HTTPCACHE_GZIP was on: bodies may be gzip anyway, as received, so the meta data tells."""
    name = "meta" if (entry / "meta").exists() else "pickled_meta"
    with open_regular(entry / name) as file:
        return file.read(2) == b"\x1f\x8b"


def _meta(entry: Path, options: Options, *, compressed: bool) -> dict[str, Any]:
    """Read the metadata of a response.

    A pickle is read only if the user trusts it, for it can run any code.
    """
    plain, pickled = entry / "meta", entry / "pickled_meta"
    if plain.exists() or not options.trust_pickle:
        if not plain.exists() and pickled.exists():
            raise Unreadable("meta is missing; pickled_meta is read with --trust-pickle only")
        return parse_meta(_read(plain, MAX_HEADERS, compressed=compressed))
    meta = pickle.loads(_read(pickled, MAX_HEADERS, compressed=compressed))  # noqa: S301  # on the user's word
    if not isinstance(meta, dict):
        raise Unreadable("pickled_meta is no dictionary")
    return meta


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


def _read(path: Path, limit: int, *, compressed: bool = False) -> bytes:
    """Return the content of a file; raises `Unreadable` beyond *limit* bytes."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if compressed:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as member:
            content = member.read(limit + 1)
    if len(content) > limit:
        raise Unreadable(f"{path.name} has more than {limit} bytes")
    return content
