"""Verifies an index on disk from end to end: state, log, documents, every partition of every run.

All is read once, and each checksum verified. A run says which documents it holds: each must be in a block, and no
other in a table. Tables of one family must file the same documents under the same keys.

What a killed process leaves behind without harm is no problem: partitions of a run that was never finished and
blocks of documents not yet in a run, which the next upkeep sweeps away.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted

from .blocks import decode_block, decode_logged
from .creation import read_header
from .damage import partition_fault, state_faults
from .faults import DAMAGED, UNREADABLE, unavailable
from .layout import HELD, Run, State, decode_held, key_number, key_run, number_key, partition_key, read_state
from .ledger import count_removed, read_ledger
from .partition import decode_partition
from .sums import Sums
from .tombstones import read_removed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header

    from .environment import Environment
    from .index import LmdbIndex


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that should not be."""

    where: str
    what: str


def check(index: LmdbIndex) -> Iterator[Problem]:
    """Yield what is wrong with an open index, as far as it is on disk."""
    return find_problems(index._environment, index.header)


def find_problems(
    environment: Environment, header: Header, progress: Callable[[int, int], None] | None = None
) -> Iterator[Problem]:
    """Yield what is wrong with the index in *environment*, in one consistent view while others write.

    *progress* is told the entries and documents read so far, and how many there are.
    """
    environment.require_same_process()  # whose child would wait for a lock that nobody holds any more
    with environment.upkeep:
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


@dataclass(slots=True)
class _Table:
    """What one table of a run holds, and its partitions by what is wrong with them."""

    sums: Sums = field(default_factory=Sums)
    faults: dict[str, list[int]] = field(default_factory=dict)


class _Check:
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
        self._state: State = read_state(environment, transaction)
        self._progress = progress
        self._done = self._total = 0

    def problems(self) -> Iterator[Problem]:
        broken = [Problem("state", what) for what in state_faults(self._state)]
        if broken:  # nothing else could be relied on
            yield from broken
            return
        state = self._state
        read_header(self._environment, self._transaction)
        entries = sum(len(family.tables) * family.keys for family in self._header.families)
        self._total = sum(run.documents * (entries + 1) for run in state.runs) + state.next - state.folded
        dead = read_removed(self._transaction, self._databases["dead"])
        if len(dead) and dead[-1] >= state.next:
            yield Problem("dead", f"Document {dead[-1]} is marked as removed, and was never added.")
        if (np.diff(dead) <= 0).any():
            yield Problem("dead", "The removed documents are not in order.")
        yield from self._removed()
        yield from self._keys()
        for run in state.runs:
            yield from self._run(run, dead[(dead >= run.start) & (dead < run.stop)])
        yield from self._blocks("log", state.folded, np.ones(state.next - state.folded, bool))
        self._advance(self._total - self._done)  # fewer entries than could be, where keys are missing

    def _removed(self) -> Iterator[Problem]:
        """Compare what has been removed with what is: marked, or left out of the runs."""
        noted = read_ledger(self._environment, self._transaction, self._state)
        if noted is None:
            return
        try:
            counted = count_removed(self._environment, self._transaction, self._state)
        except IndexCorrupted:  # of a run, which is a problem of its own
            return
        if counted.count != noted.count:
            what = f"{noted.count} documents were removed, and {counted.count} are: the others are back."
            yield Problem("dead", what if counted.count < noted.count else f"{what.partition(':')[0]}.")
        elif counted != noted:
            yield Problem("dead", "Other documents are removed than were.")

    def _keys(self) -> Iterator[Problem]:
        """Look for blocks and partitions that belong to nothing and will be in the way."""
        state = self._state
        with self._transaction.cursor(self._databases["log"]) as cursor:
            if cursor.first() and (number := key_number(cursor.key())) < state.folded:
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
        """Return how many partitions the table with this number has."""
        for family, stop in zip(self._header.families, self._header.first_table[1:], strict=True):
            if table < stop:
                return 1 << run.cut(family)
        return int(table == HELD)

    def _run(self, run: Run, dead: NDArray[np.int64]) -> Iterator[Problem]:
        """Compare the blocks and tables of a run with what it should hold, and with each other."""
        where = f"run {run.id}"
        try:
            data = self._transaction.get(partition_key(run.id, HELD, 0), b"", db=self._databases["runs"])
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
        yield from self._blocks("documents", run.start, held)
        place = 0
        for number, family in enumerate(self._header.families):
            sums = []
            for table in range(len(family.tables)):
                content = self._table(run, number, table, held)
                for what, partitions in content.faults.items():
                    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
                    yield Problem(f"{where}, table {place}, partition {partitions[0]}{more}", what)
                if not content.faults:
                    sums.append((place, content.sums))
                place += 1
            for table, content_sums in sums:
                expected = count * family.keys
                if content_sums.count > expected or (content_sums.count < expected and not family.equal):
                    what = (
                        f"It has {content_sums.count} entries of {count} documents with {family.keys} keys."
                    )
                    yield Problem(f"{where}, table {table}", what)
                elif content_sums != sums[0][1]:
                    what = f"It files other documents or keys than table {sums[0][0]}."
                    yield Problem(f"{where}, table {table}", what)

    def _table(self, run: Run, number: int, table: int, held: NDArray[np.bool_]) -> _Table:
        """Read one table of a run that should file the documents *held*."""
        content = _Table()
        family, place = self._header.families[number], self._header.first_table[number] + table
        cut = run.cut(family)
        for partition in range(1 << cut):
            data = self._transaction.get(partition_key(run.id, place, partition), db=self._databases["runs"])
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
            self._advance(len(rows))
        return content

    def _blocks(self, name: str, start: int, mask: NDArray[np.bool_]) -> Iterator[Problem]:
        """Read the blocks of a database from document *start*, which should have the documents of *mask*."""
        expected, stop = start, start + len(mask)
        found = np.zeros(len(mask), bool)
        decode = decode_logged if name == "log" else decode_block
        with self._transaction.cursor(self._databases[name]) as cursor:
            more = len(mask) > 0 and cursor.set_range(number_key(start))
            while more and (first := key_number(cursor.key())) < stop:
                try:
                    end = first + len(decode(cursor.value(), self._header, check=True).urls)
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
                    self._advance(int(mask[first - start : end - start].sum()))
                more = cursor.next()
        missing = np.flatnonzero(mask & ~found)
        if len(missing):
            what = f"{len(missing)} documents cannot be read, the first {start + missing[0]}."
            yield Problem(name, what)

    def _advance(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)
