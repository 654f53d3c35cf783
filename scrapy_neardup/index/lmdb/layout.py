"""The keys and values of the five LMDB databases of an index, byte for byte: see docs/index-format.md."""

from __future__ import annotations

import json
import os
import struct
import zlib
from functools import lru_cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple

import lmdb
import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.index.header import Header, damaged, decoding
from scrapy_neardup.index.protocol import Documents, Stored
from scrapy_neardup.index.search import Entries
from scrapy_neardup.index.tables import Family

from .directory import DATA, NEW, renamed
from .environment import DATABASES, Environment

#: The numbers of documents, and the number after the last one, have 32 bits.
MAX_DOCUMENTS = (1 << 32) - 1
#: Later than the time of any document, of 32 bits.
NEVER = 1 << 32
#: No table is cut into more than 2 to the power of so many partitions. Part of the format.
MAX_PARTITION_BITS = 16

_NUMBER = struct.Struct(">I")
_RUN = struct.Struct(">IHI")
_SUM = struct.Struct("<I")


#: The key of the block that begins with a document, by its number.
number_key = _NUMBER.pack
#: The key of a part of a table: numbers of run, table, partition.
partition_key = _RUN.pack


def key_number(key: bytes | memoryview) -> int:
    """Return the number of the document that `number_key` has made *key* of."""
    return int(_NUMBER.unpack(key)[0])


def key_run(key: bytes | memoryview) -> int:
    """Return the number of the run that the *key* of a partition begins with."""
    return int(_RUN.unpack(key)[0])


class Run(NamedTuple):
    """A run: immutable sorted tables of the documents from *start* to before *stop*."""

    id: int
    start: int
    stop: int
    #: How many documents it holds. Those that were removed before it was written are left out.
    documents: int
    #: By how many leading bits of the key a table of a family with one key a document is cut into partitions.
    bits: int
    #: No ``time`` of its documents is later; `NEVER` if they have none.
    newest: int
    #: How many documents that it holds were removed since.
    removed: int = 0

    def cut(self, family: Family) -> int:
        """Return how many leading bits of the key cut the tables of *family* into partitions."""
        # Never more than the narrowest prefix that is looked up: so each probe lies in one partition.
        return min(self.bits + (family.keys - 1).bit_length(), *family.tables.prefix_bits, MAX_PARTITION_BITS)


class State(NamedTuple):
    """The part of an index that every commit replaces as a whole."""

    #: The number that the next document gets.
    next: int = 0
    #: Documents before this one are in runs. Those from it on are in the log alone.
    flushed: int = 0
    #: The run of the oldest documents comes first. Each begins where the one before it ends.
    runs: tuple[Run, ...] = ()
    #: How many documents of the log were removed.
    removed: int = 0

    @property
    def oldest(self) -> int:
        """The number of the first document that has not expired."""
        return self.runs[0].start if self.runs else self.flushed

    @property
    def documents(self) -> int:
        """How many documents there are, without those that were removed."""
        return sum(run.documents - run.removed for run in self.runs) + self.next - self.flushed - self.removed


def _sealed(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data) + data


def _opened(data: bytes) -> bytes:
    """Return what `_sealed` was given. Raises ValueError."""
    if data[:8] != b"%08x" % zlib.crc32(data[8:]):
        raise ValueError("it does not match its checksum")
    return data[8:]


def read_state(environment: Environment, transaction: lmdb.Transaction) -> State:
    """Return the state as *transaction* sees it. Raises `IndexCorrupted`."""
    return decode_state(bytes(transaction.get(b"state", b"", db=environment.databases["meta"])))


@lru_cache(8)  # each commit is read by whoever looks, and by who makes the next one
def decode_state(data: bytes) -> State:
    """Parse what `encode_state` has made. Raises `IndexCorrupted`."""
    with decoding("The state of the index"):
        fields = json.loads(_opened(data))
        return State(**{**fields, "runs": tuple(Run(**run) for run in fields["runs"])})


def encode_state(state: State) -> bytes:
    fields = state._asdict() | {"runs": [run._asdict() for run in state.runs]}
    return _sealed(json.dumps(fields).encode())


def write_state(environment: Environment, transaction: lmdb.Transaction, state: State) -> None:
    """Replace the state within *transaction*."""
    transaction.put(b"state", encode_state(state), db=environment.databases["meta"])


def read_header(environment: Environment) -> Header:
    """Return the header. Raises `IndexCorrupted` or `IndexMismatch`."""
    with environment.read() as transaction:
        data = bytes(transaction.get(b"header", b"", db=environment.databases["meta"]))
    with decoding(f"The header of the index in {environment.path}"):
        data = _opened(data)
    return Header.from_json(data)


def create(header: Header, path: Path) -> None:
    """Make the data file of a new index in *path*: it is there as a whole, and on disk, or not at all."""
    with (
        renamed(path / NEW, path / DATA, sync=True) as new,
        lmdb.open(
            os.fsencode(new), subdir=False, lock=False, sync=False, max_dbs=len(DATABASES), lib_version=0
        ) as made,
    ):
        databases = {name: made.open_db(name.encode()) for name in DATABASES}
        with made.begin(write=True, db=databases["meta"]) as transaction:
            transaction.put(b"header", _sealed(header.to_json()))
            transaction.put(b"state", encode_state(State()))


#: So many documents have their tombstones in one value. Part of the format.
TOMBSTONES = 1 << 14


class Tombstones:
    """Which documents were removed, of those from *start* to before *stop*: a bit each.

    Raises `IndexCorrupted` if they cannot be read.
    """

    def __init__(self, transaction: lmdb.Transaction, database: Any, start: int, stop: int) -> None:
        self._first = start // TOMBSTONES
        self._bits = np.zeros((stop // TOMBSTONES + 1 - self._first, TOMBSTONES // 8), np.uint8)
        #: Whether there are any.
        self.some = False
        with decoding("The list of removed documents"), transaction.cursor(database) as cursor:
            found = cursor.set_range(number_key(self._first * TOMBSTONES))
            for key, value in cursor.iternext() if found else ():
                place = key_number(key) // TOMBSTONES - self._first
                if place >= len(self._bits):
                    break
                bits, checksum = bytes(value[:-4]), _SUM.unpack(value[-4:])[0]
                if checksum != zlib.crc32(bits, zlib.crc32(key)):
                    raise ValueError("it does not match its checksum")
                self._bits[place] = np.frombuffer(bits, np.uint8)
                self.some = True

    def has(self, documents: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of *documents* (n) were removed: bool[n]. Raises IndexError for those beyond."""
        if not self.some:
            return np.zeros(len(documents), bool)
        place = documents.astype(np.int64) - self._first * TOMBSTONES
        found: NDArray[np.bool_] = (self._bits.ravel()[place >> 3] >> (place & 7).astype(np.uint8) & 1) > 0
        return found

    def between(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which of the documents from *start* to before *stop* were removed: bool[stop - start]."""
        first = start // TOMBSTONES
        bits = self._bits[first - self._first : stop // TOMBSTONES + 1 - self._first]
        removed = np.unpackbits(bits, bitorder="little").view(bool)
        return removed[start - first * TOMBSTONES : stop - first * TOMBSTONES]

    def add(self, documents: NDArray[np.int64]) -> None:
        """Add *documents* (int64[n])."""
        place = documents - self._first * TOMBSTONES
        np.bitwise_or.at(self._bits.ravel(), place >> 3, np.uint8(1) << (place & 7).astype(np.uint8))
        self.some |= len(documents) > 0

    def write(self, transaction: lmdb.Transaction, database: Any, documents: NDArray[np.int64]) -> None:
        """Write what has changed since *documents* (int64[n]) were added."""
        for place in sorted({*(documents // TOMBSTONES).tolist()}):
            key, bits = number_key(place * TOMBSTONES), self._bits[place - self._first].tobytes()
            transaction.put(key, bits + _SUM.pack(zlib.crc32(bits, zlib.crc32(key))), db=database)


#: So many documents of a run are compressed together, of those with small records so many bytes.
CHUNK, CHUNK_BYTES = 16, 1 << 12
#: Levels of zlib for the blocks of runs, and for those of the log, which are soon written again.
RUN_LEVEL, LOG_LEVEL = 1, 0
#: Checksum of key and the rest, since LMDB 0.9 has none; number of documents, and of those in a chunk.
_HEAD = struct.Struct("<III")
#: zlib packs no better than this.
_MOST_PACKED = 1032


def encode_block(documents: Stored, key: bytes, keys: NDArray[np.uint64] | None = None) -> bytes:
    """Return the bytes of a block to be stored under *key*: of a run, or with *keys* of the log."""
    count = len(documents.urls)
    width = documents.records.itemsize or 1
    size, level = (max(CHUNK, CHUNK_BYTES // width), RUN_LEVEL) if keys is None else (count, LOG_LEVEL)
    filed = np.empty((0, count), np.uint64) if keys is None else keys
    urls, lengths = list[bytes](), np.zeros((2, count), np.uint32)
    if any(documents.urls) or any(documents.notes):  # bare fingerprints have neither
        urls = [url.encode("utf-8", "surrogatepass") for url in documents.urls]
        lengths = np.array([[*map(len, urls)], [*map(len, documents.notes)]], np.uint32)
    columns = np.frombuffer(documents.records.tobytes(), np.uint8).reshape(-1, width).T
    chunks = []
    for start in range(0, count, size or 1):
        part = slice(start, start + size)
        arrays = (each[:, part].tobytes() for each in (filed, columns, lengths))
        chunks.append(zlib.compress(b"".join((*arrays, *urls[part], *documents.notes[part])), level))
    ends = np.cumsum([len(chunk) for chunk in chunks], dtype=np.uint32)
    body = b"".join((_HEAD.pack(0, count, size)[_SUM.size :], ends.tobytes(), *chunks))
    return _SUM.pack(zlib.crc32(body, zlib.crc32(key))) + body


def decode_block(
    data: bytes | memoryview,
    header: Header,
    rows: NDArray[np.int64] | None = None,
    *,
    keys: int = 0,
    check: bytes | None = None,
) -> Documents:
    """Return copies of *rows* (int64[n]) of a block with *keys*, or of all. Raises `IndexCorrupted`."""
    with decoding("A block of the log" if keys else "A block of documents"):
        checksum, count, size = _HEAD.unpack_from(data)
        if check is not None and zlib.crc32(memoryview(data)[_SUM.size :], zlib.crc32(check)) != checksum:
            raise ValueError("it does not match its checksum")
        if count * (8 * keys + header.dtype.itemsize) > _MOST_PACKED * len(data):
            raise ValueError("it is too short for its documents")
        ends = np.frombuffer(data, np.uint32, -(-count // size) if count else 0, _HEAD.size).tolist()
        first, begins, width = _HEAD.size + 4 * len(ends), [0, *ends], header.dtype.itemsize
        filed, records = [np.empty((keys, 0), np.uint64)], bytearray()
        urls, notes = list[str](), list[bytes]()
        wanted = range(count) if rows is None else rows.tolist()
        for chunk, group in groupby(wanted, lambda row: row // size):
            packed = zlib.decompress(data[first + begins[chunk] : first + ends[chunk]])
            some, total = [row - chunk * size for row in group], min(size, count - chunk * size)
            which, place = slice(None) if rows is None else some, 8 * keys * total
            filed.append(np.frombuffer(packed, np.uint64, keys * total).reshape(keys, total)[:, which])
            columns = np.frombuffer(packed, np.uint8, width * total, place).reshape(width, total)
            records += columns[:, which].T.tobytes()
            lengths = np.frombuffer(packed, np.uint32, 2 * total, place + columns.size).tolist()
            spans = [*accumulate(lengths, initial=place + columns.size + 8 * total)]
            if spans[-1] != len(packed):
                raise ValueError("it is cut short")
            if spans[0] == len(packed):
                urls += [""] * len(some)
                notes += [b""] * len(some)
                continue
            urls += [packed[spans[row] : spans[row + 1]].decode("utf-8", "surrogatepass") for row in some]
            notes += [packed[spans[total + row] : spans[total + row + 1]] for row in some]
        blank = np.empty(len(urls), header.dtype)  # bare fingerprints have records of no bytes
        whole = np.frombuffer(records, header.dtype) if records else blank
        return Documents(np.concatenate(filed, axis=1), whole, urls, notes)


def block_size(data: bytes | memoryview) -> int:
    """Return how many documents a block has. Raises struct.error if it is cut short."""
    return int(_HEAD.unpack_from(data)[1])


#: A place of the directory has about so many entries. Part of the format.
PLACE_ENTRIES = 16

#: Number of entries; checksum of the key and all before it.
_TAIL = struct.Struct("<II")


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


def encode_partition(entries: Entries, cut: int, key: bytes) -> bytes:
    """Return the bytes of a partition of a table that is cut by *cut* bits, to be stored under *key*."""
    count = len(entries.keys)
    bits = _directory_bits(count)
    starts = np.array([0, count], np.uint32)
    if bits:
        places = (entries.keys << np.uint64(cut)) >> np.uint64(64 - bits)
        starts = np.searchsorted(places, np.arange((1 << bits) + 1, dtype=np.uint64)).astype(np.uint32)
    parts = (entries.keys, entries.documents, starts)
    body = b"".join((*(part.tobytes() for part in parts), _SUM.pack(count)))
    return body + _SUM.pack(zlib.crc32(body, zlib.crc32(key)))


def decode_partition(data: bytes | memoryview, cut: int, *, check: bytes | None = None) -> Partition:
    """Return views of a partition of a table that is cut by *cut* bits. Raises `IndexCorrupted`."""
    size, checksum = _TAIL.unpack_from(data, len(data) - _TAIL.size) if len(data) >= _TAIL.size else (0, 0)
    bits = _directory_bits(size)
    if len(data) != 12 * size + 4 * ((1 << bits) + 1) + _TAIL.size:
        raise damaged("A partition is cut short or missing")
    if check is not None and zlib.crc32(data[:-4], zlib.crc32(check)) != checksum:
        raise damaged("A partition does not match its checksum")
    keys: NDArray[np.uint64] = np.frombuffer(data, np.uint64, size)
    documents = np.frombuffer(data, np.uint32, size, 8 * size)
    starts = np.frombuffer(data, np.uint32, (1 << bits) + 1, 12 * size)
    if not (keys.flags.aligned and starts.flags.aligned):  # a small value inside a page of LMDB
        return decode_partition(bytes(data), cut)
    return Partition(Entries(keys, documents), keys.data, starts.data, 64 - cut - bits, (1 << bits) - 1)


def _directory_bits(size: int) -> int:
    """Return by how many bits the directory of a partition of *size* entries divides the keys."""
    return int(size // PLACE_ENTRIES).bit_length()
