"""Making runs: sorted tables of documents, written a little at a time, then switched to in one transaction.

Whatever is written before the state names it does not exist for readers, and is swept away if the process dies
first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .removed import drop_removed
from .sorted import Entries, flatten, merge_entries, sort_entries
from .storage import (
    HELD,
    Run,
    encode_entries,
    encode_held,
    key_run,
    partition_bits,
    partition_key,
    read_state,
    write_state,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.tables import Family

    from .environment import Environment
    from .header import Header
    from .snapshot import Snapshot
    from .storage import State

#: Bytes written by one transaction: others wait for it.
STEP = 1 << 22


def new_run(environment: Environment, start: int, stop: int, documents: int) -> Run:
    """Take the next number of a run."""

    def work(transaction: lmdb.Transaction) -> Run:
        state = read_state(environment, transaction)
        write_state(environment, transaction, replace(state, next_run=state.next_run + 1))
        return Run(state.next_run, start, stop, documents, partition_bits(documents))

    return environment.write(work)


def partitions(
    header: Header, run: Run, numbers: NDArray[np.int64], keys: NDArray[np.uint64]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the partitions of *run*, which holds the documents *numbers* filed under *keys*."""
    place = 0
    for family, rows in zip(header.families, header.rows, strict=True):
        base, document = flatten(family, keys[rows], numbers.astype(np.uint32))
        for permuted in family.tables.keys(base):
            for partition, part in split(sort_entries(permuted, document), run.cut(family)):
                yield partition_key(run.id, place, partition), encode_entries(part)
            place += 1
    held = np.zeros(run.stop - run.start, bool)
    held[numbers - run.start] = True
    yield partition_key(run.id, HELD, 0), encode_held(held)


def merge_partitions(
    reader: Snapshot, runs: Sequence[Run], merged: Run, held: NDArray[np.bool_]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the partitions of *merged*, which holds the documents *held* of *runs*."""
    header = reader.header
    for family, first in zip(header.families, header.first_table, strict=False):
        cut = merged.cut(family)
        for table in range(first, first + len(family.tables)):
            for partition in range(1 << cut):
                parts = [_slice(reader, run, family, table, partition, cut) for run in runs]
                entries = merge_entries(parts, reader.dead)
                yield partition_key(merged.id, table, partition), encode_entries(entries)
    yield partition_key(merged.id, HELD, 0), encode_held(held)


def write(environment: Environment, partitions: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
    """Put *partitions* in transactions of about `STEP` bytes."""
    batch: list[tuple[bytes, bytes]] = []
    size = 0

    def work(transaction: lmdb.Transaction) -> None:
        for key, value in batch:
            transaction.put(key, value, db=environment.databases["runs"])

    for item in partitions:
        batch.append(item)
        size += len(item[1])
        if size >= STEP:
            environment.write(work)
            batch, size = [], 0
            yield
    environment.write(work)
    yield


def switch(
    environment: Environment,
    run: Run,
    replaced: Sequence[Run],
    dead: NDArray[np.int64],
    folded: int | None = None,
) -> None:
    environment.write(lambda transaction: replace_runs(environment, transaction, run, replaced, dead, folded))


def replace_runs(
    environment: Environment,
    transaction: lmdb.Transaction,
    run: Run,
    replaced: Sequence[Run],
    dead: NDArray[np.int64],
    folded: int | None,
) -> State:
    """Let *run* take the place of those *replaced*; the *dead* that it lacks need not be remembered any more."""
    state = read_state(environment, transaction)
    old = {other.id for other in replaced}
    runs = sorted(
        (*(other for other in state.runs if other.id not in old), run), key=lambda other: other.start
    )
    gone = dead[(dead >= run.start) & (dead < run.stop)]
    drop_removed(transaction, environment.databases["dead"], gone)
    state = replace(state, runs=tuple(runs), removals=state.removals + 1)
    if folded is not None:
        state = replace(state, folded=folded)
    write_state(environment, transaction, state)
    return state


def sweep(environment: Environment, reader: Snapshot) -> Iterator[None]:
    """Delete the partitions of runs that the state does not name."""
    live = {run.id for run in reader.state.runs}

    def work(transaction: lmdb.Transaction) -> bool:
        freed = 0
        with transaction.cursor(environment.databases["runs"]) as cursor:
            cursor.first()
            while key := bytes(cursor.key()):  # empty at the end, also after deleting the last one
                run = key_run(key)
                if run in live:
                    cursor.set_range(partition_key(run + 1, 0, 0))
                    continue
                freed += len(cursor.value())
                cursor.delete()
                if freed > 16 * STEP:
                    return True
        return False

    if _has_orphans(environment, live):
        while environment.write(work):
            yield


def _has_orphans(environment: Environment, live: set[int]) -> bool:
    with environment.read() as transaction, transaction.cursor(environment.databases["runs"]) as cursor:
        found = cursor.first()
        while found:
            run = key_run(cursor.key())
            if run not in live:
                return True
            found = cursor.set_range(partition_key(run + 1, 0, 0))
    return False


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
    more = run.cut(family) - bits
    if more < 0:
        low = partition << (64 - bits)
        entries, _ = reader.partition(run, table, partition >> -more)
        return entries.between(low, low + (1 << (64 - bits)) - 1)
    parts = [reader.partition(run, table, (partition << more) + part)[0] for part in range(1 << more)]
    return parts[0] if len(parts) == 1 else merge_entries(parts, np.empty(0, np.int64))
