"""The check."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.decoding import UNREADABLE

from .blocks import decode_block, decode_logged, decode_partition, encode_partition, is_whole
from .faults import DAMAGED, unavailable
from .layout import (
    HELD,
    MAX_PARTITION_BITS,
    Sums,
    count_removed,
    decode_held,
    key_number,
    key_run,
    number_key,
    partition_key,
    read_header,
    read_ledger,
    read_removed,
    read_state,
)
from .runs import MAX_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.tables import Family

    from .environment import Environment
    from .index import LmdbIndex
    from .layout import Run, State


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that should not be."""

    where: str
    #: A sentence.
    what: str


def partition_fault(data: bytes | memoryview | None, bits: int, partition: int) -> str | None:
    """Return what is wrong with the bytes of a *partition* of a table cut by *bits*; None if nothing is."""
    if data is None:
        return "It is missing."
    if not is_whole(data):
        return "It does not match its checksum."
    entries = decode_partition(data, bits).entries
    keys = entries.keys
    if (keys[1:] < keys[:-1]).any():
        return "Its keys are not sorted."
    if bits and len(keys):  # they are sorted, so the first and the last tell of all
        shift = np.uint64(64 - bits)
        if keys[0] >> shift != partition or keys[-1] >> shift != partition:
            return "It holds keys of other partitions."
    if encode_partition(entries, bits) != data:
        return "Its directory is wrong."
    return None


def state_faults(state: State) -> Iterator[str]:
    """Yield what is wrong with a *state*."""
    numbers: list[object] = [state.next, state.flushed, state.next_run, state.removals]
    for run in state.runs:
        numbers += [run.id, run.start, run.stop, run.documents, run.bits]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        yield "It holds values that are not numbers."
        return
    if not state.flushed <= state.next <= MAX_DOCUMENTS:
        yield f"{state.flushed} documents are flushed of {state.next}."
    for run in state.runs:
        if not run.start < run.stop <= state.flushed or run.documents > run.stop - run.start:
            yield f"Run {run.id} holds {run.documents} documents from {run.start} to {run.stop}."
        if run.bits > MAX_PARTITION_BITS:
            yield f"Run {run.id} is cut by {run.bits} bits."
        if run.id >= state.next_run:
            yield f"Run {run.id} has a number that is not taken yet."
    for run, after in pairwise(state.runs):
        if run.stop != after.start:
            yield f"Run {run.id} ends at document {run.stop}, and the next begins with {after.start}."
    if state.runs and state.runs[-1].stop != state.flushed:
        yield f"The last run ends at document {state.runs[-1].stop}, and {state.flushed} are flushed."
    if len({run.id for run in state.runs}) < len(state.runs):
        yield "Two runs have the same number."


@dataclass(frozen=True, slots=True)
class View:
    """An index as one transaction sees it, to be checked."""

    transaction: lmdb.Transaction
    databases: dict[str, Any]
    header: Header
    #: Called with how many more entries or documents were read.
    advance: Callable[[int], None]


def find_block_problems(view: View, name: str, start: int, mask: NDArray[np.bool_]) -> Iterator[Problem]:
    """Yield the problems of the blocks of database *name* from document *start* on.

    *mask* (bool[n]) says which documents must be in a block; others may be.
    """
    expected, stop = start, start + len(mask)
    found = np.zeros(len(mask), bool)
    decode = decode_logged if name == "log" else decode_block
    with view.transaction.cursor(view.databases[name]) as cursor:
        more = len(mask) > 0 and cursor.set_range(number_key(start))
        while more and (first := key_number(cursor.key())) < stop:
            try:
                end = first + len(decode(cursor.value(), view.header, check=True).urls)
            except IndexCorrupted as error:
                broken = isinstance(error.__cause__, UNREADABLE)
                what = (
                    f"It cannot be decoded ({error.__cause__})."
                    if broken
                    else "It does not match its checksum."
                )
                yield Problem(f"{name}, block {first}", what)
            else:
                if first < expected or end > stop:
                    yield Problem(f"{name}, block {first}", "It overlaps the next or the previous.")
                expected = end
                found[first - start : end - start] = True
                view.advance(int(mask[first - start : end - start].sum()))
            more = cursor.next()
    missing = np.flatnonzero(mask & ~found)
    if len(missing):
        what = f"{len(missing)} documents cannot be read, the first {start + missing[0]}."
        yield Problem(name, what)


@dataclass(slots=True)
class _Table:
    """What one table of a run holds."""

    sums: Sums = field(default_factory=Sums)
    #: What is wrong, with the numbers of the partitions of which it is.
    faults: dict[str, list[int]] = field(default_factory=dict)


def find_run_problems(view: View, run: Run, dead: NDArray[np.int64]) -> Iterator[Problem]:
    """Yield the problems of the blocks and tables of *run*.

    *dead* (int64[n]) are the documents of its range that have a tombstone.
    """
    where = f"run {run.id}"
    try:
        data = view.transaction.get(partition_key(run.id, HELD, 0), b"", db=view.databases["runs"])
        held = decode_held(data, run)
    except IndexCorrupted:
        yield Problem(where, "It does not say which documents it holds.")
        return
    if (count := int(held.sum())) != run.documents:
        yield Problem(where, f"It holds {count} documents, and the state says {run.documents}.")
    lost = np.flatnonzero(~held[dead - run.start])
    if len(lost):
        yield Problem(
            where,
            f"{len(lost)} documents are marked as removed, the first {dead[lost[0]]}, and not there.",
        )
    yield from find_block_problems(view, "documents", run.start, held)
    for family, first in zip(view.header.families, view.header.first_table, strict=False):
        yield from _find_family_problems(view, run, family, first, held)


def _find_family_problems(
    view: View, run: Run, family: Family, first: int, held: NDArray[np.bool_]
) -> Iterator[Problem]:
    """Yield the problems of the tables of *family*, whose numbers begin with *first*.

    *held* (bool[n]) says which documents of its range *run* holds.
    """
    sound: list[tuple[int, Sums]] = []
    for table in range(len(family.tables)):
        content = _read_table(view, run, family, first, table, held)
        for what, partitions in content.faults.items():
            more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
            yield Problem(f"run {run.id}, table {first + table}, partition {partitions[0]}{more}", what)
        if not content.faults:
            sound.append((first + table, content.sums))
    count = int(held.sum())
    expected = count * family.keys
    for place, sums in sound:
        where = f"run {run.id}, table {place}"
        if sums.count > expected or (sums.count < expected and not family.equal):
            yield Problem(where, f"It has {sums.count} entries of {count} documents with {family.keys} keys.")
        elif sums != sound[0][1]:
            yield Problem(where, f"It files other documents or keys than table {sound[0][0]}.")


def _read_table(
    view: View, run: Run, family: Family, first: int, table: int, held: NDArray[np.bool_]
) -> _Table:
    """Read one table, which should file the documents *held*."""
    content = _Table()
    cut = run.cut(family)
    for partition in range(1 << cut):
        data = view.transaction.get(
            partition_key(run.id, first + table, partition), db=view.databases["runs"]
        )
        fault = partition_fault(data, cut, partition)
        if fault is not None:
            content.faults.setdefault(fault, []).append(partition)
        if data is None or fault is not None:
            continue
        entries = decode_partition(data, cut).entries
        rows = entries.documents.astype(np.int64) - run.start
        inside = (rows >= 0) & (rows < len(held))
        if not inside.all():
            fault = "It holds documents that are not in the range of the run."
            content.faults.setdefault(fault, []).append(partition)
        elif not held[rows].all():
            fault = "It holds documents that the run does not hold."
            content.faults.setdefault(fault, []).append(partition)
        content.sums.add(entries.documents, family.tables.restore(table, entries.keys))
        view.advance(len(rows))
    return content


__all__ = ["Problem", "check", "find_problems"]


def check(index: LmdbIndex) -> Iterator[Problem]:
    """Yield the problems of an open index, as far as it is on disk."""
    return find_problems(index._environment, index.header)


def find_problems(
    environment: Environment, header: Header, progress: Callable[[int, int], None] | None = None
) -> Iterator[Problem]:
    """Yield the problems of the index in *environment*, as one transaction sees it while others write.

    *progress* is called with how many entries and documents were read so far, and how many there are. Raises
    `IndexUnavailable` if LMDB or the memory fails.
    """
    environment.require_same_process()  # a forked child would wait for its lock for ever
    with environment.scan_lock:
        try:
            with environment.read() as transaction:
                yield from _Check(environment, header, transaction, progress).problems()
        except IndexCorrupted as error:
            yield Problem("state", str(error))
        except UNREADABLE as error:
            yield Problem("file", f"It holds a key or a value that cannot be read ({error}).")
        except DAMAGED as error:
            yield Problem("file", f"LMDB cannot read it ({error}).")
        except (lmdb.Error, MemoryError) as error:
            raise unavailable(environment.path, error, "checked") from error


class _Check:
    """The check of one index within one transaction."""

    def __init__(
        self,
        environment: Environment,
        header: Header,
        transaction: lmdb.Transaction,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._environment = environment
        self._header = header
        self._transaction = transaction
        self._databases = environment.databases
        self._state = read_state(environment, transaction)
        self._progress = progress
        self._done = self._total = 0

    def problems(self) -> Iterator[Problem]:
        """Yield all problems: those of the state first, without which nothing else can be judged."""
        broken = [Problem("state", what) for what in state_faults(self._state)]
        if broken:
            yield from broken
            return
        state = self._state
        read_header(self._environment, self._transaction)
        entries = sum(len(family.tables) * family.keys for family in self._header.families)
        self._total = sum(run.documents * (entries + 1) for run in state.runs) + state.next - state.flushed
        dead = read_removed(self._transaction, self._databases["dead"])
        if len(dead) and dead[-1] >= state.next:
            yield Problem("dead", f"Document {dead[-1]} is marked as removed, and was never added.")
        if (np.diff(dead) <= 0).any():
            yield Problem("dead", "The removed documents are not in order.")
        yield from self._removed()
        yield from self._keys()
        view = View(self._transaction, self._databases, self._header, self._advance)
        for run in state.runs:
            of_run = dead[(dead >= run.start) & (dead < run.stop)]
            yield from find_run_problems(view, run, of_run)
        logged = np.ones(state.next - state.flushed, bool)
        yield from find_block_problems(view, "log", state.flushed, logged)
        self._advance(self._total - self._done)  # documents without some of their keys have fewer entries

    def _removed(self) -> Iterator[Problem]:
        """Compare the ledger with the documents that have a tombstone or that runs leave out."""
        noted = read_ledger(self._environment, self._transaction, self._state)
        if noted is None:
            return
        try:
            counted = count_removed(self._environment, self._transaction, self._state)
        except IndexCorrupted:  # the check of its run reports that
            return
        if counted.count != noted.count:
            others = ": the others are back" if counted.count < noted.count else ""
            yield Problem("dead", f"{noted.count} documents were removed, and {counted.count} are{others}.")
        elif counted != noted:
            yield Problem("dead", "Other documents are removed than were.")

    def _keys(self) -> Iterator[Problem]:
        """Look for blocks and partitions that belong to nothing, and that later ones would meet."""
        state = self._state
        with self._transaction.cursor(self._databases["log"]) as cursor:
            if cursor.first() and (number := key_number(cursor.key())) < state.flushed:
                yield Problem("log", f"A block begins with document {number}, which is in a run.")
            if cursor.set_range(number_key(state.next)):
                number = key_number(cursor.key())
                yield Problem("log", f"A block begins with document {number}, which the state does not know.")
        runs = {run.id: run for run in state.runs}
        with self._transaction.cursor(self._databases["runs"]) as cursor:
            found = cursor.first()
            while found:
                number = key_run(cursor.key())
                if number >= state.next_run:
                    yield Problem(f"run {number}", "It has partitions, and its number is not taken yet.")
                elif number in runs:
                    extra = 0
                    for key in cursor.iternext(values=False):
                        run, table, partition = struct.unpack(">IHI", key)
                        if run != number:
                            break
                        extra += partition >= self._partitions(runs[number], table)
                    if extra:
                        yield Problem(f"run {number}", f"It has {extra} partitions too many.")
                found = cursor.set_range(partition_key(number + 1, 0, 0))

    def _partitions(self, run: Run, table: int) -> int:
        """Return how many partitions the *table* with this number should have in *run*."""
        for family, stop in zip(self._header.families, self._header.first_table[1:], strict=True):
            if table < stop:
                return 1 << run.cut(family)
        return int(table == HELD)

    def _advance(self, count: int) -> None:
        """Report that so many more entries or documents were read."""
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)
