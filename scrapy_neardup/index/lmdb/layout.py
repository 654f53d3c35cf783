"""The keys and values of the five LMDB databases of an index, but for blocks and partitions.

``meta``       ``header`` and ``state`` as JSON, ``checksum`` of the header, ``removed`` (`count_removed`).
``log``        The write-ahead log: number of the first document -> a block of documents with their keys. Each
               block is one group commit. Documents leave the log when they are flushed into a run.
``documents``  Number of the first document -> a block of documents of a run, without their keys.
``runs``       Run, table, partition -> a part of a sorted table, never changed. Under the table number
               `HELD`: which documents of its range the run holds.
``dead``       Tombstones: numbers of documents that were removed but may still have entries in a run. They
               are sorted arrays of the low bits, one for each value of the high bits: so a million of them
               are read in a few milliseconds.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.decoding import decoding
from scrapy_neardup.index.header import Header

from .directory import read_sidecar, write_sidecar
from .faults import DATA, corrupted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.tables import Family

    from .environment import Environment


#: The numbers of documents, and the number after the last one, have 32 bits.
MAX_DOCUMENTS = (1 << 32) - 1
#: No table is cut into more than 2 to the power of so many partitions. Part of the format.
MAX_PARTITION_BITS = 16
#: The list of the documents that a run holds is stored under this number in the place of a table's.
HELD = (1 << 16) - 1

#: The key of what `write_ledger` stores, in ``meta``.
LEDGER = b"removed"

_NUMBER = struct.Struct(">I")
_RUN = struct.Struct(">IHI")
#: The attribute `State.flushed` has another name on disk.
_STORED_NAMES = {"flushed": "folded"}
_ATTRIBUTES = {stored: name for name, stored in _STORED_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Run:
    """A run: immutable sorted tables of the documents from *start* to before *stop*."""

    id: int
    start: int
    stop: int
    #: How many documents it holds. Those that were removed before it was written are left out.
    documents: int
    #: By how many leading bits of the key a table of a family with one key a document is cut into partitions.
    bits: int

    def cut(self, family: Family) -> int:
        """Return how many leading bits of the key cut the tables of *family* into partitions.

        These are more for a family of several keys, whose tables are longer, but never more than the
        narrowest prefix that is looked up: so each probe lies in one partition.
        """
        return min(self.bits + (family.keys - 1).bit_length(), *family.tables.prefix_bits, MAX_PARTITION_BITS)


@dataclass(frozen=True, slots=True)
class State:
    """The part of an index that every commit replaces as a whole."""

    #: The number that the next document gets.
    next: int = 0
    #: Documents before this one are in runs. Those from it on are in the log alone.
    flushed: int = 0
    #: The run of the oldest documents comes first. Each begins where the one before it ends.
    runs: tuple[Run, ...] = ()
    #: The number that the next run gets.
    next_run: int = 0
    #: How often the tombstones have changed.
    removals: int = 0

    def to_json(self) -> bytes:
        """Serialise."""
        return json.dumps(
            {_STORED_NAMES.get(name, name): value for name, value in asdict(self).items()}
        ).encode()

    @classmethod
    def from_json(cls, data: bytes) -> State:
        """Parse what `to_json` has made. Raises `IndexCorrupted`."""
        with decoding("The state of the index"):
            stored = {**json.loads(data)}  # raises TypeError for anything but an object
            state = cls(**{_ATTRIBUTES.get(name, name): value for name, value in stored.items()})
            return replace(state, runs=tuple(Run(**run) for run in state.runs))  # type: ignore[arg-type]


def number_key(number: int, *, after: bool = False) -> bytes:
    """Return the key of the block that begins with document *number*; with *after*, the next possible key."""
    return _NUMBER.pack(number) + b"\0" * after


def key_number(key: bytes | memoryview) -> int:
    """Return the number of the document that `number_key` has made *key* of."""
    return int(_NUMBER.unpack(key)[0])


def partition_key(run: int, table: int, partition: int) -> bytes:
    """Return the key of one partition of a table of a run."""
    return _RUN.pack(run, table, partition)


def key_run(key: bytes | memoryview) -> int:
    """Return the number of the run that the *key* of a partition begins with."""
    return int(_RUN.unpack(key)[0])


def partition_bits(documents: int, entries: int) -> int:
    """Return by how many bits to cut a table of so many *documents* into partitions of about *entries*."""
    return min(MAX_PARTITION_BITS, max(0, documents // entries).bit_length())


def encode_held(held: NDArray[np.bool_]) -> bytes:
    """Serialise which documents of its range a run holds (bool[n]): compressed, since it mostly holds all."""
    return zlib.compress(np.packbits(held, bitorder="little").tobytes(), 1)


def decode_held(data: bytes | memoryview, run: Run) -> NDArray[np.bool_]:
    """Return which documents of its range *run* holds: bool[stop - start]. Raises `IndexCorrupted`."""
    count = run.stop - run.start
    with decoding(f"The list of documents of run {run.id}"):
        bits = np.frombuffer(zlib.decompress(data), np.uint8)
        if len(bits) != (count + 7) // 8:
            raise ValueError(f"{len(bits)} bytes for {count} documents")
    held = np.unpackbits(bits, count=count, bitorder="little").view(bool)
    held.setflags(write=False)
    return held


def read_state(environment: Environment, transaction: lmdb.Transaction) -> State:
    """Return the state as *transaction* sees it. Raises `IndexCorrupted`."""
    return State.from_json(bytes(transaction.get(b"state", b"", db=environment.databases["meta"])))


def write_state(environment: Environment, transaction: lmdb.Transaction, state: State) -> None:
    """Replace the state within *transaction*."""
    transaction.put(b"state", state.to_json(), db=environment.databases["meta"])


@dataclass(frozen=True, slots=True)
class Sums:
    """A count and a checksum of entries, whatever their order. Two sets share them in one case of 2**64."""

    count: int = 0
    #: The sum of a hash of the document and the key of each entry, modulo 2**64.
    entries: int = 0

    def add(self, documents: NDArray[np.integer], keys: NDArray[np.uint64] | None = None) -> Sums:
        """Return the sums with more entries: *documents* int[n], *keys* uint64[n] or 0 for all."""
        hashed = _mix(documents.astype(np.uint64))
        hashed = _mix(hashed if keys is None else hashed ^ keys)
        return Sums(self.count + len(documents), (self.entries + int(hashed.sum())) % (1 << 64))


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each value (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


#: So many low bits of a number are in the value, the others are its key. Part of the format.
LOW_BITS = 14


def read_removed(transaction: lmdb.Transaction, database: Any) -> NDArray[np.int64]:
    """Return all numbers, ascending: int64[n]. Raises `IndexCorrupted`."""
    parts = [np.empty(0, np.int64)]
    with transaction.cursor(database) as cursor:
        for key, value in cursor.iternext():
            with decoding("The list of removed documents"):
                low = np.frombuffer(value, "<u2").astype(np.int64)
                parts.append(low + (int.from_bytes(key, "big") << LOW_BITS))
    return np.concatenate(parts)


def add_removed(
    transaction: lmdb.Transaction, database: Any, numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add *numbers* (int64[n], ascending); returns those that were not there before."""
    parts = [np.empty(0, np.int64)]
    for key, low in _split(numbers):
        with decoding("The list of removed documents"):
            old = np.frombuffer(transaction.get(key, b"", db=database), "<u2")
        parts.append(np.setdiff1d(low, old).astype(np.int64) + (int.from_bytes(key, "big") << LOW_BITS))
        transaction.put(key, np.union1d(old, low).tobytes(), db=database)
    return np.concatenate(parts)


def drop_removed(transaction: lmdb.Transaction, database: Any, numbers: NDArray[np.int64]) -> None:
    """Delete *numbers* (int64[n], ascending)."""
    for key, low in _split(numbers):
        old = np.frombuffer(transaction.get(key, b"", db=database), "<u2")
        new = np.setdiff1d(old, low)
        if len(new):
            transaction.put(key, new.tobytes(), db=database)
        else:
            transaction.delete(key, db=database)


def _split(numbers: NDArray[np.int64]) -> Iterator[tuple[bytes, NDArray[np.uint16]]]:
    """Yield the key and the low bits of *numbers*, for each value of the high bits."""
    high = numbers >> LOW_BITS
    start = np.flatnonzero(np.append(True, high[1:] != high[:-1])[: len(high)])
    high = high[start]
    low = (numbers & ((1 << LOW_BITS) - 1)).astype("<u2")
    for key, (begin, end) in zip(high.tolist(), pairwise([*start.tolist(), len(low)]), strict=True):
        yield key.to_bytes(3, "big"), low[begin:end]


def count_removed(environment: Environment, transaction: lmdb.Transaction, state: State) -> Sums:
    """Sum up the documents of *state* that have a tombstone or that a run leaves out.

    Flushes and merges must leave these sums as they are. If a tombstone were lost, its document would be
    back, and nothing in the tables would show it. Raises `IndexCorrupted`.
    """
    sums = Sums().add(read_removed(transaction, environment.databases["dead"]))
    for run in state.runs:
        data = transaction.get(partition_key(run.id, HELD, 0), b"", db=environment.databases["runs"])
        sums = sums.add(np.flatnonzero(~decode_held(data, run)) + run.start)
    return sums


def read_ledger(environment: Environment, transaction: lmdb.Transaction, state: State) -> Sums | None:
    """Return the sums of `count_removed` that were stored with *state*, None if there are none.

    So it is where the last writer was of a version that did not store them. Raises `IndexCorrupted`.
    """
    data = transaction.get(LEDGER, db=environment.databases["meta"])
    if data is None:
        return None
    with decoding("The number of removed documents"):
        stored = json.loads(bytes(data))
        removals = stored.pop("removals")
        sums = Sums(**stored)
    return sums if removals == state.removals else None


def current_ledger(environment: Environment, transaction: lmdb.Transaction, state: State) -> Sums:
    """Return what `read_ledger` does, or else what `count_removed` does."""
    return read_ledger(environment, transaction, state) or count_removed(environment, transaction, state)


def write_ledger(environment: Environment, transaction: lmdb.Transaction, state: State, sums: Sums) -> None:
    """Store *sums* with *state*."""
    stored = {"removals": state.removals, **asdict(sums)}
    transaction.put(LEDGER, json.dumps(stored).encode(), db=environment.databases["meta"])


def open_header(environment: Environment, wanted: Header | None, ignore: Collection[str]) -> Header:
    """Return the header of the index. A new index gets the header *wanted* and an empty state first.

    Raises `IndexMismatch` if the header differs from *wanted* in more than the parameters named in *ignore*,
    `IndexCorrupted` if it cannot be read, `IndexUnavailable` if there is none and *wanted* is None.
    """

    def work(transaction: lmdb.Transaction) -> Header:
        stored = read_header(environment, transaction)
        if stored is not None:
            return stored
        if known is not None:
            raise corrupted(environment.path / DATA, f"it is empty and should hold {known} documents")
        if wanted is None:
            raise IndexUnavailable(
                f"There is no index in {environment.path}: name the directory of an index."
            )
        data = wanted.to_json()
        transaction.put(b"header", data, db=environment.databases["meta"])
        transaction.put(b"checksum", b"%08x" % zlib.crc32(data), db=environment.databases["meta"])
        write_state(environment, transaction, State())
        return wanted

    known = None if environment.scratch else read_sidecar(environment.path)
    with environment.read() as transaction:
        header = read_header(environment, transaction)
    if header is None:
        header = environment.write(work)
        if not environment.scratch:
            # Without this a power cut may leave the note beside a file without a header, as damage does.
            environment.sync()
            write_sidecar(environment.path, header.uuid, 0)
    if wanted is not None:
        header.require(wanted, str(environment.path), ignore)
    return header


def read_header(environment: Environment, transaction: lmdb.Transaction) -> Header | None:
    """Return the header, None if there is none yet.

    Raises `IndexCorrupted`, or `IndexMismatch` for another format.
    """
    data = transaction.get(b"header", db=environment.databases["meta"])
    if data is None:
        return None
    header = Header.from_json(bytes(data))
    # An index that was made by a version without checksums of headers has none.
    checksum = transaction.get(b"checksum", db=environment.databases["meta"])
    if checksum is not None and bytes(checksum) != b"%08x" % zlib.crc32(data):
        raise corrupted(environment.path / DATA, "its header does not match its checksum")
    return header
