"""A count and a checksum of all removed documents, which flushes and merges must leave as they are.

A removed document has a tombstone, until a new run leaves it out. If a tombstone were lost before, the
document would be back, and nothing in the tables would show it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.decoding import decoding

from .layout import HELD, decode_held, partition_key
from .sums import Sums
from .tombstones import read_removed

if TYPE_CHECKING:
    import lmdb
    from numpy.typing import NDArray

    from .environment import Environment
    from .layout import State

KEY = b"removed"


@dataclass(frozen=True, slots=True)
class Ledger:
    """How many of the documents from the first run on are removed, and a checksum of which ones."""

    #: The `State.removals` that it belongs to. If the state has another one, it was written by a version that
    #: keeps no ledger.
    removals: int
    count: int
    #: The sum of a hash of each number, as in `Sums`.
    entries: int

    def add(self, documents: NDArray[np.int64]) -> Ledger:
        """Return a ledger that has *documents* (int64[n]), too."""
        sums = Sums(self.count, self.entries)
        sums.add(documents.astype(np.uint32), np.zeros(len(documents), np.uint64))
        return replace(self, count=sums.count, entries=sums.entries)


def count_removed(environment: Environment, transaction: lmdb.Transaction, state: State) -> Ledger:
    """Make the ledger of *state* from the tombstones and from what each run leaves out.

    Raises `IndexCorrupted`.
    """
    ledger = Ledger(state.removals, 0, 0).add(read_removed(transaction, environment.databases["dead"]))
    for run in state.runs:
        data = transaction.get(partition_key(run.id, HELD, 0), b"", db=environment.databases["runs"])
        ledger = ledger.add(np.flatnonzero(~decode_held(data, run)) + run.start)
    return ledger


def read_ledger(environment: Environment, transaction: lmdb.Transaction, state: State) -> Ledger | None:
    """Return the ledger that is stored for *state*, None if there is none. Raises `IndexCorrupted`."""
    data = transaction.get(KEY, db=environment.databases["meta"])
    if data is None:
        return None
    with decoding("The number of removed documents"):
        ledger = Ledger(**json.loads(bytes(data)))
    return ledger if ledger.removals == state.removals else None


def current_ledger(environment: Environment, transaction: lmdb.Transaction, state: State) -> Ledger:
    """Return the ledger that is stored for *state*, or else make it."""
    return read_ledger(environment, transaction, state) or count_removed(environment, transaction, state)


def write_ledger(
    environment: Environment, transaction: lmdb.Transaction, state: State, ledger: Ledger
) -> None:
    """Store *ledger* for *state*."""
    noted = replace(ledger, removals=state.removals)
    transaction.put(KEY, json.dumps(asdict(noted)).encode(), db=environment.databases["meta"])
