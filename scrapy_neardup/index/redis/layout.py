"""What is stored of an index on a server: buckets of packed entries, and documents.

A bucket is a string of entries in the order of their numbers, one for each document that is filed in it.
Entries are appended or removed, never changed, and none is there twice: so a bucket whose n-th entry is still
the same has the same entries before it. All names of keys begin with the prefix of the index:

``header``, ``id``
    what the index was made with, as JSON; its identity
``n``, ``count``
    the last number given to a document; how many documents there are
``b`` + table + bits
    a bucket
``d`` + upper bits of a number
    a hash of documents by the lower bits of their numbers
``p``
    pending documents, sorted by the time when their leases end, in milliseconds of the server's clock
``t``
    groups of documents, sorted by the time when each was begun
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.protocol import Documents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.tables import Family

#: Version of this layout, beside the format of the header.
VERSION = 1
#: Bits of a permuted key that name its bucket. Where many blocks are looked up, longer keys keep buckets
#: short.
BUCKET_BITS, LONG_BUCKET_BITS = 16, 24
#: Bytes of an entry: 6 of a fingerprint's key and 6 of the number, or 3 of a hash of the key and 5.
NEAR_BYTES, EQUAL_BYTES = 12, 8
#: Keys that have to be equal are spread by this odd number: those of anchors are the least of many, so all
#: small.
_SPREAD = 0x9E3779B97F4A7C15
_ALL = 2**64 - 1


class Place(NamedTuple):
    """Where a key is filed."""

    bucket: bytes
    #: The entry but for the number.
    entry: bytes
    size: int


class Layout:
    """Packs keys and documents of an index with *header* whose keys begin with *prefix*."""

    def __init__(self, header: Header, prefix: bytes) -> None:
        self.header = header
        self.prefix = prefix
        self._record = header.dtype.itemsize
        self._key_bytes = 8 * header.keys
        self.bits = [bucket_bits(family) for family in header.families]

    def places(self, document: Documents, without: Collection[tuple[int, int]] = ()) -> list[Place]:
        """Return where *document*, one row, is filed, each place once.

        *without* are keys under which it is not, each with its family.
        """
        places: dict[tuple[bytes, bytes], Place] = {}
        for family in range(len(self.header.families)):
            for key in self.keys(document, family):
                if (family, key) in without:
                    continue
                for place in self.key_places(family, key):
                    places[place.bucket, place.entry] = place
        return list(places.values())

    def keys(self, document: Documents, family: int) -> list[int]:
        """Return the keys that *document*, one row, has of a *family*."""
        keys: list[int] = document.keys[self.header.rows[family], 0].tolist()
        kind = self.header.families[family]
        return [key for key in keys if key != _ALL] if kind.equal and kind.keys > 1 else keys

    def key_places(self, family: int, key: int) -> Iterator[Place]:
        """Yield where one key of a *family* is filed: once in each of its tables."""
        table = self.header.first_table[family]
        if self.header.families[family].equal:
            spread = key * _SPREAD & _ALL
            tag = spread >> 24 & 0xFFFFFF
            yield Place(self.bucket(table, spread >> 48, BUCKET_BITS), tag.to_bytes(3, "little"), EQUAL_BYTES)
            return
        for number, permuted in enumerate(self.header.families[family].tables.permute(key)):
            bits = self.bits[family]
            yield Place(
                self.bucket(table + number, permuted >> 64 - bits, bits),
                (permuted & 2**48 - 1).to_bytes(6, "little"),
                NEAR_BYTES,
            )

    def bucket(self, table: int, bits: int, width: int) -> bytes:
        """Return the name of a bucket of a *table*, whose keys begin with so many *bits*."""
        return self.prefix + b"b" + bytes([table]) + bits.to_bytes(width // 8, "big")

    def value(self, documents: Documents, row: int = 0) -> bytes:
        """Pack one document: its keys, its record, its URL."""
        keys: bytes = documents.keys[:, row].astype("<u8").tobytes()
        record: bytes = documents.records[row].tobytes()
        return keys + record + documents.urls[row].encode("utf-8", "surrogatepass")

    def documents(self, values: Sequence[bytes]) -> Documents:
        """Unpack documents. Raises `IndexCorrupted` for a value that is none."""
        record = self._key_bytes + self._record
        if any(len(value) < record for value in values):
            raise _damaged("a document that was cut")
        keys = np.frombuffer(b"".join(value[: self._key_bytes] for value in values), "<u8")
        records = np.frombuffer(
            b"".join(value[self._key_bytes : record] for value in values), self.header.dtype
        )
        try:
            urls = [value[record:].decode("utf-8", "surrogatepass") for value in values]
        except UnicodeDecodeError:
            raise _damaged("a document whose URL is no text") from None
        return Documents(np.ascontiguousarray(keys.reshape(-1, self.header.keys).T, np.uint64), records, urls)


def bucket_bits(family: Family) -> int:
    """Return how many bits of the permuted keys of a *family* name a bucket."""
    return LONG_BUCKET_BITS if min(family.tables.prefix_bits) >= LONG_BUCKET_BITS and not family.equal else 16


def unpack(data: bytes, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the keys and the numbers of entries of *size* bytes: uint64[n], int64[n].

    Keys of 12 bytes lack what names the bucket, those of 8 bytes are hashes of 24 bits. Raises
    `IndexCorrupted` for what is no number of entries.
    """
    if len(data) % size:
        raise _damaged("a bucket that was cut")
    if size == EQUAL_BYTES:
        entries = np.frombuffer(data, "<u8")
        return entries & np.uint64(0xFFFFFF), (entries >> np.uint64(24)).astype(np.int64)
    low, middle, high = np.frombuffer(data, "<u4").reshape(-1, 3).T.astype(np.uint64)
    keys = low | (middle & np.uint64(0xFFFF)) << np.uint64(32)
    return keys, (middle >> np.uint64(16) | high << np.uint64(16)).astype(np.int64)


def _damaged(what: str) -> IndexCorrupted:
    return IndexCorrupted(
        f"The index on the server has {what}: something else writes to its keys, so keep others from them, "
        "and start anew with NEARDUP_RESET or reset=True."
    )
