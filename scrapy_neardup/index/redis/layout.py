"""What is stored of an index on a server: buckets of packed entries, and documents.

A bucket is two strings of entries in the order of their numbers, one for each document that is filed in it.
Entries are appended or removed, never changed, and none is there twice: so a bucket whose n-th entry is still
the same has the same entries before it. A key of a server takes some 100 bytes besides what it holds, so
buckets are named by few bits of a key: in the default scheme one of 100,000 documents holds 20 to 60 entries.
Those of a fingerprint are compared by the crawler, those that have to be equal are looked up by the server.

Documents are numbered by one counter. An epoch is 2^24 of them and has buckets of its own, so entries have
the lower 24 bits of a number, and no bucket grows without bound. A new index begins with an epoch that the
clock names: an index that a server has lost and that begins anew gives no number twice.

All names of keys begin with the prefix of the index:

``header``, ``id``
    what the index was made with, as JSON; its identity
``n``, ``count``
    the last number given to a document; how many documents there are
``b`` + table + epoch + bits
    the newest entries of a bucket
``a`` + the same
    its older entries, if there are more than some hundred bytes: newer ones are put to them many at a time
``d`` + upper bits of a number
    a list of documents by the lower bits of their numbers; `Values` says how they are packed
``p``
    pending documents, sorted by the time when their leases end, in milliseconds of the server's clock
``t``
    groups of documents, sorted by the time when each was begun
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.reservation import MOST_NOTE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header

#: Version of this layout, beside the format of the header.
VERSION = 2
#: Bits of a number that tell the documents of an epoch apart.
EPOCH_BITS = 24
#: Bits of a permuted key that name its bucket, and bits of a hash of a key that has to be equal.
NEAR_BITS, EQUAL_BITS = 12, 14
#: The same for indexes of 10 or 20 tables, which are meant to be large.
LONG_BITS = 18
#: Bytes of an entry: the last 7 of a fingerprint's permuted key, or 2 of a hash, and 3 of the number.
NEAR_BYTES, EQUAL_BYTES = 10, 5
#: Bits of a permuted key that an entry has, and the mask of them.
REST_BITS = 56
REST = 2**REST_BITS - 1
#: Keys that have to be equal share the buckets of one table, beyond those of fingerprints.
_EQUAL_TABLE = 0xFFFF
#: They are spread by this odd number: those of anchors are the least of many, so all small.
_SPREAD = 0x9E3779B97F4A7C15
_ALL = 2**64 - 1

#: What URLs have in common, the most common at the end. Another text would be another layout.
URL_PARTS = (
    b"/02/03/04/05/06/07/08/09/10/11/12/01/2020/2021/2022/2023/2024/2025/2026/page/tag/category/blog/posts/"
    b"archive/story/stories/press-release-item/wp-content/.aspx.php?id=&index.htmlarticle-articles/-and-the-"
    b"of-to-in-for-with-on-from-at-is-new-.net/.de/.org/.co.uk/http://en.https://news.com/news/https://www."
)
#: What a window of 2 KB may refer to is all that stands before.
_WINDOW = -11
_MEMORY_LEVEL = 1
#: Keys that tell a document from others as far as is needed.
_FIRST_KEYS = 2
#: No value is longer once decompressed: this library has not written a longer one.
_MOST_BYTES = 1 << 24


class Place(NamedTuple):
    """Where a key is filed."""

    bucket: bytes
    #: The entry but for the number.
    entry: bytes


class Layout:
    """Packs keys and documents of an index with *header* whose keys begin with *prefix*."""

    def __init__(self, header: Header, prefix: bytes) -> None:
        self.header = header
        self.prefix = prefix
        self.values = Values(header)
        is_long = any(
            min(family.tables.prefix_bits) >= LONG_BITS for family in header.families if not family.equal
        )
        #: Where a key of a family is filed in an epoch: once in each of its tables. The places are
        #: remembered, because a document is filed where it has just been looked up.
        self.key_places = lru_cache(256)(self._key_places)
        self.near_bits, self.equal_bits = (LONG_BITS, LONG_BITS) if is_long else (NEAR_BITS, EQUAL_BITS)
        #: Whether the keys of each family have to be equal.
        self.equal = [family.equal for family in header.families]
        #: The rows of the keys of each family, and whether a document may lack some.
        self._rows = [
            (rows, family.equal and family.keys > 1)
            for rows, family in zip(header.rows, header.families, strict=True)
        ]
        self._buckets = prefix + b"b"

    def places(
        self, document: Documents, epoch: int, without: Collection[tuple[int, int]] = ()
    ) -> list[Place]:
        """Return where *document*, one row that has a number of *epoch*, is filed, each place once.

        *without* are keys under which it is not, each with its family.
        """
        places: dict[Place, None] = {}
        for family, keys in enumerate(self.keys(document)):
            for key in keys:
                if (family, key) not in without:
                    places.update(dict.fromkeys(self.key_places(family, key, epoch)))
        return list(places)

    def keys(self, document: Documents) -> list[list[int]]:
        """Return the keys that *document*, one row, has of each family."""
        keys: list[int] = document.keys[:, 0].tolist()
        return [
            [key for key in keys[rows] if key != _ALL] if may_lack else keys[rows]
            for rows, may_lack in self._rows
        ]

    def _key_places(self, family: int, key: int, epoch: int) -> tuple[Place, ...]:
        if self.equal[family]:
            # The same key of another family lies elsewhere.
            spread = (key ^ family << 56) * _SPREAD & _ALL
            tag = spread >> 48 - self.equal_bits & 0xFFFF
            bucket = self._bucket(_EQUAL_TABLE, epoch, spread >> 64 - self.equal_bits)
            return (Place(bucket, tag.to_bytes(2, "little")),)
        return tuple(
            Place(self.near_bucket(table, permuted, epoch), (permuted & REST).to_bytes(7, "little"))
            for table, permuted in enumerate(
                self.header.families[family].tables.permute(key), self.header.first_table[family]
            )
        )

    def near_bucket(self, table: int, permuted: int, epoch: int) -> bytes:
        """Return the name of the bucket of a *permuted* key of a *table*."""
        return self._bucket(table, epoch, permuted >> 64 - self.near_bits)

    def _bucket(self, table: int, epoch: int, bits: int) -> bytes:
        return self._buckets + (table << 56 | epoch << 24 | bits).to_bytes(9, "big")


class Values:
    """Packs documents of an index with *header*: keys, then URL and record, compressed, then the note.

    Keys are random bits. Much of a record is zero, one of its fields repeats a key, and URLs have parts in
    common, so the rest takes two thirds of its length: deflated on its own, with the keys and common parts of
    URLs as what it may refer to.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._key_bytes = 8 * header.keys
        self._record_bytes = header.dtype.itemsize

    def pack(self, document: Documents) -> bytes:
        """Pack one document, one row."""
        keys: bytes = document.keys[:, 0].astype("<u8").tobytes()
        packer = zlib.compressobj(
            9, zlib.DEFLATED, _WINDOW, _MEMORY_LEVEL, zlib.Z_FIXED, zdict=keys + URL_PARTS
        )
        url = document.urls[0].encode("utf-8", "surrogatepass")
        packed = packer.compress(url + document.records[0].tobytes()) + packer.flush()
        return b"".join((keys, packed, document.notes[0]))

    def start(self, document: Documents) -> bytes:
        """Return how the value of one document, one row, begins: with the first of its keys."""
        keys: bytes = document.keys[:_FIRST_KEYS, 0].astype("<u8").tobytes()
        return keys

    def unpack(self, values: Sequence[bytes]) -> Documents:
        """Unpack documents. Raises `IndexCorrupted` for a value that is none."""
        keys, records, urls, notes = [], [], [], []
        for value in values:
            keys.append(value[: self._key_bytes])
            url, record, note = self._unpack_rest(value)
            records.append(record)
            urls.append(url)
            notes.append(note)
        filed = np.frombuffer(b"".join(keys), "<u8").reshape(-1, self._header.keys).T
        return Documents(
            np.ascontiguousarray(filed, np.uint64),
            np.frombuffer(b"".join(records), self._header.dtype),
            urls,
            notes,
        )

    def _unpack_rest(self, value: bytes) -> tuple[str, bytes, bytes]:
        """Return the URL, the record and the note of one document."""
        unpacker = zlib.decompressobj(_WINDOW, zdict=value[: self._key_bytes] + URL_PARTS)
        try:
            rest = unpacker.decompress(value[self._key_bytes :], _MOST_BYTES)
            if not unpacker.eof or len(rest) < self._record_bytes or len(unpacker.unused_data) > MOST_NOTE:
                raise damaged("a document that was cut")
            split = len(rest) - self._record_bytes
            return rest[:split].decode("utf-8", "surrogatepass"), rest[split:], unpacker.unused_data
        except zlib.error:
            raise damaged("a document that was cut") from None
        except UnicodeDecodeError:
            raise damaged("a document whose URL is no text") from None


def epoch_of(number: int) -> int:
    """Return the epoch of the document with a *number*."""
    return number >> EPOCH_BITS


def unpack_keys(data: bytes) -> NDArray[np.uint64]:
    """Return the keys of the entries of a fingerprint's bucket: uint64[n].

    Bits that name the bucket may be missing. Raises `IndexCorrupted` for what is no number of entries.
    """
    if len(data) % NEAR_BYTES:
        raise damaged("a bucket that was cut")
    # The last byte of each belongs to a number.
    keys: NDArray[np.uint64] = np.ndarray(len(data) // NEAR_BYTES, "<u8", data, 0, NEAR_BYTES) & _REST
    return keys


def unpack_numbers_of(data: bytes, rows: NDArray[np.intp], epoch: int) -> NDArray[np.int64]:
    """Return the numbers of the entries at *rows* of a fingerprint's bucket: int64[n]."""
    if not data:
        return NO_NUMBERS
    # The first byte of each belongs to a key.
    numbers = np.ndarray(len(data) // NEAR_BYTES, "<u4", data, NEAR_BYTES - 4, NEAR_BYTES)
    return (numbers[rows] >> 8).astype(np.int64) | epoch << EPOCH_BITS


def unpack_numbers(data: bytes, epoch: int) -> NDArray[np.int64]:
    """Return numbers of 3 bytes each, int64[n]. Raises as `unpack_keys` does."""
    if not data:
        return NO_NUMBERS
    if len(data) % 3:
        raise damaged("a bucket that was cut")
    wide = np.zeros((len(data) // 3, 8), np.uint8)
    wide[:, :3] = np.frombuffer(data, np.uint8).reshape(-1, 3)
    return wide.view("<i8")[:, 0] | epoch << EPOCH_BITS


NO_NUMBERS, NO_KEYS = np.empty(0, np.int64), np.empty(0, np.uint64)
_REST = np.uint64(REST)


def damaged(what: str) -> IndexCorrupted:
    """Return the error to raise for an index that has *what*."""
    return IndexCorrupted(
        f"The index on the server has {what}: something else writes to its keys, so keep others from them, "
        "and start anew with NEARDUP_RESET or reset=True."
    )
