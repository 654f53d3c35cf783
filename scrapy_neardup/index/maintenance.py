"""Turning the log into sorted runs, and runs into larger ones, a little at a time.

A log-structured merge tree (O'Neil et al., Acta Informatica 33, 1996). Runs cover neighbouring ranges of document
numbers and each is at least twice as large as all newer ones together, so their number grows with the logarithm of
the documents, and each entry is rewritten about as often. Whatever is written before the state names it does not
exist for readers, and is swept away if the process dies first.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .base import Documents
from .directory import MERGE, file_lock
from .removed import drop_removed, read_removed
from .snapshot import Snapshot
from .sorted import Entries, flatten, is_member, merge_entries, sort_entries
from .storage import (
    HELD,
    Run,
    State,
    encode_block,
    encode_entries,
    encode_held,
    key_run,
    number_key,
    partition_bits,
    partition_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.tables import Family

    from .environment import Environment
    from .header import Header

#: Documents in the log when it is folded into a run. Until then they are in memory, too.
FOLD = 1 << 14
#: Documents of one block of the log at most.
BLOCK = 1 << 14
#: Numbers of documents have 32 bits.
MAX_DOCUMENTS = 1 << 32
#: Bytes written by one transaction of a merge: others wait for it.
STEP = 1 << 22


def maintain(environment: Environment, header: Header, expires: int = 0) -> Iterator[None]:
    """Fold, expire and merge what is due, yielding after every short transaction.

    Documents whose record says they are older than *expires* (seconds since 1970) may go, by whole runs. One
    thread of one process at a time does this; in the others it ends at once.
    """
    with merge_lock(environment) as held:
        if not held:
            return
        with reading(environment, header) as reader:
            yield from _sweep(environment, reader)
            if reader.state.next - reader.state.folded >= FOLD:
                yield from _fold(environment, reader)
            if expires:
                yield from _expire(environment, reader, expires)
            while len(due := due_for_merge(reader.state.runs)) > 1:
                yield from _merge(environment, reader, due)


def merge_all(environment: Environment, header: Header) -> Iterator[None]:
    """Fold all of the log and merge all runs into one, without the documents that were removed."""
    with merge_lock(environment, wait=True), reading(environment, header) as reader:
        yield from _sweep(environment, reader)
        if reader.state.next > reader.state.folded:
            yield from _fold(environment, reader)
        if len(reader.state.runs) > 1 or (reader.state.runs and len(reader.dead)):
            yield from _merge(environment, reader, reader.state.runs)


def load(environment: Environment, header: Header, documents: Documents) -> int:
    """Write many documents and their run in one transaction, with what the log held before them.

    Returns the number of the first.
    """
    with merge_lock(environment, wait=True), reading(environment, header) as reader:
        run = _new_run(environment, 0, 0, len(documents.urls))

        def work(transaction: lmdb.Transaction) -> int:
            reader.refresh()  # nobody else folds now, but others may have added to the log
            state = read_state(environment, transaction)
            number, key = _log(reader, state)
            first, stop = state.next, state.next + len(documents.urls)
            number = np.concatenate((number, np.arange(first, stop)))
            key = np.concatenate((key, documents.keys), axis=1)
            put_blocks(environment, transaction, first, documents)
            final = replace(run, start=state.folded, stop=stop, documents=len(number))
            for name, value in _partitions(reader.header, final, number, key):
                transaction.put(name, value, db=environment.databases["runs"])
            write_state(environment, transaction, replace(state, next=stop))
            _replace_runs(environment, transaction, final, (), reader.dead, folded=stop)
            return first

        return environment.write(work)


def put_blocks(
    environment: Environment, transaction: lmdb.Transaction, first: int, documents: Documents
) -> None:
    """Append *documents*, whose numbers begin with *first*, to the log. Raises `IndexUnavailable` if it is full."""
    if first + len(documents.urls) > MAX_DOCUMENTS:
        raise IndexUnavailable("The index is full (2**32 documents): start another one (NEARDUP_DIR).")
    for start in range(0, len(documents.urls), BLOCK):
        rows = slice(start, start + BLOCK)
        block = encode_block(
            Documents(documents.keys[:, rows], documents.records[rows], documents.urls[rows])
        )
        key = number_key(first + start)
        if not transaction.put(key, block, append=True, db=environment.databases["documents"]):
            raise IndexCorrupted(
                "The log has documents that its state does not know: run `scrapy-neardup index check`."
            )


@contextlib.contextmanager
def reading(environment: Environment, header: Header) -> Iterator[Snapshot]:
    """Read the newest commit, with the memory map kept in place by this thread."""
    with environment.upkeep:
        environment.reader_check()
        reader = Snapshot(environment, header)
        try:
            reader.refresh()
            yield reader
        finally:
            reader.close()


def due_for_merge(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the newest runs, as many as have to become one to keep sizes geometric."""
    start, newer = len(runs), 0
    for place in range(len(runs) - 1, -1, -1):
        if newer and runs[place].documents < 2 * newer:
            start = place
        newer += runs[place].documents
    return runs[start:]


@contextlib.contextmanager
def merge_lock(environment: Environment, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock of the one thread of one process that maintains the index; yields False if it is taken."""
    if not environment.merging.acquire(blocking=wait):
        yield False
        return
    try:
        if environment.scratch:
            yield True
        else:
            with file_lock(environment.path / MERGE, wait=wait) as held:
                yield held
    finally:
        environment.merging.release()


def _fold(environment: Environment, reader: Snapshot) -> Iterator[None]:
    """Make a run of all documents in the log."""
    state = reader.state
    number, key = _log(reader, state)
    run = _new_run(environment, state.folded, state.next, len(number))
    yield from _write(environment, _partitions(reader.header, run, number, key))
    _switch(environment, run, (), reader.dead, folded=run.stop)
    reader.refresh()


def _log(reader: Snapshot, state: State) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the numbers (int64[n]) and keys (uint64[keys, n]) of what is in the log and not removed."""
    numbers = [np.empty(0, np.int64)]
    keys = [np.empty((reader.header.keys, 0), np.uint64)]
    for first, documents in reader.blocks(state.folded, state.next, check=True):
        numbers.append(np.arange(first, first + len(documents.urls)))
        keys.append(documents.keys)
    number, key = np.concatenate(numbers), np.concatenate(keys, axis=1)
    alive = ~is_member(number, reader.dead)
    return number[alive], key[:, alive]


def _partitions(
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


def _merge(environment: Environment, reader: Snapshot, runs: Sequence[Run]) -> Iterator[None]:
    """Make one run of several neighbours."""
    dead, start, stop = reader.dead, runs[0].start, runs[-1].stop
    held = np.concatenate([reader.held(run) for run in runs])
    held[dead[(dead >= start) & (dead < stop)] - start] = False
    merged = _new_run(environment, start, stop, int(held.sum()))

    def partitions() -> Iterator[tuple[bytes, bytes]]:
        for family, first in zip(reader.header.families, reader.header.first_table, strict=False):
            for place in range(first, first + len(family.tables)):
                for partition in range(1 << merged.cut(family)):
                    parts = [
                        _slice(reader, run, family, place, partition, merged.cut(family)) for run in runs
                    ]
                    yield (
                        partition_key(merged.id, place, partition),
                        encode_entries(merge_entries(parts, dead)),
                    )
        yield partition_key(merged.id, HELD, 0), encode_held(held)

    yield from _write(environment, partitions())
    _switch(environment, merged, runs, dead)
    reader.refresh()
    yield from _sweep(environment, reader)


def _expire(environment: Environment, reader: Snapshot, expires: int) -> Iterator[None]:
    """Drop the oldest runs, with their documents, as long as all of them are too old."""
    if "time" not in (reader.header.dtype.names or ()):
        return
    for run in reader.state.runs:
        # Documents are filed as time goes by, so mostly the last one tells that there is no need to read on.
        if reader.fetch(np.array([run.stop - 1])).records["time"][0] >= expires:
            return
        for start in range(run.start, run.stop, BLOCK):
            blocks = reader.blocks(start, min(start + BLOCK, run.stop))
            if any(documents.records["time"].max() >= expires for _, documents in blocks):
                return
            yield

        def work(transaction: lmdb.Transaction, run: Run = run) -> None:
            state = read_state(environment, transaction)
            left = tuple(other for other in state.runs if other.id != run.id)
            write_state(environment, transaction, replace(state, runs=left, removals=state.removals + 1))
            dead = read_removed(transaction, environment.databases["dead"])
            gone = dead[(dead >= run.start) & (dead < run.stop)]
            drop_removed(transaction, environment.databases["dead"], gone)
            with transaction.cursor(environment.databases["documents"]) as cursor:
                cursor.set_range(number_key(run.start))
                while (key := bytes(cursor.key())) and key < number_key(run.stop):
                    cursor.delete()

        environment.write(work)
        yield
    reader.refresh()
    yield from _sweep(environment, reader)


def _sweep(environment: Environment, reader: Snapshot) -> Iterator[None]:
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


def _write(environment: Environment, partitions: Iterable[tuple[bytes, bytes]]) -> Iterator[None]:
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


def _new_run(environment: Environment, start: int, stop: int, documents: int) -> Run:
    """Take the next number of a run."""

    def work(transaction: lmdb.Transaction) -> Run:
        state = read_state(environment, transaction)
        write_state(environment, transaction, replace(state, next_run=state.next_run + 1))
        return Run(state.next_run, start, stop, documents, partition_bits(documents))

    return environment.write(work)


def _switch(
    environment: Environment,
    run: Run,
    replaced: Sequence[Run],
    dead: NDArray[np.int64],
    folded: int | None = None,
) -> None:
    environment.write(
        lambda transaction: _replace_runs(environment, transaction, run, replaced, dead, folded)
    )


def _replace_runs(
    environment: Environment,
    transaction: lmdb.Transaction,
    run: Run,
    replaced: Sequence[Run],
    dead: NDArray[np.int64],
    folded: int | None,
) -> None:
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


def read_state(environment: Environment, transaction: lmdb.Transaction) -> State:
    """Return the state as *transaction* sees it."""
    return State.from_json(bytes(transaction.get(b"state", b"", db=environment.databases["meta"])))


def write_state(environment: Environment, transaction: lmdb.Transaction, state: State) -> None:
    """Replace the state."""
    transaction.put(b"state", state.to_json(), db=environment.databases["meta"])


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
    if more >= 0:
        parts = [reader.partition(run, table, (partition << more) + part) for part in range(1 << more)]
        return parts[0] if len(parts) == 1 else merge_entries(parts, np.empty(0, np.int64))
    low = partition << (64 - bits)
    return reader.partition(run, table, partition >> -more).between(low, low + (1 << (64 - bits)) - 1)
