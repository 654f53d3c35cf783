"""Maintenance: the log is flushed into sorted runs, and runs are merged into larger ones, a little at a time.

Nothing of a run exists for readers before the state names it; what a death leaves is swept away.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

import lmdb
import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.index.header import Header, decoding
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.search import Entries, flatten, merge_entries, sort_entries
from scrapy_neardup.index.tables import Family

from . import layout
from .directory import MERGE, file_lock
from .environment import Environment
from .layout import Run, Tombstones
from .snapshot import Snapshot, reading

#: The name of a database, a key, the value to write under it, or None to delete the one that is there.
Item = tuple[str, bytes, bytes | None]
#: A table of a family, as a function that returns the entries whose keys are in [low, high].
Table = tuple[Family, Callable[[int, int], Entries]]
#: A run is written again once this share of its documents has a tombstone.
HOLLOW = 0.25


def maintain(
    environment: Environment, header: Header, expires: int = 0, *, wait: bool = False, whole: bool = False
) -> Iterator[None]:
    """Flush, expire and merge what is due, or *whole*: into one run; yields after every short transaction.

    Runs whose records all have a ``time`` before *expires* (seconds since 1970) are dropped; 0 keeps all. One
    thread of one process maintains an index at a time; without *wait*, this ends at once for the others.
    """
    if not environment.compaction_lock.acquire(blocking=wait):
        return
    with contextlib.ExitStack() as stack:
        stack.callback(environment.compaction_lock.release)
        if not environment.scratch and not stack.enter_context(
            file_lock(environment.path / MERGE, wait=wait)
        ):
            return
        reader = stack.enter_context(reading(environment, header))
        yield from _sweep(environment, reader)
        before = reader.state
        # What is unfinished has been swept away, so its numbers are free again.
        ids = count(1 + max((run.id for run in before.runs), default=-1))
        if _log_is_long(reader) or (whole and reader.state.next > reader.state.flushed):
            yield from _flush(environment, reader, ids)
        if expires:
            yield from _expire(environment, reader, expires)
        runs = reader.state.runs if whole else ()
        if len(runs) > 1 or any(run.removed for run in runs):
            yield from _merge(environment, reader, runs, ids)
        while due := () if whole else due_for_merge(reader.state.runs):
            yield from _merge(environment, reader, due, ids)
        if reader.state is not before:
            yield from _sweep(environment, reader)


def due_for_merge(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the newest of *runs* to be merged so that each is twice as large as all newer ones.

    If there are none, the first of which too many documents were removed, so that it has to be written again.
    """
    start, newer = len(runs), 0
    for place in range(len(runs) - 1, -1, -1):
        if newer and runs[place].documents < 2 * newer:
            start = place
        newer += runs[place].documents
    return runs[start:] or [run for run in runs if run.removed > HOLLOW * run.documents][:1]


def _log_is_long(reader: Snapshot) -> bool:
    return reader.state.next - reader.state.flushed >= reader.tuning.flush_documents


def is_due(reader: Snapshot, expires: int) -> bool:
    """Return whether the log is to be flushed, runs are to be merged, or one has expired."""
    runs = reader.state.runs
    return _log_is_long(reader) or bool(due_for_merge(runs)) or (bool(runs) and runs[0].newest < expires)


def _flush(environment: Environment, reader: Snapshot, ids: Iterator[int]) -> Iterator[None]:
    """Flush the log: make a run of all its documents."""
    state = reader.state
    documents = Documents.concatenate([documents for _, documents in reader.whole_log()])
    held = ~reader.dead.between(state.flushed, state.next)
    timed = "time" in (documents.records.dtype.names or ())
    newest = int(documents.records["time"].max()) if timed else layout.NEVER
    run = _new_run(environment, ids, state.flushed, held, newest)
    yield from write(environment, _blocks(environment, state.flushed, documents))
    yield from write(environment, _partitions(run, held, _sorted(reader.header, run.start, documents.keys)))
    _replace_runs(environment, (), run)
    reader.refresh()


def _merge(
    environment: Environment, reader: Snapshot, runs: Sequence[Run], ids: Iterator[int]
) -> Iterator[None]:
    """Make one run of several neighbouring *runs*, without the documents that have a tombstone."""
    # This says once what the new run leaves out, because the reader moves on and sees later tombstones.
    held = ~reader.dead.between(runs[0].start, runs[-1].stop)
    merged = _new_run(environment, ids, runs[0].start, held, max(run.newest for run in runs))
    for _ in write(environment, _partitions(merged, held, _merged(reader, runs))):
        reader.refresh()  # an older view keeps LMDB from using again what others free
        yield
        if _log_is_long(reader):  # what is in the log is in the memory of each process
            yield from _flush(environment, reader, ids)
    _replace_runs(environment, runs, merged)
    reader.refresh()


def _expire(environment: Environment, reader: Snapshot, expires: int) -> Iterator[None]:
    """Drop the oldest runs as long as all their documents are older than *expires*."""
    while reader.state.runs and reader.state.runs[0].newest < expires:
        _replace_runs(environment, reader.state.runs[:1], None)
        reader.refresh()
        yield


def _sweep(environment: Environment, reader: Snapshot) -> Iterator[None]:
    """Delete what the state does not name, as of replaced, unfinished and expired runs."""
    state, orphans = reader.state, list[Item]()
    live = {run.id for run in state.runs}
    kept: dict[str, Callable[[bytes], bool]] = {
        "runs": lambda key: layout.key_run(key) in live,
        "documents": lambda key: state.oldest <= layout.key_number(key) < state.flushed,
        "dead": lambda key: layout.key_number(key) > state.oldest - layout.TOMBSTONES,
    }
    with environment.read() as transaction, decoding("A key"):
        for name, is_kept in kept.items():
            with transaction.cursor(environment.databases[name]) as cursor:
                keys = map(bytes, cursor.iternext(values=False))
                orphans += [(name, key, None) for key in keys if not is_kept(key)]
    if orphans:
        yield from write(environment, orphans)


def write(environment: Environment, items: Iterable[Item]) -> Iterator[None]:
    """Write *items*, yielding after each short transaction."""
    rest = iter(items)
    while batch := list(islice(rest, environment.tuning.transaction_values)):

        def work(transaction: lmdb.Transaction, batch: list[Item] = batch) -> None:
            for name, key, value in batch:
                if value is None:
                    transaction.delete(key, db=environment.databases[name])
                else:
                    transaction.put(key, value, db=environment.databases[name])

        environment.write(work)
        yield


def _new_run(
    environment: Environment, ids: Iterator[int], start: int, held: NDArray[np.bool_], newest: int
) -> Run:
    """Return the run of those documents from *start* on that are *held*: bool[n]."""
    documents = int(held.sum())
    parts = documents // environment.tuning.partition_entries
    bits = min(layout.MAX_PARTITION_BITS, parts.bit_length())
    return Run(next(ids), start, start + len(held), documents, bits, newest)


def _blocks(environment: Environment, first: int, documents: Documents) -> Iterator[Item]:
    """Yield blocks of the *documents*, whose numbers begin with *first*."""
    size = environment.tuning.block_documents
    for start in range(0, len(documents.urls), size):
        key = layout.number_key(first + start)
        yield "documents", key, layout.encode_block(documents.stored.take(slice(start, start + size)), key)


def _partitions(run: Run, held: NDArray[np.bool_], tables: Iterable[Table]) -> Iterator[Item]:
    """Yield the values of a new *run*: the partitions of *tables*, of those documents that are *held*."""
    whole = held.all()
    for table, (family, between) in enumerate(tables):
        cut = run.cut(family)
        for partition in range(1 << cut):
            low, key = partition << (64 - cut), layout.partition_key(run.id, table, partition)
            entries = between(low, low | ((1 << (64 - cut)) - 1))
            if not whole:
                with decoding("A partition"):  # an IndexError would be a document of another run
                    alive = held[entries.documents.astype(np.int64) - run.start]
                entries = Entries(entries.keys[alive], entries.documents[alive])
            yield "runs", key, layout.encode_partition(entries, cut, key)


def _sorted(header: Header, start: int, keys: NDArray[np.uint64]) -> Iterator[Table]:
    """Yield the tables of documents by their *keys* (uint64[keys, n]); their numbers begin with *start*."""
    numbers = np.arange(start, start + keys.shape[1], dtype=np.uint32)
    for family, rows in zip(header.families, header.rows, strict=True):
        base, documents = flatten(family, keys[rows], numbers)
        for permuted in family.tables.keys(base):
            yield family, sort_entries(permuted, documents).between


def _merged(reader: Snapshot, runs: Sequence[Run]) -> Iterator[Table]:
    """Yield the tables of several *runs* together."""
    for family, first in zip(reader.header.families, reader.header.first_table, strict=False):
        for table in range(first, first + len(family.tables)):

            def between(low: int, high: int, family: Family = family, table: int = table) -> Entries:
                parts = []
                for run in runs:
                    cut = run.cut(family)
                    for each in range(low >> (64 - cut), (high >> (64 - cut)) + 1):
                        entries = reader.partition(run, cut, table, each, check=True).entries
                        parts.append(entries.between(low, high))
                return merge_entries(parts)

            yield family, between


def _replace_runs(environment: Environment, replaced: Sequence[Run], run: Run | None) -> None:
    """Name *run* in the state, in the place of the runs *replaced*, or of the log if there are none of these.

    Without a new run, the replaced ones go.
    """

    def work(transaction: lmdb.Transaction) -> None:
        state = layout.read_state(environment, transaction)
        dead = Tombstones(transaction, environment.databases["dead"], state.oldest, state.next)
        old = {each.id for each in replaced}
        runs = [each for each in state.runs if each.id not in old]
        if run:  # some of its documents may have been removed while it was being written
            since = int((~dead.between(run.start, run.stop)).sum())
            runs.append(run._replace(removed=run.documents - since))
        flushed = state.flushed
        if run and not replaced:
            flushed = run.stop
            with transaction.cursor(environment.databases["log"]) as cursor:
                cursor.first()
                while (key := bytes(cursor.key())) and layout.key_number(key) < flushed:
                    cursor.delete()
        newer = state._replace(
            flushed=flushed,
            runs=tuple(sorted(runs, key=lambda each: each.start)),
            removed=int(dead.between(flushed, state.next).sum()),
        )
        layout.write_state(environment, transaction, newer)

    environment.write(work)
