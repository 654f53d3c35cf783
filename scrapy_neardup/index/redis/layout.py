"""What is stored of an index on a server: buckets of packed entries, and documents.

Documents are numbered by one counter, from a number on that the clock names: an index that a server has
lost and that begins anew gives no number twice. A bucket is a string of entries in the order of their
numbers, one for each document filed in it; a key of a server takes 100 bytes besides, so buckets are named
by few bits of a key. The crawler compares the entries.

So that no bucket grows with the index, documents that follow one another are a generation, with buckets of
its own: the first 16,777,216, then some 16 times as many, and so on, with names of 4 bits more each. What a
lookup takes is the number of buckets rather than their size, and so the number of generations.

An index may have several parts, each in another slot of a cluster. A part has some tables of fingerprints
as a whole, so that all who may meet in one come by the same part; of the keys that have to be equal a range
of hashes; and documents, whose numbers are that of the part modulo how many there are.

All names of keys begin with the prefix of their part. ``header`` is what the index was made with, ``id`` its
identity, ``n`` a clock: no number filed in this part is higher, and it goes on whenever one is filed;
``count`` how many documents there are, ``g`` the generations (``start:bits more``), ``w`` the shortest window
of those who filed, in milliseconds, ``o`` the first number that is not too old, ``p`` pending documents by
the end of their leases in milliseconds of the clock of the first part's server. ``b`` + table + generation +
bits is a bucket, ``d`` + upper bits of a number a list of documents by the lower bits, in which nothing
stands for one that is gone, or `GONE` if it was confirmed; ``t`` has these groups by when each was begun.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import MOST_NOTE
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.search import NO_MATCHES, Matches
from scrapy_neardup.index.tables import NO_KEY

#: Version of this layout, beside the format of the header.
VERSION = 4
#: Documents of a group.
GROUP = 128
#: Bits of a permuted key that name its bucket in the smallest generation, bits of a hash of a key that has to
#: be equal; how many documents that would have; and how many bits more the first generation has.
NEAR_BITS, EQUAL_BITS, SMALLEST, FIRST_MORE = 14, 15, 1 << 20, 4
#: Bytes of an entry: the last 7 of a fingerprint's permuted key, or 2 of a hash, and 4 of the number.
NEAR_BYTES, EQUAL_BYTES = 11, 6
#: Bits of a permuted key that an entry has.
REST_BITS = 56
#: What stands in the place of a document that was confirmed and is gone.
GONE = b"-"
#: Keys that have to be equal share the buckets of one table, beyond those of fingerprints.
_EQUAL_TABLE = 0xFFFF
#: They are spread by this odd number: those of anchors are the least of many, so all small.
_SPREAD = 0x9E3779B97F4A7C15
_ALL, _NO_KEY = 2**64 - 1, int(NO_KEY)

#: What URLs have in common, the most common at the end. Another text would be another layout.
URL_PARTS = (
    b"/02/03/04/05/06/07/08/09/10/11/12/01/2020/2021/2022/2023/2024/2025/2026/page/tag/category/blog/posts/"
    b"archive/story/stories/press-release-item/wp-content/.aspx.php?id=&index.htmlarticle-articles/-and-the-"
    b"of-to-in-for-with-on-from-at-is-new-.net/.de/.org/.co.uk/http://en.https://news.com/news/https://www."
)
#: What a window of 2 KB may refer to is all that stands before.
_WINDOW = -11
_MEMORY_LEVEL = 5
#: No value is longer once decompressed: this library has not written a longer one.
_MOST_BYTES = 1 << 24


class Generation(NamedTuple):
    """Documents whose numbers follow one another, with buckets of their own."""

    #: The first number.
    start: int
    #: How many bits more than those of the smallest generation name its buckets.
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
    """Where a key is filed, or looked up."""

    bucket: bytes
    #: The entry but for the number.
    entry: bytes
    #: The part of the index that has the bucket, and the first number of its generation.
    part: int = 0
    start: int = 0
    #: In how many bits the bucket's keys differ from the key that is looked up, in those that entries lack.
    flipped: int = 0
    #: In how many others they may differ.
    within: int = 0


class Layout:
    """Packs keys and documents of an index with *header*, whose parts' keys begin with *prefixes*.

    A document is packed as its keys, then URL and record, deflated, then the note. What is deflated may refer
    to the keys, one of which the record repeats, and to common parts of URLs.
    """

    def __init__(self, header: Header, prefixes: Sequence[bytes]) -> None:
        self._header = header
        self.prefixes = prefixes
        #: No documents: with most pages nothing is met.
        self.none = Documents(np.empty((header.keys, 0), np.uint64), np.empty(0, header.dtype), [], [])
        #: What `places` returns is remembered: where something is filed it has just been looked up.
        self.places = lru_cache(4096)(self._places)

    def keys(self, document: Documents) -> list[list[int]]:
        """Return the keys that *document*, one row, has of each family."""
        keys, parts = document.keys[:, 0].tolist(), zip(self._header.families, self._header.rows, strict=True)
        return [[key for key in keys[rows] if family.keys == 1 or key != _NO_KEY] for family, rows in parts]

    def filed(
        self, document: Documents, generation: Generation, without: Collection[tuple[int, int]] = ()
    ) -> list[Place]:
        """Return where *document*, one row, is filed in *generation*, each place once.

        *without* are keys under which it is not, each with its family.
        """
        kinds = enumerate(zip(self._header.families, self.keys(document), strict=True))
        # Most often a lookup within this distance has just asked for these places.
        every = [(row, key, kind.tables.distance) for row, (kind, keys) in kinds for key in keys]
        places = (self.places(*each, generation) for each in every if each[:2] not in without)
        return list(dict.fromkeys(place for some in places for place in some))

    def _places(self, family: int, key: int, distance: int, generation: Generation) -> tuple[Place, ...]:
        """Return the places in *generation* of all documents within *distance* of a *key*."""
        tables, first = self._header.families[family].tables, self._header.first_table[family]
        if tables.blocks == 1:
            # The same key of another family lies elsewhere.
            spread, bits = (key ^ family << 56) * _SPREAD & _ALL, EQUAL_BITS + generation.more
            tag = (spread >> 48 - bits & 0xFFFF).to_bytes(2, "little")
            part = spread * len(self.prefixes) >> 64
            bucket = self._bucket(part, _EQUAL_TABLE, generation, spread >> 64 - bits)
            return (Place(bucket, tag, part, generation.start),)
        bits = min(NEAR_BITS + generation.more, *tables.prefix_bits)
        # A bit of the prefix may differ: those that an entry lacks are in the name. Several flips may lead to
        # the same bucket.
        places = (
            Place(
                self._bucket(table % len(self.prefixes), table, generation, (permuted ^ flip) >> 64 - bits),
                (permuted % 2**REST_BITS).to_bytes(7, "little"),
                table % len(self.prefixes),
                generation.start,
                flipped := (flip >> REST_BITS).bit_count(),
                distance - flipped,
            )
            for table, (permuted, flips) in enumerate(
                zip(tables.permute(key), tables.flips(distance), strict=True), first
            )
            for flip in flips
        )
        return tuple(dict.fromkeys(places))

    def _bucket(self, part: int, table: int, generation: Generation, bits: int) -> bytes:
        name = table << 64 | (generation.start & 0xFFFFFFFF) << 32 | bits
        return self.prefixes[part] + b"b" + name.to_bytes(10, "big")

    def home(self, document: Documents) -> int:
        """Return the part that gives *document*, one row, its number: that of copies in flight, too."""
        return (int(document.keys[0, 0]) * _SPREAD & _ALL) * len(self.prefixes) >> 64

    def place(self, number: int) -> tuple[int, bytes, int]:
        """Return the part that has a document, its group, and its place in it."""
        count, part = divmod(number, len(self.prefixes))
        return part, self.prefixes[part] + b"d%d" % (count // GROUP), count % GROUP

    def pack(self, document: Documents) -> bytes:
        """Pack one document, one row."""
        keys: bytes = document.keys[:, 0].astype("<u8").tobytes()
        packer = zlib.compressobj(
            9, zlib.DEFLATED, _WINDOW, _MEMORY_LEVEL, zlib.Z_FIXED, zdict=keys + URL_PARTS
        )
        url = document.urls[0].encode("utf-8", "surrogatepass")
        packed = packer.compress(url + document.records[0].tobytes()) + packer.flush()
        return b"".join((keys, packed, document.notes[0]))

    def unpack(self, values: Sequence[bytes]) -> Documents:
        """Unpack documents. Raises `IndexCorrupted` for a value that is none."""
        if not values:
            return self.none
        size = 8 * self._header.keys
        rest = [self._unpack_rest(value[:size], value[size:]) for value in values]
        keys = np.frombuffer(b"".join(value[:size] for value in values), "<u8")
        return Documents(
            np.ascontiguousarray(keys.reshape(-1, self._header.keys).T, np.uint64),
            np.frombuffer(b"".join(record for _, record, _ in rest), self._header.dtype),
            [url for url, _, _ in rest],
            [note for _, _, note in rest],
        )

    def _unpack_rest(self, keys: bytes, packed: bytes) -> tuple[str, bytes, bytes]:
        """Return the URL, the record and the note of one document."""
        unpacker = zlib.decompressobj(_WINDOW, zdict=keys + URL_PARTS)
        try:
            rest = unpacker.decompress(packed, _MOST_BYTES)
            split = len(rest) - self._header.dtype.itemsize
            if not unpacker.eof or split < 0 or len(unpacker.unused_data) > MOST_NOTE:
                raise damaged("a document that was cut")
            return rest[:split].decode("utf-8", "surrogatepass"), rest[split:], unpacker.unused_data
        except (zlib.error, UnicodeDecodeError):
            raise damaged("a document that was cut") from None


def compared(
    probes: Sequence[tuple[int, Place]],
    contents: Mapping[bytes, bytes],
    width: int,
    since: Sequence[int] = (0,),
) -> Matches:
    """Compare *probes*, places and positions of what is looked up, with the *contents* of their buckets.

    Those are compared whose entries have *width* bytes. Returns positions, numbers, and distances, of each
    part from a number *since* on. Raises `IndexCorrupted`.
    """
    full = [
        (row, place, found)
        for row, place in probes
        if len(place.entry) == width - 4
        and (found := contents[place.bucket])
        and (place.within or place.entry in found)
    ]
    if not full:
        return NO_MATCHES
    rows, places, data = zip(*full, strict=True)
    counts = [len(each) // width for each in data]
    if any(len(each) % width for each in data):
        raise damaged("a bucket that was cut")
    # A key is read with what stands behind it, which is masked.
    entries, size = b"".join((*data, bytes(8))), sum(counts)
    keys = np.ndarray(size, "<u8", entries, 0, (width,)) & np.uint64((1 << 8 * (width - 4)) - 1)
    asked = np.array([int.from_bytes(place.entry, "little") for place in places], np.uint64)
    bits = np.bitwise_count(keys ^ asked.repeat(counts))
    within = np.array([place.within for place in places])
    (near,) = (bits <= within.repeat(counts)).nonzero()
    if not len(near):  # so it is with most
        return NO_MATCHES
    probe = np.arange(len(full)).repeat(counts)[near]
    # Of the numbers the last 32 bits stand there: a generation has fewer.
    start = np.array([place.start for place in places])[probe]
    low = np.ndarray(size, "<u4", entries, width - 4, (width,))[near]
    numbers = start + (low - start & 0xFFFFFFFF)
    apart = bits[near] + np.array([place.flipped for place in places], np.uint8)[probe]
    met = Matches(np.array(rows)[probe], numbers, apart)
    return met.take(numbers >= np.array(since)[numbers % len(since)])


def before(content: bytes, entry: bytes) -> bytes:
    """Return what stands before an *entry* in the *content* of a bucket; all if it is not there."""
    at = content.find(entry)
    while at > 0 and at % len(entry):
        at = content.find(entry, at + 1)
    return content if at < 0 else content[:at]


def damaged(what: str) -> IndexCorrupted:
    """Return the error to raise for an index that has *what*."""
    return IndexCorrupted(
        f"The index on the server has {what}: something else writes to its keys, so keep others from them, "
        "and start anew with NEARDUP_RESET or reset=True."
    )
