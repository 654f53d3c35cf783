"""Making runs: sorted tables of documents, written a little at a time, then switched to in one transaction.

Whatever is written before the state names it does not exist for readers, and is swept away if the process dies
first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.sorted_arrays import Entries, flatten, merge_entries, sort_entries

from .blocks import encode_block
from .faults import decoding
from .layout import (
    HELD,
    Run,
    encode_held,
    key_run,
    number_key,
    partition_bits,
    partition_key,
    read_state,
    write_state,
)
from .ledger import current_ledger, write_ledger
from .partition import encode_partition
from .tombstones import drop_removed, read_removed
from .wal import clear

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Stored
    from scrapy_neardup.index.tables import Family

    from .environment import Environment
    from .layout import State
    from .snapshot import Snapshot

#: Bytes written or freed by one transaction: others wait for it, and LMDB writes the list of what one has freed again
#: with each that uses some of it.
STEP = 1 << 22
#: Documents of one block, which for LMDB has about the size of a partition.
BLOCK = 1 << 11
#: Database, key, value.
Item = tuple[str, bytes, bytes]


def new_run(environment: Environment, start: int, stop: int, documents: int) -> Run:
    """Take the next number of a run."""

    def work(transaction: lmdb.Transaction) -> Run:
        state = read_state(environment, transaction)
        write_state(environment, transaction, replace(state, next_run=state.next_run + 1))
        return Run(state.next_run, start, stop, documents, partition_bits(documents))

    return environment.write(work)


def blocks(first: int, documents: Stored) -> Iterator[Item]:
    """Yield the blocks of *documents*, whose numbers begin with *first*."""
    for start in range(0, len(documents.urls), BLOCK):
        part = documents.take(slice(start, start + BLOCK))
        yield "documents", number_key(first + start), encode_block(part)


def partitions(header: Header, run: Run, held: NDArray[np.bool_], keys: NDArray[np.uint64]) -> Iterator[Item]:
    """Yield the partitions of *run*, which files those of its documents that are *held* under *keys*."""
    place = 0
    numbers = (np.flatnonzero(held) + run.start).astype(np.uint32)
    if not held.all():
        keys = keys[:, held]
    for family, rows in zip(header.families, header.rows, strict=True):
        base, document = flatten(family, keys[rows], numbers)
        for permuted in family.tables.keys(base):
            for partition, part in split(sort_entries(permuted, document), run.cut(family)):
                yield "runs", partition_key(run.id, place, partition), encode_partition(part, run.cut(family))
            place += 1
    yield "runs", partition_key(run.id, HELD, 0), encode_held(held)


def merge_partitions(
    reader: Snapshot, runs: Sequence[Run], merged: Run, held: NDArray[np.bool_]
) -> Iterator[Item]:
    """Yield the partitions of *merged*, which holds the documents *held* of *runs*."""
    header = reader.header
    for family, first in zip(header.families, header.first_table, strict=False):
        cut = merged.cut(family)
        for table in range(first, first + len(family.tables)):
            for partition in range(1 << cut):
                parts = [_slice(reader, run, family, table, partition, cut) for run in runs]
                entries = _held_entries(merge_entries(parts), merged, held)
                yield "runs", partition_key(merged.id, table, partition), encode_partition(entries, cut)
    yield "runs", partition_key(merged.id, HELD, 0), encode_held(held)


def write(environment: Environment, items: Iterable[Item]) -> Iterator[None]:
    """Put *items* in transactions of about `STEP` bytes."""
    batch: list[Item] = []
    size = 0

    def work(transaction: lmdb.Transaction) -> None:
        put(environment, transaction, batch)

    for item in items:
        batch.append(item)
        size += len(item[2])
        if size >= STEP:
            environment.write(work)
            batch, size = [], 0
            yield
    environment.write(work)
    yield


def put(environment: Environment, transaction: lmdb.Transaction, items: Iterable[Item]) -> None:
    """Put *items*."""
    for database, key, value in items:
        transaction.put(key, value, db=environment.databases[database])


def replace_runs(
    environment: Environment,
    transaction: lmdb.Transaction,
    run: Run,
    held: NDArray[np.bool_],
    replaced: Sequence[Run],
    folded: int | None = None,
) -> State:
    """Let *run*, whose documents are those *held*, take the place of those *replaced*, or of the log before *folded*.

    Of the documents that *transaction* sees marked as removed, those that the run lacks need no mark any more; those
    that were marked while it was being made keep theirs. Returns the state that this leads to.
    """
    state = read_state(environment, transaction)
    ledger = current_ledger(environment, transaction, state)
    old = {other.id for other in replaced}
    runs = sorted(
        (*(other for other in state.runs if other.id not in old), run), key=lambda other: other.start
    )
    dead = read_removed(transaction, environment.databases["dead"])
    dead = dead[(dead >= run.start) & (dead < run.stop)]
    drop_removed(transaction, environment.databases["dead"], dead[~held[dead - run.start]])
    state = replace(state, runs=tuple(runs), removals=state.removals + 1)
    if folded is not None:
        state = replace(state, folded=folded)
        clear(environment, transaction, folded)
    write_state(environment, transaction, state)
    write_ledger(environment, transaction, state, ledger)
    return state


def sweep(environment: Environment, reader: Snapshot) -> Iterator[None]:
    """Delete what the state does not name: partitions of runs that were replaced or never finished, and blocks."""
    state = reader.state
    live = {run.id for run in state.runs}
    first = number_key(state.runs[0].start if state.runs else state.folded)
    folded = number_key(state.folded)

    def orphans(transaction: lmdb.Transaction) -> Iterator[lmdb.Cursor]:
        """Stop a cursor at each, to be deleted before going on."""
        with transaction.cursor(environment.databases["runs"]) as cursor:
            yield from _orphaned_partitions(cursor, live)
        with transaction.cursor(environment.databases["documents"]) as cursor:
            yield from _orphaned_blocks(cursor, first, folded)

    def work(transaction: lmdb.Transaction) -> bool:
        """Delete some; returns whether there may be more."""
        freed = 0
        for cursor in orphans(transaction):
            freed += len(cursor.value())
            cursor.delete()
            if freed > STEP:
                return True
        return False

    with environment.read() as transaction:
        found = next(orphans(transaction), None) is not None
    while found:
        found = environment.write(work)
        yield


def _orphaned_partitions(cursor: lmdb.Cursor, live: set[int]) -> Iterator[lmdb.Cursor]:
    """Stop at each partition of a run that is not *live*."""
    cursor.first()
    while key := bytes(cursor.key()):  # empty at the end, also after deleting the last one
        with decoding("The key of a partition"):
            run = key_run(key)
        if run in live:
            cursor.set_range(partition_key(run + 1, 0, 0))
        else:
            yield cursor


def _orphaned_blocks(cursor: lmdb.Cursor, first: bytes, folded: bytes) -> Iterator[lmdb.Cursor]:
    """Stop at each block of documents before the first run, or after the last one."""
    cursor.first()
    while (key := bytes(cursor.key())) and key < first:
        yield cursor
    while cursor.set_range(folded):
        yield cursor


def split(entries: Entries, bits: int) -> Iterator[tuple[int, Entries]]:
    """Cut a sorted table by the leading *bits* of its keys."""
    if not bits:
        yield 0, entries
        return
    borders = np.arange(1, 1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    cuts = [0, *np.searchsorted(entries.keys, borders).tolist(), len(entries.keys)]
    for partition, (start, stop) in enumerate(pairwise(cuts)):
        yield partition, Entries(entries.keys[start:stop], entries.documents[start:stop])


def _slice(reader: Snapshot, run: Run, family: Family, table: int, partition: int, bits: int) -> Entries:
    """Return what *run* has in a partition of a table that is cut by *bits*, whatever it is cut by itself."""
    # Removals can make a merged run smaller, and so its partitions wider, than its parts.
    cut = run.cut(family)
    more = cut - bits
    if more < 0:
        low = partition << (64 - bits)
        entries = reader.partition(run, cut, table, partition >> -more, check=True).entries
        return entries.between(low, low + (1 << (64 - bits)) - 1)
    return merge_entries(
        [
            reader.partition(run, cut, table, (partition << more) + part, check=True).entries
            for part in range(1 << more)
        ]
    )


def _held_entries(entries: Entries, run: Run, held: NDArray[np.bool_]) -> Entries:
    """Return the *entries* of documents that *run* is to hold."""
    with decoding("A partition"):
        rows = entries.documents.astype(np.int64) - run.start
        if len(rows) and rows.min() < 0:
            raise ValueError("it holds documents of other runs")
        alive = held[rows]
    return entries if alive.all() else Entries(entries.keys[alive], entries.documents[alive])
