"""The keys and values of the five LMDB databases of an index, but for blocks and partitions.

``meta``       ``header`` and ``state`` as JSON, ``checksum`` of the header, ``removed`` (see `ledger`).
``log``        The write-ahead log: number of the first document -> a block of documents with their keys. Each
               block is one group commit. Documents leave the log when they are flushed into a run.
``documents``  Number of the first document -> a block of documents of a run, without their keys.
``runs``       Run, table, partition -> a part of a sorted table (see `partition`), never changed. Under the
               table number `HELD`: which documents of its range the run holds.
``dead``       Tombstones: numbers of documents that were removed but may still have entries in a run.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.decoding import decoding

if TYPE_CHECKING:
    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.tables import Family

    from .environment import Environment

#: No table is cut into more than 2 to the power of so many partitions. Part of the format.
MAX_PARTITION_BITS = 16
#: The list of the documents that a run holds is stored under this number in the place of a table's.
HELD = (1 << 16) - 1

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
    held = np.unpackbits(_bits(data, run), count=run.stop - run.start, bitorder="little").view(bool)
    held.setflags(write=False)
    return held


def which_held(data: bytes | memoryview, run: Run, documents: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of *documents* (int64[n], all in its range) *run* holds: bool[n]. Raises `IndexCorrupted`.

    This is quicker than `decode_held` for a few documents.
    """
    rows = documents - run.start
    found: NDArray[np.bool_] = (_bits(data, run)[rows >> 3] >> (rows & 7) & 1).astype(bool)
    return found


def _bits(data: bytes | memoryview, run: Run) -> NDArray[np.uint8]:
    """Return one bit a document of the range of *run*, eight to a byte, the lowest bit first."""
    with decoding(f"The list of documents of run {run.id}"):
        bits = zlib.decompress(data)
        if len(bits) != (run.stop - run.start + 7) // 8:
            raise ValueError(f"{len(bits)} bytes for {run.stop - run.start} documents")
        return np.frombuffer(bits, np.uint8)


def read_state(environment: Environment, transaction: lmdb.Transaction) -> State:
    """Return the state as *transaction* sees it. Raises `IndexCorrupted`."""
    return State.from_json(bytes(transaction.get(b"state", b"", db=environment.databases["meta"])))


def write_state(environment: Environment, transaction: lmdb.Transaction, state: State) -> None:
    """Replace the state within *transaction*."""
    transaction.put(b"state", state.to_json(), db=environment.databases["meta"])
