"""A partition of a sorted table as bytes: keys, documents, a directory, and a checksum.

The directory divides the keys into places by the bits that follow those of the partition, and says where the
entries of each place begin. So a search bisects some 16 entries instead of all.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.sorted_arrays import Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
