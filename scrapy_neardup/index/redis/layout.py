"""What is stored of an index on a server: buckets of packed entries, and documents.

Documents are numbered by one counter, from a number on that the clock names: an index that a server has
lost and that begins anew gives no number twice. A bucket is a string of entries in the order of their
numbers, one for each document filed in it; a key of a server takes 100 bytes besides, so buckets are named
by few bits of a key. The crawler compares the entries of fingerprints, the server looks up those of keys
that have to be equal.

So that no bucket grows with the index, documents that follow one another are a generation, with buckets of
its own: the first 262,144, then some 16 times as many, and so on, with names of 4 bits more each.

All names of keys begin with the prefix of the index. ``header`` is what it was made with, ``id`` its
identity, ``n`` the last number given, ``count`` how many documents there are, ``g`` the generations
(``start:bits more``), ``o`` the first number that is not too old, ``p`` pending documents by the end of
their leases in milliseconds of the server's clock. ``b`` + table + generation + bits is a bucket, ``d`` +
upper bits of a number a list of `Values` by the lower bits; ``t`` has these groups by when each was begun.
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
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header

#: Version of this layout, beside the format of the header.
VERSION = 3
#: Documents of a group.
GROUP = 128
#: Bits of a permuted key that name its bucket in the first generation, and bits of a hash of a key that has
#: to be equal.
NEAR_BITS, EQUAL_BITS = 14, 15
#: Bytes of an entry: the last 7 of a fingerprint's permuted key, or 2 of a hash, and 4 of the number.
NEAR_BYTES, EQUAL_BYTES = 11, 6
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


class Generation(NamedTuple):
    """Documents whose numbers follow one another, with buckets of their own."""

    #: The first number.
    start: int
    #: How many bits more than those of the first generation name its buckets.
    more: int

    @classmethod
    def parse(cls, data: bytes) -> list[Generation]:
        """Read what stands in the key ``g``. Raises `IndexCorrupted`."""
        try:
            found = [cls(*map(int, each.split(b":"))) for each in data.split()]
        except (ValueError, TypeError):
            found = []
        if not found:
            raise damaged("generations that cannot be read")
        return found


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
        #: Where a key of a family is filed in a generation: remembered, as it has just been looked up there.
        self.key_places = lru_cache(256)(self._key_places)
        #: Whether the keys of each family have to be equal.
        self.equal = [family.equal for family in header.families]
        #: The rows of the keys of each family, and whether a document may lack some.
        self._rows = [
            (rows, family.equal and family.keys > 1)
            for rows, family in zip(header.rows, header.families, strict=True)
        ]
        #: Bits that two keys of a table certainly have in common, of each family.
        self._most_bits = [min(family.tables.prefix_bits) for family in header.families]
        self._buckets = prefix + b"b"

    def places(
        self, document: Documents, generation: Generation, without: Collection[tuple[int, int]] = ()
    ) -> list[Place]:
        """Return where *document*, one row, is filed in *generation*, each place once.

        *without* are keys under which it is not, each with its family.
        """
        places: dict[Place, None] = {}
        for family, keys in enumerate(self.keys(document)):
            for key in keys:
                if (family, key) not in without:
                    places.update(dict.fromkeys(self.key_places(family, key, generation)))
        return list(places)

    def keys(self, document: Documents) -> list[list[int]]:
        """Return the keys that *document*, one row, has of each family."""
        keys: list[int] = document.keys[:, 0].tolist()
        return [
            [key for key in keys[rows] if key != _ALL] if may_lack else keys[rows]
            for rows, may_lack in self._rows
        ]

    def _key_places(self, family: int, key: int, generation: Generation) -> tuple[Place, ...]:
        if self.equal[family]:
            # The same key of another family lies elsewhere.
            spread, bits = (key ^ family << 56) * _SPREAD & _ALL, EQUAL_BITS + generation.more
            tag = spread >> 48 - bits & 0xFFFF
            bucket = self._bucket(_EQUAL_TABLE, generation, spread >> 64 - bits)
            return (Place(bucket, tag.to_bytes(2, "little")),)
        permuted = self.header.families[family].tables.permute(key)
        buckets = [self._near_bucket(family, *each, generation) for each in enumerate(permuted)]
        return tuple(
            Place(bucket, (each & REST).to_bytes(7, "little"))
            for bucket, each in zip(buckets, permuted, strict=True)
        )

    def looked_up(
        self, family: int, key: int, distance: int, generation: Generation
    ) -> Iterable[tuple[bytes, bytes, int]]:
        """Return the places where a *key* is looked up, and in how many bits entries may differ."""
        tables, places = self.header.families[family].tables, self.key_places(family, key, generation)
        if self.equal[family] or not tables.radius(distance):
            return [(*place, distance) for place in places]
        # A bit of the prefix may differ: those that an entry lacks are in the name. Several flips may lead to
        # the same bucket.
        return dict.fromkeys(
            (
                self._near_bucket(family, table, permuted ^ flip, generation),
                places[table].entry,
                distance - (flip >> REST_BITS).bit_count(),
            )
            for table, (permuted, flips) in enumerate(
                zip(tables.permute(key), tables.flips(distance), strict=True)
            )
            for flip in flips
        )

    def _near_bucket(self, family: int, table: int, permuted: int, generation: Generation) -> bytes:
        bits = min(NEAR_BITS + generation.more, self._most_bits[family])
        return self._bucket(self.header.first_table[family] + table, generation, permuted >> 64 - bits)

    def _bucket(self, table: int, generation: Generation, bits: int) -> bytes:
        return self._buckets + (table << 64 | (generation.start & 0xFFFFFFFF) << 32 | bits).to_bytes(
            10, "big"
        )


class Values:
    """Packs documents of an index with *header*: keys, then URL and record, deflated, then the note.

    Keys are random bits. The rest takes two thirds of its length with the keys, one of which the record
    repeats, and common parts of URLs as what it may refer to.
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


def unpack_near(data: bytes, generation: Generation) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the keys, perhaps without bits that name the bucket, and the numbers of entries: [n] each.

    Raises `IndexCorrupted`.
    """
    if len(data) % NEAR_BYTES:
        raise damaged("a bucket that was cut")
    count = len(data) // NEAR_BYTES
    if not count:
        return _NO_KEYS, NO_NUMBERS
    # The last byte of each belongs to a number.
    keys = np.ndarray(count, "<u8", data, 0, NEAR_BYTES) & np.uint64(REST)
    return keys, _whole(np.ndarray(count, "<u4", data, NEAR_BYTES - 4, NEAR_BYTES), generation)


def unpack_numbers(data: bytes, generation: Generation) -> NDArray[np.int64]:
    """Return numbers of 4 bytes each, int64[n]. Raises as `unpack_near` does."""
    if len(data) % 4:
        raise damaged("a bucket that was cut")
    return _whole(np.frombuffer(data, "<u4"), generation)


def _whole(low: NDArray[np.uint32], generation: Generation) -> NDArray[np.int64]:
    """Return the numbers whose last 32 bits are *low*: a generation has fewer."""
    numbers: NDArray[np.int64] = (low - np.uint32(generation.start & 0xFFFFFFFF)).astype(np.int64)
    numbers += generation.start
    return numbers


NO_NUMBERS, _NO_KEYS = np.empty(0, np.int64), np.empty(0, np.uint64)


def damaged(what: str) -> IndexCorrupted:
    """Return the error to raise for an index that has *what*."""
    return IndexCorrupted(
        f"The index on the server has {what}: something else writes to its keys, so keep others from them, "
        "and start anew with NEARDUP_RESET or reset=True."
    )
