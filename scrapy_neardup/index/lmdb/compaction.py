"""Maintenance: the log is flushed into sorted runs, and runs are merged into larger ones, a little at a time.

This is a log-structured merge tree (O'Neil et al., Acta Informatica 33, 1996). Runs cover neighbouring ranges
of document numbers. Each is at least twice as large as all newer ones together, so the number of runs grows
with the logarithm of the number of documents, and so does how often an entry is written again. Runs whose
documents are all too old are dropped as a whole.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.header import damaged
from scrapy_neardup.index.protocol import Documents

from .directory import MERGE, file_lock
from .layout import read_state, write_state
from .runs import blocks, merge_partitions, new_run, partitions, put, replace_runs, require_room, sweep, write
from .snapshot import reading

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    import lmdb
    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header

    from .environment import Environment
    from .layout import Run, State
    from .snapshot import Snapshot

#: A run is written again once this share of its documents has a tombstone. So each removal makes four
#: documents be written again at most.
HOLLOW = 0.25


def maintain(environment: Environment, header: Header, expires: int = 0) -> Iterator[None]:
    """Flush, expire and merge what is due, yielding after every short transaction.

    Runs whose records all have a ``time`` before *expires* (seconds since 1970) are dropped; 0 keeps all. One
    thread of one process maintains an index at a time; for the others this ends at once.
    """
    with merge_lock(environment) as held:
        if not held:
            return
        with reading(environment, header) as reader:
            yield from sweep(environment, reader)
            if _log_is_long(reader):
                yield from _flush(environment, reader)
            if expires:
                yield from _expire(environment, reader, expires)
            while len(due := due_for_merge(reader.state.runs)) > 1 or (due := _hollow(reader)):
                yield from _merge(environment, reader, due)


def merge_all(environment: Environment, header: Header) -> Iterator[None]:
    """Flush the whole log and merge all runs into one, without the documents that were removed."""
    with merge_lock(environment, wait=True), reading(environment, header) as reader:
        yield from sweep(environment, reader)
        if reader.state.next > reader.state.flushed:
            yield from _flush(environment, reader)
        if len(reader.state.runs) > 1 or (reader.state.runs and len(reader.dead)):
            yield from _merge(environment, reader, reader.state.runs)


def load(environment: Environment, header: Header, documents: Documents) -> State:
    """Write many *documents* straight into a run, in one transaction, together with those of the log.

    Returns the state that this leads to.
    """
    with merge_lock(environment, wait=True), reading(environment, header) as reader:
        run = new_run(environment, 0, 0, len(documents.urls))

        def work(transaction: lmdb.Transaction) -> State:
            reader.refresh()  # nobody else flushes now, but others may have added to the log
            state = read_state(environment, transaction)
            require_room(state.next, documents)
            together = Documents.concatenate([*_log(reader), documents])
            stop = state.next + len(documents.urls)
            held = _not_removed(reader.dead, state.flushed, stop)
            final = replace(run, start=state.flushed, stop=stop, documents=int(held.sum()))
            items = chain(
                blocks(state.flushed, together.stored, environment.tuning.block_documents),
                partitions(header, final, held, together.keys),
            )
            put(environment, transaction, items)
            write_state(environment, transaction, replace(state, next=stop))
            return replace_runs(environment, transaction, (), final, held)

        return environment.write(work)


def due_for_merge(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the newest of *runs* that have to be merged so that each is twice as large as all newer ones."""
    start, newer = len(runs), 0
    for place in range(len(runs) - 1, -1, -1):
        if newer and runs[place].documents < 2 * newer:
            start = place
        newer += runs[place].documents
    return runs[start:]


def _hollow(reader: Snapshot) -> Sequence[Run]:
    """Return the first run of which too many documents were removed, so that it has to be written again."""
    for run in reader.state.runs:
        first, last = reader.dead.searchsorted((run.start, run.stop)).tolist()
        if last - first > HOLLOW * run.documents:
            return (run,)
    return ()


def _log_is_long(reader: Snapshot) -> bool:
    return reader.state.next - reader.state.flushed >= reader.tuning.flush_documents


@contextlib.contextmanager
def merge_lock(environment: Environment, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock of the one thread of one process that maintains the index; yields whether it is held.

    If it is taken, this yields False, or waits for it with *wait*.
    """
    if not environment.compaction_lock.acquire(blocking=wait):
        yield False
        return
    try:
        if environment.scratch:
            yield True
        else:
            with file_lock(environment.path / MERGE, wait=wait) as held:
                yield held
    finally:
        environment.compaction_lock.release()


def _flush(environment: Environment, reader: Snapshot) -> Iterator[None]:
    """Flush the log: make a run of all its documents."""
    state = reader.state
    documents = Documents.concatenate(list(_log(reader)))
    held = _not_removed(reader.dead, state.flushed, state.next)
    run = new_run(environment, state.flushed, state.next, int(held.sum()))
    items = chain(
        blocks(state.flushed, documents.stored, environment.tuning.block_documents),
        partitions(reader.header, run, held, documents.keys),
    )
    yield from write(environment, items)
    environment.write(lambda transaction: replace_runs(environment, transaction, (), run, held))
    reader.refresh()


def _log(reader: Snapshot) -> Iterator[Documents]:
    """Yield the documents of the log, block by block. Raises `IndexCorrupted` if some are missing."""
    expected = reader.state.flushed
    for first, documents in reader.log(expected):
        if first != expected:
            break
        expected += len(documents.urls)
        yield documents
    if expected != reader.state.next:
        raise damaged(f"The log lacks documents, the first {expected}")


def _not_removed(dead: NDArray[np.int64], start: int, stop: int) -> NDArray[np.bool_]:
    """Return which documents from *start* to before *stop* are not among *dead*: bool[stop - start]."""
    held = np.ones(stop - start, bool)
    held[dead[(dead >= start) & (dead < stop)] - start] = False
    return held


def _merge(environment: Environment, reader: Snapshot, runs: Sequence[Run]) -> Iterator[None]:
    """Make one run of several neighbouring *runs*, without the documents that have a tombstone."""
    start, stop = runs[0].start, runs[-1].stop
    # This says once what the new run leaves out, because the reader moves on and sees later tombstones.
    held = np.concatenate([reader.held(run) for run in runs]) & _not_removed(reader.dead, start, stop)
    merged = new_run(environment, start, stop, int(held.sum()))
    for _ in write(environment, merge_partitions(reader, runs, merged, held)):
        reader.refresh()  # an older view keeps LMDB from using again what others free
        yield
        if _log_is_long(reader):  # what is in the log is in the memory of each process
            yield from _flush(environment, reader)
    environment.write(lambda transaction: replace_runs(environment, transaction, runs, merged, held))
    reader.refresh()
    yield from sweep(environment, reader)


def _expire(environment: Environment, reader: Snapshot, expires: int) -> Iterator[None]:
    """Drop the oldest runs as long as all their documents are older than *expires*, and their blocks."""
    if "time" not in (reader.header.dtype.names or ()):
        return
    for run in reader.state.runs:
        if not (yield from _is_older(reader, run, expires)):
            break

        def work(transaction: lmdb.Transaction, run: Run = run) -> None:
            replace_runs(environment, transaction, (run,), None, np.zeros(run.stop - run.start, bool))

        environment.write(work)
        yield
    reader.refresh()
    yield from sweep(environment, reader)


def _is_older(reader: Snapshot, run: Run, expires: int) -> Generator[None, None, bool]:
    """Tell whether all documents of *run* are older than *expires*; yields now and then while it reads."""
    # Documents mostly come in the order of time, so the last one mostly answers for all.
    if reader.fetch(np.array([run.stop - 1])).records["time"][0] >= expires:
        return False
    step = reader.tuning.block_documents
    for start in range(run.start, run.stop, step):
        some = reader.blocks(start, min(start + step, run.stop))
        if any(stored.records["time"].max() >= expires for _, stored in some):
            return False
        yield
    return True
