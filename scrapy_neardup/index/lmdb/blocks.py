"""Documents and sorted tables as bytes: blocks of documents, and partitions of tables."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.decoding import decoding
from scrapy_neardup.index.protocol import Documents, Stored
from scrapy_neardup.index.sorted_arrays import Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header


#: So many URLs are compressed together. Part of the format.
CHUNK_URLS = 32
SEPARATOR = b"\xff"
#: Levels of zlib for the blocks of runs, and for those of the log, which are soon written again. Both are
#: read alike.
RUN_LEVEL, LOG_LEVEL = 6, 0

#: Number of documents; checksum of all that follows, since LMDB 0.9 has none.
_HEAD = struct.Struct("<II")


def encode_block(documents: Stored | Documents) -> bytes:
    """Return the bytes of a block of a run: *documents* without their keys."""
    return _with_head(len(documents.urls), _body(documents, RUN_LEVEL))


def encode_logged(documents: Documents) -> bytes:
    """Return the bytes of a block of the log: *documents* with their keys."""
    return _with_head(len(documents.urls), documents.keys.tobytes() + _body(documents, LOG_LEVEL))


def decode_block(
    data: bytes | memoryview, header: Header, rows: NDArray[np.int64] | None = None, *, check: bool = False
) -> Stored:
    """Return copies of *rows* (int64[n]) of a block of a run, or of all its documents.

    Raises `IndexCorrupted` if it cannot be decoded or, with *check*, if it does not match its checksum.
    """
    with decoding("A block of documents"):
        count = _count(data, check)
        return _decode(data, _HEAD.size, header, count, np.arange(count) if rows is None else rows)


def decode_logged(data: bytes | memoryview, header: Header, *, check: bool = False) -> Documents:
    """Return copies of all documents of a block of the log.

    Raises `IndexCorrupted` as `decode_block` does.
    """
    with decoding("A block of the log"):
        count = _count(data, check)
        keys = np.frombuffer(data, np.uint64, header.keys * count, _HEAD.size).reshape(header.keys, count)
        stored = _decode(data, _HEAD.size + keys.nbytes, header, count, np.arange(count))
        return Documents(keys.copy(), *stored)


def block_size(data: bytes | memoryview) -> int:
    """Return how many documents a block has. Raises struct.error if it is cut short."""
    return int(_HEAD.unpack_from(data)[0])


def _with_head(count: int, body: bytes) -> bytes:
    """Put the number of documents and a checksum before *body*."""
    return _HEAD.pack(count, zlib.crc32(body)) + body


def _body(documents: Stored | Documents, level: int) -> bytes:
    """Return the packed records, where each chunk of URLs ends (uint32[chunks]), the chunks, the notes."""
    urls = documents.urls
    chunks = [_pack(urls[start : start + CHUNK_URLS], level) for start in range(0, len(urls), CHUNK_URLS)]
    ends = np.cumsum([len(chunk) for chunk in chunks], dtype=np.uint32)
    notes = _pack_notes(documents.notes)
    return b"".join((_pack_records(documents.records), ends.tobytes(), *chunks, notes))


def _pack_records(records: NDArray[Any]) -> bytes:
    """Return a bit for each byte of a record that differs, the first record, the differing bytes of all."""
    rows = _bytes_of(records)
    if not rows.size:
        return b""
    differ = (rows != rows[0]).any(axis=0)
    return b"".join((np.packbits(differ).tobytes(), rows[0].tobytes(), rows[:, differ].tobytes()))


def _unpack_records(
    data: bytes | memoryview, place: int, kind: np.dtype[Any], count: int, rows: NDArray[np.int64]
) -> tuple[NDArray[Any], int]:
    """Return *rows* of the *count* records that `_pack_records` has put at *place*, and where they end.

    *kind* is the dtype of a record.
    """
    records = np.zeros(len(rows), kind)  # also if a record has no bytes at all
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
    """Return a view of *records*, one a row: uint8[n, bytes of a record]."""
    return np.ascontiguousarray(records).view(np.uint8).reshape(len(records), records.dtype.itemsize)


def _pack(urls: list[str], level: int) -> bytes:
    """Compress a chunk of URLs. If all of them are empty, the chunk is, too."""
    if not any(urls):
        return b""
    return zlib.compress(SEPARATOR.join(url.encode("utf-8", "surrogatepass") for url in urls), level)


def _unpack(data: bytes | memoryview) -> list[bytes]:
    """Return the URLs of a chunk as bytes."""
    return zlib.decompress(data).split(SEPARATOR) if len(data) else [b""] * CHUNK_URLS


def _pack_notes(notes: list[bytes]) -> bytes:
    """Return where each note ends (uint32[n]), and the notes; nothing if all of them are empty."""
    if not any(notes):
        return b""
    ends = np.cumsum([len(note) for note in notes], dtype=np.uint32)
    return ends.tobytes() + b"".join(notes)


def _unpack_notes(data: bytes | memoryview, place: int, count: int, rows: list[int]) -> list[bytes]:
    """Return the notes of *rows* of the *count* documents whose notes `_pack_notes` has put at *place*."""
    if place == len(data):
        return [b""] * len(rows)
    ends = [0, *np.frombuffer(data, np.uint32, count, place).tolist()]
    place += 4 * count
    if place + ends[-1] != len(data):
        raise ValueError("the notes are cut short")
    return [bytes(data[place + ends[row] : place + ends[row + 1]]) for row in rows]


def _count(data: bytes | memoryview, check: bool) -> int:
    """Return how many documents a block has; with *check*, verify its checksum first."""
    count, checksum = _HEAD.unpack_from(data)
    if check and zlib.crc32(memoryview(data)[_HEAD.size :]) != checksum:
        raise IndexCorrupted(
            "A block of documents does not match its checksum: run `scrapy-neardup index check`."
        )
    if 4 * (count // CHUNK_URLS) > len(data):  # each chunk of URLs has an end, of 4 bytes
        raise ValueError(f"{count} documents in {len(data)} bytes")
    return int(count)


def _decode(
    data: bytes | memoryview, place: int, header: Header, count: int, rows: NDArray[np.int64]
) -> Stored:
    """Return *rows* of the *count* documents whose records begin at *place*."""
    records, place = _unpack_records(data, place, header.dtype, count, rows)
    ends = np.frombuffer(data, np.uint32, -(-count // CHUNK_URLS), place)
    place += ends.nbytes
    chunks: dict[int, list[bytes]] = {}
    urls = []
    for row in rows.tolist():
        chunk, at = divmod(row, CHUNK_URLS)
        if chunk not in chunks:
            start = int(ends[chunk - 1]) if chunk else 0
            chunks[chunk] = _unpack(data[place + start : place + int(ends[chunk])])
        urls.append(chunks[chunk][at].decode("utf-8", "surrogatepass"))
    place += int(ends[-1]) if len(ends) else 0
    return Stored(records, urls, _unpack_notes(data, place, count, rows.tolist()))


#: A place of the directory has about so many entries. Part of the format.
PLACE_ENTRIES = 16

#: Number of entries; checksum of all before it, since LMDB 0.9 has none.
_SIZE, _TAIL = struct.Struct("<I"), struct.Struct("<II")


class Partition(NamedTuple):
    """A partition, read in place."""

    entries: Entries
    #: The keys of the entries, which `bisect` reads faster than an array.
    keys: memoryview
    #: Where the entries of each place begin, and at the end where those of the last one stop.
    starts: memoryview
    #: A key belongs to the place ``(key >> shift) & mask``.
    shift: int
    mask: int


def encode_partition(entries: Entries, cut: int) -> bytes:
    """Return the bytes of a partition of a table that is cut by *cut* bits."""
    bits = _directory_bits(len(entries.keys))
    starts = np.array([0, len(entries.keys)], np.uint32)
    if bits:
        places = (entries.keys << np.uint64(cut)) >> np.uint64(64 - bits)
        starts = np.searchsorted(places, np.arange((1 << bits) + 1, dtype=np.uint64)).astype(np.uint32)
    parts = (entries.keys, entries.documents, starts)
    body = b"".join((*(part.tobytes() for part in parts), _SIZE.pack(len(entries.keys))))
    return body + _SIZE.pack(zlib.crc32(body))


def decode_partition(data: bytes | memoryview, cut: int) -> Partition:
    """Return views of a partition of a table that is cut by *cut* bits.

    Raises `IndexCorrupted` if it is not as long as it says. The checksum is not verified.
    """
    if not has_its_length(data):
        raise IndexCorrupted("A partition is cut short or missing: run `scrapy-neardup index check`.")
    size, _ = _TAIL.unpack_from(data, len(data) - _TAIL.size)
    bits = _directory_bits(size)
    keys: NDArray[np.uint64] = np.frombuffer(data, np.uint64, size)
    documents = np.frombuffer(data, np.uint32, size, 8 * size)
    starts = np.frombuffer(data, np.uint32, (1 << bits) + 1, 12 * size)
    return Partition(Entries(keys, documents), keys.data, starts.data, 64 - cut - bits, (1 << bits) - 1)


def is_whole(data: bytes | memoryview) -> bool:
    """Return whether a partition is as long as it says, and matches its checksum."""
    return (
        has_its_length(data) and zlib.crc32(data[:-4]) == _TAIL.unpack_from(data, len(data) - _TAIL.size)[1]
    )


def has_its_length(data: bytes | memoryview) -> bool:
    """Return whether a partition is as long as its number of entries says."""
    if len(data) < _TAIL.size:
        return False
    size, _ = _TAIL.unpack_from(data, len(data) - _TAIL.size)
    return bool(len(data) == 12 * size + 4 * ((1 << _directory_bits(size)) + 1) + _TAIL.size)


def _directory_bits(size: int) -> int:
    """Return by how many bits the directory of a partition of *size* entries divides the keys."""
    return int(size // PLACE_ENTRIES).bit_length()
