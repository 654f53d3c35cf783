"""The records that sources yield: pages, broken ones, those that are no pages; and files within limits."""

from __future__ import annotations

import bz2
import gzip
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from io import BufferedIOBase, BufferedReader
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from scrapy_neardup.errors import NearDupError

#: Bytes of one record, one row, one page, after decompression.
MAX_RECORD = 1 << 26
#: Bytes read from a file since its last document: what follows is not looked at.
MAX_BARREN = 1 << 28
#: Broken records of a file since its last document.
MAX_PROBLEMS = 100_000
#: Characters of a URL, and bytes of HTTP headers.
MAX_URL = MAX_HEADERS = 1 << 16
_HEAD, _CHUNK = 4096, 1 << 18  # bytes
_LAST_SECOND = 32503680000  # year 3000; larger numbers are milliseconds
_LINE = 64  # bytes that a line counts at least: of empty ones millions would take minutes


class Unreadable(Exception):
    """A record, or the rest of a file, cannot be read; the message says why."""


class SourceUnavailable(NearDupError):
    """A source does not exist, is of no known kind, or needs an extra that is not installed."""


#: What reading a damaged file raises.
DAMAGE = (OSError, EOFError, ValueError, zlib.error, Unreadable)


def too_long(limit: int = MAX_RECORD) -> str:
    """Say that something has more than *limit* bytes."""
    return f"more than {limit >> 20} MiB"


class Origin(NamedTuple):
    """Where a record was found: the path of a file or directory, and the place in it; "" for the whole."""

    path: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.path}, {self.place}" if self.place else self.path


class PageRecord(NamedTuple):
    """One document: a text, the HTML that it is to be extracted from, or a revisit, which has neither."""

    #: The origin, for a document that has no URL.
    url: str
    text: str | None
    #: HTML as received, without transfer and content encodings.
    body: bytes | None
    content_type: str | None
    #: When it was fetched, in seconds since 1970.
    fetched: float | None
    origin: Origin
    #: Digest of the body that the source states, such as ``sha1:…``.
    digest: str | None = None
    #: Whether its HTTP headers ask search engines not to index it.
    noindex: bool = False
    #: Of a text, if the source has it.
    title: str = ""
    #: What a WARC ``revisit`` record has the same body as: one is known.
    refers_digest: str | None = None
    refers_url: str | None = None
    #: What the item says beside its text, see `feeds.note_of`; empty for a page that is no item.
    note: bytes = b""


class BrokenRecord(NamedTuple):
    """A record or the rest of a file that cannot be read, and why."""

    origin: Origin
    reason: str


def unlisted(error: OSError) -> BrokenRecord:
    """Tell of a directory that cannot be listed."""
    return BrokenRecord(Origin(str(error.filename)), error.strerror or str(error))


class Skipped(NamedTuple):
    """A sound record that is no page, and why, such as ``redirect``, ``error``, ``not_html``, ``robots``."""

    origin: Origin
    reason: str


Record: TypeAlias = PageRecord | BrokenRecord | Skipped


class Stream:
    """The decompressed content of a file; reading it raises what is in `DAMAGE`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Bytes since the last document: whoever finds one sets it to 0.
        self.barren = 0

    def __iter__(self) -> Iterator[bytes]:
        with opened(self._path) as content:
            while chunk := content.read1(_CHUNK):
                self._count(len(chunk))
                yield chunk

    def lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield lines that are not blank, numbered from 1; None for one of more than `MAX_RECORD` bytes."""
        with opened(self._path) as content:
            for number in count(1):
                line = content.readline(MAX_RECORD + 1)
                if not line:
                    return
                self._count(max(len(line), _LINE))
                if len(line) > MAX_RECORD:
                    while line and not line.endswith(b"\n"):
                        line = content.readline(_CHUNK)
                        self._count(len(line))
                    yield number, None
                elif not line.isspace():
                    yield number, line

    def _count(self, size: int) -> None:
        self.barren += size
        if self.barren > MAX_BARREN:
            raise Unreadable(f"{too_long(MAX_BARREN)} without a document: the rest is left out")


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read. Raises OSError, and `Unreadable` for a pipe or a device, which may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise Unreadable(f"{path.name} is no regular file")
    return path.open("rb")


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """Open the decompressed content of a file, as `open_regular` does."""
    with open_regular(path) as file:
        magic = file.read(3)
        file.seek(0)
        if magic.startswith(b"\x1f\x8b"):
            yield gzip.GzipFile(fileobj=file)
        else:
            yield bz2.BZ2File(file) if magic == b"BZh" else file


def head(path: Path) -> bytes:
    """Return the first 4096 bytes of the decompressed content; what there is of a broken file."""
    content = b""
    with suppress(*DAMAGE), opened(path) as stream:  # whoever reads the file will say so
        while len(content) < _HEAD and (chunk := stream.read1(_HEAD)):
            content += chunk
    return content[:_HEAD]


def read_whole(path: Path) -> bytes:
    """Return the decompressed content of a file; raises `Unreadable` if it is over `MAX_RECORD` bytes."""
    with opened(path) as content:
        whole = content.read(MAX_RECORD + 1)
    if len(whole) > MAX_RECORD:
        raise Unreadable(f"{path.name} has more than {MAX_RECORD} bytes")
    return whole


def clean(text: str) -> str:
    """Replace surrogates, which JSON can spell and no encoding can write."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def seconds(value: Any) -> float | None:
    """Return seconds since 1970, of a number of seconds or milliseconds, an ISO 8601 string or a datetime."""
    if isinstance(value, list):
        value = value[0] if value else None
    try:
        if isinstance(value, str):
            value = value.strip()[:40]
            digits = value.replace(".", "", 1).isdecimal()
            iso = value.replace("Z", "+00:00").replace(" +", "+")
            value = float(value) if digits else datetime.fromisoformat(iso)
        if isinstance(value, datetime):
            value = (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
        found = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    found = found / 1000 if found > _LAST_SECOND else found
    return found if 0 < found <= _LAST_SECOND else None
