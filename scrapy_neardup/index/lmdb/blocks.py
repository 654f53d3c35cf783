"""Blocks of documents as bytes: their records, their URLs compressed in small chunks, and in the log their keys.

Of records a byte that is the same in all of a block, as in the scope, and in high digits of times and counts, is
stored once. URLs that are stored one after the other resemble each other: 32 in a chunk take a quarter of their length, and 8 µs
to read. No byte of UTF-8 is 0xFF, which separates them.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.protocol import Documents, Stored

from .faults import decoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header

#: URLs of one chunk.
CHUNK = 32
SEPARATOR = b"\xff"
#: Levels of zlib: for what stays; and for the log, which is soon written again, none. Both are read alike.
SMALL, FAST = 6, 0

#: Number of documents, checksum of all that follows: LMDB 0.9 has none.
_HEAD = struct.Struct("<II")


def encode_block(documents: Stored | Documents) -> bytes:
    """Serialise documents without their keys."""
    return _with_head(len(documents.urls), _body(documents, SMALL))


def encode_logged(documents: Documents) -> bytes:
    """Serialise documents with their keys."""
    return _with_head(len(documents.urls), documents.keys.tobytes() + _body(documents, FAST))


def decode_block(
    data: bytes | memoryview, header: Header, rows: NDArray[np.int64] | None = None, *, check: bool = False
) -> Stored:
    """Return copies of *rows* of a block, or of all.

    Raises `IndexCorrupted` for one that cannot be decoded, or if a *check* of its checksum fails.
    """
    with decoding("A block of documents"):
        count = _count(data, check)
        return _decode(data, _HEAD.size, header, count, np.arange(count) if rows is None else rows)


def decode_logged(data: bytes | memoryview, header: Header, *, check: bool = False) -> Documents:
    """Return copies of the documents of a block of the log. Raises `IndexCorrupted` as `decode_block` does."""
    with decoding("A block of the log"):
        count = _count(data, check)
        keys = np.frombuffer(data, np.uint64, header.keys * count, _HEAD.size).reshape(header.keys, count)
        stored = _decode(data, _HEAD.size + keys.nbytes, header, count, np.arange(count))
        return Documents(keys.copy(), stored.records, stored.urls)


def block_size(data: bytes | memoryview) -> int:
    """Return the number of documents of a block."""
    return int(_HEAD.unpack_from(data)[0])


def _with_head(count: int, body: bytes) -> bytes:
    return _HEAD.pack(count, zlib.crc32(body)) + body


def _body(documents: Stored | Documents, level: int) -> bytes:
    """Return records, where each chunk of URLs ends (uint32), chunks compressed at *level*."""
    urls = documents.urls
    chunks = [_pack(urls[start : start + CHUNK], level) for start in range(0, len(urls), CHUNK)]
    ends = np.cumsum([len(chunk) for chunk in chunks], dtype=np.uint32)
    return b"".join((_pack_records(documents.records), ends.tobytes(), *chunks))


def _pack_records(records: NDArray[Any]) -> bytes:
    """Return which bytes of a record differ (bits), the first record, and of all records the bytes that differ."""
    rows = _bytes_of(records)
    if not rows.size:
        return b""
    differ = (rows != rows[0]).any(axis=0)
    return b"".join((np.packbits(differ).tobytes(), rows[0].tobytes(), rows[:, differ].tobytes()))


def _unpack_records(
    data: bytes | memoryview, place: int, kind: np.dtype[Any], count: int, rows: NDArray[np.int64]
) -> tuple[NDArray[Any], int]:
    """Undo `_pack_records` for *rows* of *count* records, which begin at *place*; return where they end, too."""
    records = np.zeros(len(rows), kind)  # NumPy cannot make them of bytes if they have no size
    size = kind.itemsize
    if not size or not count:
        return records, place
    bits = np.frombuffer(data, np.uint8, -(-size // 8), place)
    differ = np.unpackbits(bits, count=size).view(np.bool_)
    place += len(bits)
    first = np.frombuffer(data, np.uint8, size, place)
    place += size
    varied = np.frombuffer(data, np.uint8, count * np.count_nonzero(differ), place).reshape(count, -1)
    unpacked = _bytes_of(records)
    unpacked[:] = first
    unpacked[:, differ] = varied[rows]
    return records, place + varied.nbytes


def _bytes_of(records: NDArray[Any]) -> NDArray[np.uint8]:
    """Return *records* as rows of bytes."""
    return np.ascontiguousarray(records).view(np.uint8).reshape(len(records), records.dtype.itemsize)


def _pack(urls: list[str], level: int) -> bytes:
    """Compress URLs; none at all take nothing."""
    if not any(urls):
        return b""
    return zlib.compress(SEPARATOR.join(url.encode("utf-8", "surrogatepass") for url in urls), level)


def _unpack(data: bytes | memoryview) -> list[bytes]:
    """Undo `_pack`, but for the encoding."""
    return zlib.decompress(data).split(SEPARATOR) if len(data) else [b""] * CHUNK


def _count(data: bytes | memoryview, check: bool) -> int:
    count, checksum = _HEAD.unpack_from(data)
    if check and zlib.crc32(memoryview(data)[_HEAD.size :]) != checksum:
        raise IndexCorrupted(
            "A block of documents does not match its checksum: run `scrapy-neardup index check`."
        )
    return int(count)


def _decode(
    data: bytes | memoryview, place: int, header: Header, count: int, rows: NDArray[np.int64]
) -> Stored:
    records, place = _unpack_records(data, place, header.dtype, count, rows)
    ends = np.frombuffer(data, np.uint32, -(-count // CHUNK), place)
    place += ends.nbytes
    chunks: dict[int, list[bytes]] = {}
    urls = []
    for row in rows.tolist():
        chunk, at = divmod(row, CHUNK)
        if chunk not in chunks:
            start = int(ends[chunk - 1]) if chunk else 0
            chunks[chunk] = _unpack(data[place + start : place + int(ends[chunk])])
        urls.append(chunks[chunk][at].decode("utf-8", "surrogatepass"))
    return Stored(records, urls)
