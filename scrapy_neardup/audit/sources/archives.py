"""What crawlers keep of responses: WARC files, the WACZ files that pack them, and Scrapy's HTTP cache.

Responses are pages, and so are resources; revisits refer to pages; the conversions of WET files are texts.
The cache is read as `FilesystemCacheStorage` writes it, one directory a response; what it has pickled is not.
"""

from __future__ import annotations

import ast
import io
import os
import re
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from w3lib.http import headers_raw_to_dict

from .contents import is_robots, omission, page_of_response
from .fields import clean, seconds
from .records import (
    MAX_HEADERS,
    MAX_RECORD,
    MAX_URL,
    BrokenRecord,
    CrawledPage,
    Origin,
    Revisit,
    Skipped,
    Unreadable,
    megabytes,
)  # fmt: skip
from .streams import DAMAGE, open_regular, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from fastwarc import WarcRecord

    from .records import Options, Record

_CHUNK = 1 << 20  # bytes
_PIECE = 1 << 14
#: Places behind a broken record that are tried in turn, until one is a sound record.
_TRIES = 1000
_CHUNK_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}[ \t]*(?:;[^\n]*)?\r\n")
_FINGERPRINT = re.compile(r"[0-9a-f]{16,128}")
#: A dictionary of strings and numbers, without nesting, which could exhaust the stack of Python's parser.
_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_META = re.compile(rf"\{{(?:{_STRING}: (?:{_STRING}|None|-?[0-9][0-9.e+-]{{0,30}})(?:, |(?=\}})))*\}}")
_DEPTH = 6
_PROBES = 50


def read_warc(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of a WARC file, see `page_of_record`."""
    with path.open("rb") as file:
        yield from _pages(file, label)


def read_wacz(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of the WARC files in a WACZ file, in the order of their names."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith((".warc", ".warc.gz"))]
        for name in sorted(set(names)):
            yield from _member(archive, name, label)
        if not names:
            yield BrokenRecord(Origin(label), "no WARC file is in it")


def _member(archive: zipfile.ZipFile, name: str, label: str) -> Iterator[Record]:
    try:
        with archive.open(name) as file:
            yield from _pages(file, label, f"{name}, ")
    except (zipfile.BadZipFile, RuntimeError, *DAMAGE) as error:
        yield BrokenRecord(Origin(label, name), str(error))


def _pages(file: IO[bytes], label: str, where: str = "") -> Iterator[Record]:
    """Yield the pages of an open WARC file. *where* precedes the positions of records in messages.

    Behind a broken record, reading goes on where the next one seems to begin. If what begins there is no
    record, the place after it is tried. After `_TRIES` places in vain the rest of the file is left out.
    """

    def origin(position: int) -> Origin:
        return Origin(label, f"{where}byte {position}")

    compressed = file.read(2) == b"\x1f\x8b"
    start: int | None = 0
    tries = 0  # since the last sound record
    while start is not None and tries < _TRIES:
        stretch = yield from _stretch(file, start, origin)
        tries = 0 if stretch.sound else tries + 1
        problem = stretch.problem
        if problem is None and compressed and tries <= 1 and _is_cut(file, stretch.last):
            problem = "the file ends in the middle of it"
        if problem is not None and tries <= 1:  # one message for a damaged part of the file is enough
            yield BrokenRecord(origin(stretch.last), problem)
        if stretch.problem is None:
            return
        start = _next_record(file, stretch.last + 1, compressed=compressed)


class _Stretch(NamedTuple):
    """Records that were read one after another."""

    #: Where the last one begins, which is the broken one if there is one.
    last: int
    #: Whether there was a sound one.
    sound: bool
    #: Why the last one is broken; None at the end of the file.
    problem: str | None


def _stretch(
    file: IO[bytes], start: int, origin: Callable[[int], Origin]
) -> Generator[Record, None, _Stretch]:
    """Yield the pages from byte *start* on, up to a broken record or the end of the file."""
    from fastwarc import ArchiveIterator

    last, sound = start, False
    file.seek(start)
    try:
        for record in ArchiveIterator(file, parse_http=False):
            last = record.stream_pos
            page = page_of_record(record, origin(last))
            sound = True
            if page is not None:
                yield page
    except (OSError, ValueError, Unreadable) as error:
        return _Stretch(last, sound, f"broken: {error}")
    return _Stretch(last, sound, None)


def _is_cut(file: IO[bytes], start: int) -> bool:
    """Whether the gzip members from *start* on are not whole, which the iterator does not tell."""
    file.seek(start)
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    size = 0
    while waiting := file.read(_PIECE):
        size += len(waiting)
        if size > MAX_RECORD:  # a file that is one member: too much to read twice
            return False
        while waiting:
            if decoder.eof:
                decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
            try:
                decoder.decompress(waiting, _CHUNK)
            except zlib.error:
                return True
            waiting = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    return not decoder.eof


def _next_record(file: IO[bytes], start: int, *, compressed: bool) -> int | None:
    """Return where a record, or the gzip member of one, seems to begin at *start* or later."""
    mark = b"\x1f\x8b\x08" if compressed else b"\nWARC/"
    at = max(start - 1, 0)
    file.seek(at)
    tail = b""
    while chunk := file.read(_CHUNK):
        window = tail + chunk
        found = window.find(mark)
        while found >= 0:
            position = at - len(tail) + found + (not compressed)
            if position >= start:
                return position
            found = window.find(mark, found + 1)
        at += len(chunk)
        tail = window[1 - len(mark) :]
    return None


def page_of_record(record: WarcRecord, origin: Origin) -> Record | None:
    """Make a page of a record; None for one of another type. Raises `Unreadable` if its end is not there."""
    from fastwarc import WarcRecordType

    if "Content-Length" not in record.headers:
        raise Unreadable("the file ends in its headers")
    length = record.content_length
    kind = record.record_type
    wanted = kind in (WarcRecordType.resource, WarcRecordType.conversion) or (
        kind in (WarcRecordType.response, WarcRecordType.revisit) and record.is_http
    )
    if not wanted or length > MAX_RECORD:
        if record.consume() < length:
            raise Unreadable("the file ends in the middle of it")
        return BrokenRecord(origin, f"more than {megabytes(MAX_RECORD)}") if wanted else None
    block = record.reader.read(length)
    if len(block) < length:
        raise Unreadable("the file ends in the middle of it")
    url = clean(record.headers.get("WARC-Target-URI") or "").strip("<>")
    if not url or len(url) > MAX_URL:
        return BrokenRecord(origin, f"its URL has {len(url)} characters")
    fetched = seconds(record.headers.get("WARC-Date"))
    digest = record.headers.get("WARC-Payload-Digest")
    if kind == WarcRecordType.conversion:
        return CrawledPage(url, block.decode("utf-8", "replace"), None, None, fetched, origin)
    if kind == WarcRecordType.resource:
        headers = {"content-type": record.headers.get("Content-Type") or ""}
        return page_of_response(url, 200, headers, block, fetched, origin, digest)
    if kind == WarcRecordType.revisit:
        return _revisit(record, block, CrawledPage(url, None, None, None, fetched, origin, digest))
    parsed = parse_response(block)
    if parsed is None:
        return BrokenRecord(origin, "its HTTP headers cannot be parsed")
    status, headers, body = parsed
    if not omission(url, status, headers.get("content-type")):
        body = dechunked(headers, body)
    return page_of_response(url, status, headers, body, fetched, origin, digest)


def _revisit(record: WarcRecord, block: bytes, page: CrawledPage) -> Record:
    """Make a page of a revisit, whose headers need not be there, and whose status may be 304."""
    refers_to = record.headers.get("WARC-Refers-To-Target-URI")
    if refers_to is None and "not-modified" in (record.headers.get("WARC-Profile") or ""):
        refers_to = page.url
    url = None if refers_to is None else clean(refers_to).strip("<>")
    if url is None and page.digest is None:
        return BrokenRecord(page.origin, "it does not say what it is a revisit of")
    parsed = parse_response(block)
    status, headers, _ = parsed or (200, {}, b"")
    reason = omission(page.url, 200 if status == 304 else status, headers.get("content-type"))
    if reason or is_robots(page.url):
        return Skipped(page.origin, reason or "robots")
    content_type = headers.get("content-type")
    return CrawledPage(
        page.url, None, None, content_type, page.fetched, page.origin, page.digest,
        revisit_of=Revisit(page.digest, url),
    )  # fmt: skip


def parse_response(block: bytes) -> tuple[int, dict[str, str], bytes] | None:
    """Split an HTTP response into status, headers with names in lower case, and body."""
    from fastwarc.warc import HeaderMap

    parsed = HeaderMap()
    try:
        length = parsed.parse(io.BytesIO(block))
    except (OSError, ValueError):
        return None
    if parsed.status_code is None:
        return None
    return parsed.status_code, {name.lower(): value for name, value in parsed.items()}, block[length:]


def dechunked(headers: dict[str, str], body: bytes) -> bytes:
    """Undo the chunks of a body, which many archives store undone under the header that announces them."""
    from fastwarc.stream_io import ChunkedReader

    if "chunked" not in headers.get("transfer-encoding", "").lower() or not _CHUNK_SIZE.match(body):
        return body
    try:
        return ChunkedReader(io.BytesIO(body)).read()
    except OSError:
        return body


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
