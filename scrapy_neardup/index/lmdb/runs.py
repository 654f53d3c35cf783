"""Writing: commits append blocks to the log; runs are written a little at a time, then named by the state.

A block stays in the log until a run holds its documents. Nothing of a run exists for readers before the state
names it. If the process dies before, it is swept away later.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.header import damaged, decoding
from scrapy_neardup.index.search import Entries, flatten, merge_entries, sort_entries

from .layout import (
    HELD,
    MAX_DOCUMENTS,
    Run,
    change_dead,
    decode_held,
    encode_block,
    encode_held,
    encode_logged,
    encode_partition,
    key_number,
    key_run,
    number_key,
    partition_bits,
    partition_key,
    read_dead,
    read_state,
    split,
    write_state,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Documents, Stored
    from scrapy_neardup.index.tables import Family

    from .environment import Environment
    from .layout import State
    from .snapshot import Snapshot

#: The name of a database, a key, a value.
Item = tuple[str, bytes, bytes]


def append(environment: Environment, documents: Documents, removals: Sequence[int] = ()) -> State:
    """Commit *documents*, and tombstones for *removals*; returns the state that this leads to.

    *removals* are numbers of documents; those that are not stored are passed over. Raises `IndexUnavailable`
    if the index is full.
    """

    def work(transaction: lmdb.Transaction) -> State:
        state = read_state(environment, transaction)
        require_room(state.next, documents)
        key = number_key(state.next)
        if len(documents.urls) and not transaction.put(
            key, encode_logged(documents, key), append=True, db=environment.databases["log"]
        ):
            raise damaged("The log has documents that its state does not know")
        newer = replace(state, next=state.next + len(documents.urls))
        if removals:
            # np.unique imports more of NumPy when it is first used, which takes 0.1 s.
            numbers = _stored(environment, transaction, state, np.array(sorted(set(removals)), np.int64))
            more = change_dead(transaction, environment.databases["dead"], numbers, add=True)
            newer = replace(newer, removals=state.removals + 1, dead=state.dead + more)
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
            there[rows] = decode_held(data, run)[numbers[rows] - run.start]
    return numbers[there]


def require_room(first: int, documents: Documents) -> None:
    """Raise `IndexUnavailable` if there are too few numbers left for *documents*."""
    if first + len(documents.urls) > MAX_DOCUMENTS:
        raise IndexUnavailable("The index is full (2**32 - 1 documents): start another one (NEARDUP_DIR).")


def new_run(environment: Environment, start: int, stop: int, documents: int) -> Run:
    """Take the next number for a run of so many *documents* from *start* to before *stop*; commits."""

    def work(transaction: lmdb.Transaction) -> Run:
        state = read_state(environment, transaction)
        write_state(environment, transaction, replace(state, next_run=state.next_run + 1))
        return Run(state.next_run, start, stop, documents, bits)

    bits = partition_bits(documents, environment.tuning.partition_entries)
    return environment.write(work)


def blocks(first: int, documents: Stored, size: int) -> Iterator[Item]:
    """Yield blocks of *size* of the *documents*, whose numbers begin with *first*."""
    for start in range(0, len(documents.urls), size):
        key = number_key(first + start)
        yield "documents", key, encode_block(documents.take(slice(start, start + size)), key)


def partitions(header: Header, run: Run, held: NDArray[np.bool_], keys: NDArray[np.uint64]) -> Iterator[Item]:
    """Yield the partitions of a new *run*, and the list of the documents that it holds.

    *held* (bool[n]) says which of its documents get into the tables, *keys* (uint64[keys, n]) under which
    keys.
    """
    numbers = (np.flatnonzero(held) + run.start).astype(np.uint32)
    keys = keys[:, held]
    for family, rows, first in zip(header.families, header.rows, header.first_table, strict=False):
        base, document = flatten(family, keys[rows], numbers)
        cut = run.cut(family)
        for table, permuted in enumerate(family.tables.keys(base), first):
            for partition, part in split(sort_entries(permuted, document), cut):
                key = partition_key(run.id, table, partition)
                yield "runs", key, encode_partition(part, cut, key)
    yield "runs", partition_key(run.id, HELD, 0), encode_held(held)


def merge_partitions(
    reader: Snapshot, runs: Sequence[Run], merged: Run, held: NDArray[np.bool_]
) -> Iterator[Item]:
    """Yield the partitions of the run *merged*, made of those of *runs*, and the list of its documents.

    *held* (bool[n]) says which documents of its range those are.
    """
    header = reader.header
    for family, first in zip(header.families, header.first_table, strict=False):
        cut = merged.cut(family)
        for table in range(first, first + len(family.tables)):
            for partition in range(1 << cut):
                entries = merge_entries([_slice(reader, run, family, table, partition, cut) for run in runs])
                with decoding("A partition"):
                    alive = held[entries.documents.astype(np.int64) - merged.start]
                entries = Entries(entries.keys[alive], entries.documents[alive])
                key = partition_key(merged.id, table, partition)
                yield "runs", key, encode_partition(entries, cut, key)
    yield "runs", partition_key(merged.id, HELD, 0), encode_held(held)


def _slice(reader: Snapshot, run: Run, family: Family, table: int, partition: int, bits: int) -> Entries:
    """Return the entries that *run* has in the range of a *partition* of a table cut by *bits*.

    The run itself may be cut by more bits or by fewer: a merged run that leaves out removed documents can be
    smaller than one of its parts.
    """
    cut = run.cut(family)
    more = cut - bits
    if more < 0:
        low = partition << (64 - bits)
        entries = reader.partition(run, cut, table, partition >> -more, check=True).entries
        return entries.between(low, low + (1 << (64 - bits)) - 1)
    numbers = range(partition << more, (partition + 1) << more)
    return merge_entries([reader.partition(run, cut, table, each, check=True).entries for each in numbers])


def write(environment: Environment, items: Iterable[Item]) -> Iterator[None]:
    """Write *items* in transactions of about `Tuning.transaction_bytes`, yielding after each."""
    batch: list[Item] = []
    size = 0

    def work(transaction: lmdb.Transaction) -> None:
        put(environment, transaction, batch)

    for item in items:
        batch.append(item)
        size += len(item[2])
        if size >= environment.tuning.transaction_bytes:
            environment.write(work)
            batch, size = [], 0
            yield
    environment.write(work)
    yield


def put(environment: Environment, transaction: lmdb.Transaction, items: Iterable[Item]) -> None:
    """Write *items* within *transaction*."""
    for database, key, value in items:
        transaction.put(key, value, db=environment.databases[database])


def replace_runs(
    environment: Environment,
    transaction: lmdb.Transaction,
    replaced: Sequence[Run],
    run: Run | None,
    held: NDArray[np.bool_],
) -> State:
    """Name *run* in the state, in the place of the runs *replaced*, or of the log if there are none of these.

    *held* (bool[n]) says which documents of its range the run holds. A document that it does not hold needs
    no tombstone any more; one that got its tombstone while the run was being written keeps it. Without a new
    run, the replaced ones are dropped with all their documents. Returns the new state.
    """
    state = read_state(environment, transaction)
    start, stop = (run or replaced[0]).start, (run or replaced[-1]).stop
    old = {each.id for each in replaced}
    runs = [*(each for each in state.runs if each.id not in old), *([run] if run else [])]
    dead = read_dead(transaction, environment.databases["dead"], state)
    dead = dead[(dead >= start) & (dead < stop)]
    fewer = change_dead(transaction, environment.databases["dead"], dead[~held[dead - start]], add=False)
    state = replace(
        state,
        flushed=state.flushed if replaced else stop,
        runs=tuple(sorted(runs, key=lambda each: each.start)),
        removals=state.removals + 1,
        dead=state.dead + fewer,
    )
    if not replaced:
        with transaction.cursor(environment.databases["log"]) as cursor:
            cursor.first()
            while (key := bytes(cursor.key())) and key_number(key) < stop:
                cursor.delete()
    write_state(environment, transaction, state)
    return state


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
            cursor.first()
            while key := bytes(cursor.key()):  # empty at the end, also after deleting the last one
                with decoding("The key of a partition"):
                    run = key_run(key)
                if run in live:
                    cursor.set_range(partition_key(run + 1, 0, 0))
                else:
                    yield cursor
        with transaction.cursor(environment.databases["documents"]) as cursor:
            cursor.first()
            while (key := bytes(cursor.key())) and key < first:
                yield cursor
            while cursor.set_range(flushed):
                yield cursor

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
