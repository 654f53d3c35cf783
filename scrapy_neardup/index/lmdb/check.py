"""The check of an index on disk from end to end: state, tombstones, log, blocks, all partitions.

Everything is read once, and each checksum is verified. What a killed process leaves behind without harm is no
problem: partitions of a run that was never finished, and blocks of such a run. The next maintenance sweeps
them away.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.decoding import UNREADABLE

from .check_blocks import View, find_block_problems
from .check_tables import find_run_problems
from .creation import read_header
from .damage import Problem, state_faults
from .faults import DAMAGED, unavailable
from .layout import HELD, key_number, key_run, number_key, partition_key, read_state
from .ledger import count_removed, read_ledger
from .tombstones import read_removed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_neardup.index.header import Header

    from .environment import Environment
    from .index import LmdbIndex
    from .layout import Run

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
