"""Which documents have been removed, as a number that folds and merges must leave as it is.

A document is removed by a mark, and the next run that is made of it leaves it out instead. Were the mark to go
without that, the document would be back, and nothing in the tables would tell.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .faults import decoding
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
    """All removed documents from the first run on."""

    #: Of the state that it belongs to; another one was written by a version that did not know of this.
    removals: int
    count: int
    #: Of hashes of their numbers.
    entries: int

    def add(self, documents: NDArray[np.int64]) -> Ledger:
        """Return it with more *documents* (int64[n])."""
        sums = Sums(self.count, self.entries)
        sums.add(documents.astype(np.uint32), np.zeros(len(documents), np.uint64))
        return replace(self, count=sums.count, entries=sums.entries)


def count_removed(environment: Environment, transaction: lmdb.Transaction, state: State) -> Ledger:
    """Go through the marks and through what each run leaves out. Raises `IndexCorrupted`."""
    ledger = Ledger(state.removals, 0, 0).add(read_removed(transaction, environment.databases["dead"]))
    for run in state.runs:
        data = transaction.get(partition_key(run.id, HELD, 0), b"", db=environment.databases["runs"])
        ledger = ledger.add(np.flatnonzero(~decode_held(data, run)) + run.start)
    return ledger


def read_ledger(environment: Environment, transaction: lmdb.Transaction, state: State) -> Ledger | None:
    """Return what was noted for *state*; None if nothing was. Raises `IndexCorrupted`."""
    data = transaction.get(KEY, db=environment.databases["meta"])
    if data is None:
        return None
    with decoding("The number of removed documents"):
        ledger = Ledger(**json.loads(bytes(data)))
    return ledger if ledger.removals == state.removals else None


def current_ledger(environment: Environment, transaction: lmdb.Transaction, state: State) -> Ledger:
    """Return what was noted for *state*, or is counted now."""
    return read_ledger(environment, transaction, state) or count_removed(environment, transaction, state)


def write_ledger(
    environment: Environment, transaction: lmdb.Transaction, state: State, ledger: Ledger
) -> None:
    """Note it for *state*."""
    noted = replace(ledger, removals=state.removals)
    transaction.put(KEY, json.dumps(asdict(noted)).encode(), db=environment.databases["meta"])
