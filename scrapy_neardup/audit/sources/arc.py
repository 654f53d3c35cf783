"""ARC files, which web archives wrote before WARC: a line about each page, then its HTTP response.

Format: https://archive.org/web/researcher/ArcFileFormat.php
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .contents import omission, page_of_response
from .fields import clean
from .limits import MAX_HEADERS, MAX_RECORD, MAX_URL, Unreadable, megabytes
from .records import BrokenRecord, Origin
from .streams import Stream
from .warc_records import dechunked, parse_response

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .records import Options, Record

#: Fields of the line about a page: the URL is the first, the date the third, the length the last.
_LEAST, _DATE = 5, 2


def read_arc(path: Path, label: str, options: Options) -> Iterator[Record]:
    """Yield the pages of an ARC file, compressed or not."""
    stream = Stream(path)
    content = _Content(iter(stream))
    position = 0
    while line := content.line():
        origin = Origin(label, f"byte {position}")
        position += len(line)
        if not line.strip():
            continue
        fields = line.decode("utf-8", "replace").split()
        if len(fields) < _LEAST or not fields[-1].isascii() or not fields[-1].isdigit():
            raise Unreadable("no line about a page is where one should be")
        length = int(fields[-1][:18])
        block = content.block(length)
        position += length
        if block is None:
            yield BrokenRecord(origin, f"more than {megabytes(MAX_RECORD)}")
        elif len(block) < length:
            raise Unreadable("the file ends in the middle of it")
        elif fields[0].startswith(("http://", "https://")):
            stream.rewarded()
            yield _page(clean(fields[0]), _seconds(fields[_DATE]), block, origin)


class _Content:
    """Decompressed chunks as lines and blocks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._waiting = b""

    def line(self) -> bytes:
        """Return the next line with its end; b"" at the end of the file.

        Raises `Unreadable` if it is too long.
        """
        parts = [self._waiting]
        size = len(self._waiting)
        while b"\n" not in parts[-1]:
            if size > MAX_HEADERS:
                raise Unreadable("no line about a page is where one should be")
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            size += len(chunk)
        line, end, self._waiting = b"".join(parts).partition(b"\n")
        return line + end

    def block(self, length: int) -> bytes | None:
        """Return the next *length* bytes, fewer at the end of the file.

        None if they are too many: then they are passed over.
        """
        parts, missing = list[bytes](), length
        while missing > 0:
            part = self._waiting or next(self._chunks, b"")
            if not part:
                break
            self._waiting = part[missing:]
            missing -= len(part)
            if length <= MAX_RECORD:
                parts.append(part)
        return None if length > MAX_RECORD else b"".join(parts)[:length]


def _page(url: str, fetched: float | None, block: bytes, origin: Origin) -> Record:
    parsed = parse_response(block)
    if parsed is None:
        return BrokenRecord(origin, "its HTTP headers cannot be parsed")
    if len(url) > MAX_URL:
        return BrokenRecord(origin, f"its URL has {len(url)} characters")
    status, headers, body = parsed
    if not omission(url, status, headers.get("content-type")):
        body = dechunked(headers, body)
    return page_of_response(url, status, headers, body, fetched, origin)


def _seconds(date: str) -> float | None:
    """Return seconds since 1970 of a date such as 20050131235959; None for what is no date."""
    try:
        return datetime.strptime(date[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
