"""Files as chunks and lines, decompressed piece by piece: memory is bounded whatever is in them."""

from __future__ import annotations

import bz2
import gzip
import stat
import zlib
from itertools import count
from typing import IO, TYPE_CHECKING

from .records import MAX_BARREN, MAX_RECORD, Unreadable, megabytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What reading a damaged file raises.
DAMAGE = (OSError, EOFError, ValueError, zlib.error, Unreadable)
#: Bytes that tell of what kind a file is.
HEAD = 4096
_CHUNK = 1 << 18  # bytes
#: Bytes that each line counts at least: of empty ones millions would take minutes.
_LINE = 64


class Stream:
    """The decompressed content of a file; reading it raises what is in `DAMAGE`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._barren = 0

    def __iter__(self) -> Iterator[bytes]:
        with open_regular(self._path) as file, _decompressed(file) as content:
            while chunk := content.read1(_CHUNK):
                self._count(len(chunk))
                yield chunk

    def lines(self, *, blank: bool = False) -> Iterator[tuple[int, bytes | None]]:
        """Yield lines with their ends, numbered from 1; None for one of more than `MAX_RECORD` bytes.

        Blank lines are yielded if *blank* says so.
        """
        with open_regular(self._path) as file, _decompressed(file) as content:
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
                elif blank or not line.isspace():
                    yield number, line

    def rewarded(self) -> None:
        """Note that a document was found."""
        self._barren = 0

    def _count(self, size: int) -> None:
        self._barren += size
        if self._barren > MAX_BARREN:
            raise Unreadable(f"more than {megabytes(MAX_BARREN)} without a document: the rest is left out")


def open_regular(path: Path) -> IO[bytes]:
    """Open a file to be read.

    Raises `Unreadable` for a pipe or a device, which may never end, and OSError.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise Unreadable(f"{path.name} is no regular file")
    return path.open("rb")


def head(path: Path) -> bytes:
    """Return the first `HEAD` bytes of the decompressed content; what there is of a broken file."""
    content = b""
    try:
        for chunk in Stream(path):
            content += chunk
            if len(content) >= HEAD:
                break
    except DAMAGE:
        pass  # whoever reads the file will say so
    return content[:HEAD]


def read_whole(path: Path, limit: int = MAX_RECORD) -> bytes:
    """Return the decompressed content of a file; raises `Unreadable` if it is over *limit* bytes."""
    parts, size = [], 0
    for chunk in Stream(path):
        size += len(chunk)
        if size > limit:
            raise Unreadable(f"{path.name} has more than {limit} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _decompressed(file: IO[bytes]) -> gzip.GzipFile | bz2.BZ2File:
    magic = file.read(3)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    return bz2.BZ2File(file) if magic == b"BZh" else file  # type: ignore[return-value]
