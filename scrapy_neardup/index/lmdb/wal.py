"""The write-ahead log: each group commit appends a block of documents, which stays until a run holds them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .blocks import encode_logged
from .layout import HELD, key_number, number_key, partition_key, read_state, which_held, write_state
from .ledger import current_ledger, write_ledger
from .tombstones import add_removed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Documents

    from .environment import Environment
    from .layout import State

#: The numbers of documents, and the number after the last one, have 32 bits.
MAX_DOCUMENTS = (1 << 32) - 1


def append(environment: Environment, documents: Documents, removals: Sequence[int] = ()) -> State:
    """Commit *documents*, and tombstones for *removals*; returns the state that this leads to.

    *removals* are numbers of documents; those that are not stored are passed over. Raises `IndexUnavailable`
    if the index is full.
    """

    def work(transaction: lmdb.Transaction) -> State:
        state = read_state(environment, transaction)
        put_block(environment, transaction, state.next, documents)
        newer = replace(state, next=state.next + len(documents.urls))
        if removals:
            newer = replace(newer, removals=state.removals + 1)
            ledger = current_ledger(environment, transaction, state)
            # np.unique imports more of NumPy when it is first used, which takes 0.1 s.
            numbers = _stored(environment, transaction, state, np.array(sorted(set(removals)), np.int64))
            new = add_removed(transaction, environment.databases["dead"], numbers)
            write_ledger(environment, transaction, newer, ledger.add(new))
        write_state(environment, transaction, newer)
        return newer

    return environment.write(work)


def _stored(
    environment: Environment, transaction: lmdb.Transaction, state: State, numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return those of *numbers* (int64[n]) that are in the log or in a run of *state*."""
    there = (numbers >= state.flushed) & (numbers < state.next)
    for run in state.runs:
        rows = np.flatnonzero((numbers >= run.start) & (numbers < run.stop))
        if len(rows):
            data = transaction.get(partition_key(run.id, HELD, 0), b"", db=environment.databases["runs"])
            there[rows] = which_held(data, run, numbers[rows])
    return numbers[there]


def put_block(
    environment: Environment, transaction: lmdb.Transaction, first: int, documents: Documents
) -> None:
    """Append a block of *documents*, whose numbers begin with *first*.

    Raises `IndexUnavailable` if the index is full.
    """
    require_room(first, documents)
    if len(documents.urls) and not transaction.put(
        number_key(first), encode_logged(documents), append=True, db=environment.databases["log"]
    ):
        raise IndexCorrupted(
            "The log has documents that its state does not know: run `scrapy-neardup index check`."
        )


def clear(environment: Environment, transaction: lmdb.Transaction, stop: int) -> None:
    """Delete all blocks before the one that begins with document *stop*."""
    with transaction.cursor(environment.databases["log"]) as cursor:
        cursor.first()
        while (key := bytes(cursor.key())) and key_number(key) < stop:
            cursor.delete()


def require_room(first: int, documents: Documents) -> None:
    """Raise `IndexUnavailable` if there are too few numbers left for *documents*."""
    if first + len(documents.urls) > MAX_DOCUMENTS:
        raise IndexUnavailable("The index is full (2**32 - 1 documents): start another one (NEARDUP_DIR).")
