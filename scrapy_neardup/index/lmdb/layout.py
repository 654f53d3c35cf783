"""How an index lies in LMDB: five databases, their keys and their values.

``meta``       ``header`` and ``state``, as JSON; ``checksum`` of the header; ``removed``, see `ledger`.
``log``        number of the first document -> a block of documents with their keys, each block one group commit.
               Documents leave the log when they are folded into a run.
``documents``  number of the first document -> a block of documents that are in a run, without their keys.
``runs``       run, table, partition -> part of a sorted table, see `partition`. Immutable. Under the number `HELD` of a
               table, which documents of its range the run holds.
``dead``       numbers of documents that were removed but still have entries in a run, see `removed`.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .faults import decoding

if TYPE_CHECKING:
    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.tables import Family

    from .environment import Environment

#: Entries that a partition aims at: 384 KB, so that LMDB finds room for it among freed pages.
PARTITION = 1 << 15
MAX_PARTITION_BITS = 16
#: In the place of the number of a table.
HELD = (1 << 16) - 1

_NUMBER = struct.Struct(">I")
_RUN = struct.Struct(">IHI")


@dataclass(frozen=True, slots=True)
class Run:
    """Sorted tables of the documents from *start* to before *stop*, cut by the leading *bits* of the key.

    *bits* are those of a family with one key a document, see `cut`.
    """

    id: int
    start: int
    stop: int
    #: Documents that it holds: not those removed before it was written.
    documents: int
    bits: int

    def cut(self, family: Family) -> int:
        """Return how many leading bits cut the tables of *family*: no more than the narrowest prefix looked up."""
        return min(self.bits + (family.keys - 1).bit_length(), *family.tables.prefix_bits, MAX_PARTITION_BITS)


@dataclass(frozen=True, slots=True)
class State:
    """What changes with every commit."""

    #: Number of the next document.
    next: int = 0
    #: Documents before this one are in runs; from it on they are in the log alone.
    folded: int = 0
    #: Oldest documents first, without gaps in numbers but for those expired.
    runs: tuple[Run, ...] = ()
    #: Number of the next run.
    next_run: int = 0
    #: Counts changes of ``dead``.
    removals: int = 0

    def to_json(self) -> bytes:
        """Serialise."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> State:
        """Parse; raises `IndexCorrupted`."""
        with decoding("The state of the index"):
            state = cls(**json.loads(data))
            return replace(state, runs=tuple(Run(**run) for run in state.runs))  # type: ignore[arg-type]


def number_key(number: int, *, after: bool = False) -> bytes:
    """Return the key of a document or of the block that begins with it; or the least key *after* it."""
    return _NUMBER.pack(number) + b"\0" * after


def key_number(key: bytes | memoryview) -> int:
    """Undo `number_key`."""
    return int(_NUMBER.unpack(key)[0])


def partition_key(run: int, table: int, partition: int) -> bytes:
    """Return the key of one partition."""
    return _RUN.pack(run, table, partition)


def key_run(key: bytes | memoryview) -> int:
    """Return the run of a partition key."""
    return int(_RUN.unpack(key)[0])


def partition_bits(documents: int) -> int:
    """Return how many leading bits of the key cut a table of so many documents into partitions."""
    return min(MAX_PARTITION_BITS, max(0, documents // PARTITION).bit_length())


def encode_held(held: NDArray[np.bool_]) -> bytes:
    """Serialise which documents a run holds: mostly all."""
    return zlib.compress(np.packbits(held, bitorder="little").tobytes(), 1)


def decode_held(data: bytes | memoryview, run: Run) -> NDArray[np.bool_]:
    """Tell which documents of its range *run* holds: bool[stop - start]. Raises `IndexCorrupted`."""
    held = np.unpackbits(_bits(data, run), count=run.stop - run.start, bitorder="little").view(bool)
    held.setflags(write=False)
    return held


def which_held(data: bytes | memoryview, run: Run, documents: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which of *documents*, all of its range, *run* holds: bool[n]. Raises `IndexCorrupted`."""
    rows = documents - run.start
    found: NDArray[np.bool_] = (_bits(data, run)[rows >> 3] >> (rows & 7) & 1).astype(bool)
    return found


def _bits(data: bytes | memoryview, run: Run) -> NDArray[np.uint8]:
    with decoding(f"The list of documents of run {run.id}"):
        bits = zlib.decompress(data)
        if len(bits) != (run.stop - run.start + 7) // 8:
            raise ValueError(f"{len(bits)} bytes for {run.stop - run.start} documents")
        return np.frombuffer(bits, np.uint8)


def read_state(environment: Environment, transaction: lmdb.Transaction) -> State:
    """Return the state as *transaction* sees it."""
    return State.from_json(bytes(transaction.get(b"state", b"", db=environment.databases["meta"])))


def write_state(environment: Environment, transaction: lmdb.Transaction, state: State) -> None:
    """Replace the state."""
    transaction.put(b"state", state.to_json(), db=environment.databases["meta"])
