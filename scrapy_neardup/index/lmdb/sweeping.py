"""Deleting what no state names: partitions and blocks of runs replaced, dropped or never finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.index.decoding import decoding

from .layout import key_run, number_key, partition_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lmdb

    from .environment import Environment
    from .snapshot import Snapshot


def sweep(environment: Environment, reader: Snapshot) -> Iterator[None]:
    """Delete partitions and blocks that the state does not name, as of replaced and unfinished runs.

    Yields now and then.
    """
    state = reader.state
    live = {run.id for run in state.runs}
    first = number_key(state.runs[0].start if state.runs else state.flushed)
    flushed = number_key(state.flushed)

    def orphans(transaction: lmdb.Transaction) -> Iterator[lmdb.Cursor]:
        """Yield a cursor at each value to delete. The caller may delete it before going on."""
        with transaction.cursor(environment.databases["runs"]) as cursor:
            yield from _orphaned_partitions(cursor, live)
        with transaction.cursor(environment.databases["documents"]) as cursor:
            yield from _orphaned_blocks(cursor, first, flushed)

    def work(transaction: lmdb.Transaction) -> bool:
        """Delete about `Tuning.transaction_bytes`; returns whether there may be more."""
        freed = 0
        for cursor in orphans(transaction):
            freed += len(cursor.value())
            cursor.delete()
            if freed > environment.tuning.transaction_bytes:
                return True
        return False

    with environment.read() as transaction:
        found = next(orphans(transaction), None) is not None
    while found:
        found = environment.write(work)
        yield


def _orphaned_partitions(cursor: lmdb.Cursor, live: set[int]) -> Iterator[lmdb.Cursor]:
    """Yield *cursor* at each partition of a run whose number is not in *live*."""
    cursor.first()
    while key := bytes(cursor.key()):  # empty at the end, also after deleting the last one
        with decoding("The key of a partition"):
            run = key_run(key)
        if run in live:
            cursor.set_range(partition_key(run + 1, 0, 0))
        else:
            yield cursor


def _orphaned_blocks(cursor: lmdb.Cursor, first: bytes, flushed: bytes) -> Iterator[lmdb.Cursor]:
    """Yield *cursor* at each block before the key *first*, and at each from the key *flushed* on."""
    cursor.first()
    while (key := bytes(cursor.key())) and key < first:
        yield cursor
    while cursor.set_range(flushed):
        yield cursor
