"""Files as chunks and lines, decompressed piece by piece: memory is bounded whatever is in them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import stat
import zlib
from typing import TYPE_CHECKING, BinaryIO

from .limits import MAX_BARREN, MAX_DICTIONARY, MAX_RECORD, Unreadable, megabytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

#: Bytes that tell of what kind a file is.
HEAD = 4096
_CHUNK = 1 << 18  # bytes
_SOLID = re.compile(rb"\S")


class Stream:
    """The decompressed content of a file in chunks; iterating raises `Unreadable` and what codecs raise."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._barren = 0

    def __iter__(self) -> Iterator[bytes]:
        with open_regular(self._path) as file:
            for chunk in _decompressed(file):
                self._barren += len(chunk)
                if self._barren > MAX_BARREN:
                    raise Unreadable(
                        f"more than {megabytes(MAX_BARREN)} without a document: the rest is left out"
                    )
                yield chunk

    def rewarded(self) -> None:
        """Note that a document was found."""
        self._barren = 0

    def lines(self, blank: int = 0) -> Iterator[tuple[int, bytes | None]]:
        """Yield lines as `split_lines` does."""
        return split_lines(self, blank)


def split_lines(chunks: Iterable[bytes], blank: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines with their ends, numbered from 1; None for one of more than `MAX_RECORD` bytes.

    Of blank lines in a row the first *blank* are yielded at most: one by one, millions of them would take
    minutes.
    """
    number, parts, size = 1, list[bytes](), 0
    for chunk in chunks:
        at = 0
        if size:  # a line that began in an earlier chunk
            at = chunk.find(b"\n") + 1 or len(chunk)
            size += at
            if size <= MAX_RECORD:
                parts.append(chunk[:at])
            else:
                parts.clear()
            if not chunk.endswith(b"\n", 0, at):
                continue
            if size > MAX_RECORD:
                yield number, None
            elif blank or any(map(_SOLID.search, parts)):
                yield number, b"".join(parts)
            number, parts, size = number + 1, [], 0
        while at < len(chunk):
            solid = _SOLID.search(chunk, at)
            start = chunk.rfind(b"\n", at, solid.start() if solid else None) + 1 or at
            count = chunk.count(b"\n", at, start)
            for place, line in enumerate(chunk[at:start].split(b"\n", blank)[: min(blank, count)]):
                yield number + place, line + b"\n"
            number += count
            at = chunk.find(b"\n", solid.start()) + 1 if solid else 0
            if not at:
                parts, size = [chunk[start:]], len(chunk) - start
                break
            yield number, chunk[start:at]
            number += 1
    if size > MAX_RECORD:
        yield number, None
    elif any(map(_SOLID.search, parts)):
        yield number, b"".join(parts)


def open_regular(path: Path) -> BinaryIO:
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
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, Unreadable):
        pass  # whoever reads the file will say so
    return content[:HEAD]


def read_whole(path: Path) -> bytes:
    """Return the decompressed content of a file; raises `Unreadable` if it is over `MAX_RECORD` bytes."""
    parts, size = [], 0
    for chunk in Stream(path):
        size += len(chunk)
        if size > MAX_RECORD:
            raise Unreadable(f"more than {MAX_RECORD} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _decompressed(file: BinaryIO) -> Iterator[bytes]:
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        with gzip.GzipFile(fileobj=file) as member:
            # Unlike read, it gives out all that precedes a defect.
            yield from iter(lambda: member.read1(_CHUNK), b"")
    elif magic.startswith(b"BZh"):
        yield from _members(file, bz2.BZ2Decompressor)
    elif magic == b"\xfd7zXZ\x00":
        yield from _members(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY))
    else:
        yield from iter(lambda: file.read(_CHUNK), b"")


def _members(
    file: BinaryIO, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    decoder, waiting = new(), file.read(_CHUNK)
    while waiting:
        while not decoder.eof:
            if decoder.needs_input and not waiting:
                raise EOFError("the compressed file ends in the middle")
            if content := decoder.decompress(waiting, _CHUNK):
                yield content
            waiting = file.read(_CHUNK) if decoder.needs_input else b""
        waiting = (decoder.unused_data or waiting or file.read(_CHUNK)).lstrip(b"\x00") or file.read(_CHUNK)
        decoder = new()
