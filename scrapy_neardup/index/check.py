"""Verifies an index on disk from end to end: state, log, every partition of every run, and each against the other.

The log and the tables are read once each. Whether a table files the documents of the log under their own keys is
decided by sums of 64-bit hashes of (document, key), which do not depend on order, so that memory holds one byte a
document of one run and nothing else: any difference shows, but for one case in 2**64.

What a killed process leaves behind without harm is no problem: partitions of a run that was never finished, which
the next upkeep sweeps away.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted

from .faults import entries_fault, state_faults
from .log import MAX_DOCUMENTS
from .removed import read_removed
from .sorted import flatten
from .storage import (
    HELD,
    Run,
    State,
    decode_block,
    decode_entries,
    decode_held,
    key_number,
    key_run,
    number_key,
    partition_key,
    read_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from .environment import Environment
    from .header import Header
    from .lmdb import LmdbIndex


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
    with environment.upkeep:
        try:
            with environment.read() as transaction:
                yield from _Check(environment, header, transaction, progress).problems()
        except IndexCorrupted as error:
            yield Problem("state", str(error))
        except lmdb.Error as error:
            yield Problem("file", f"LMDB cannot read it ({error}).")


@dataclass(slots=True)
class _Table:
    """What one table of a run holds."""

    count: int = 0
    #: Sums of hashes of the documents, and of the documents with their keys.
    documents: int = 0
    entries: int = 0
    #: Partitions by what is wrong with them.
    faults: dict[str, list[int]] = field(default_factory=dict)

    def add(self, documents: NDArray[np.uint32], keys: NDArray[np.uint64]) -> None:
        hashed = _mix(documents.astype(np.uint64))
        self.count += len(keys)
        self.documents = (self.documents + int(hashed.sum())) % (1 << 64)
        self.entries = (self.entries + int(_mix(hashed ^ keys).sum())) % (1 << 64)

    def fault(self, what: str, partition: int) -> None:
        self.faults.setdefault(what, []).append(partition)


class _Check:
    def __init__(
        self,
        environment: Environment,
        header: Header,
        transaction: lmdb.Transaction,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._header = header
        self._transaction = transaction
        self._databases = environment.databases
        self._state: State = read_state(environment, transaction)
        #: Family, number within the family.
        self._tables = [
            (place, table) for place, f in enumerate(header.families) for table in range(len(f.tables))
        ]
        self._progress = progress
        self._done = self._total = 0

    def problems(self) -> Iterator[Problem]:
        broken = [Problem("state", what) for what in state_faults(self._state)]
        if broken:  # nothing else could be relied on
            yield from broken
            return
        state = self._state
        entries = sum(len(family.tables) * family.keys for family in self._header.families)
        self._total = sum(run.documents * (entries + 1) for run in state.runs)
        self._total += state.next - state.folded
        dead = read_removed(self._transaction, self._databases["dead"])
        if len(dead) and dead[-1] >= state.next:
            yield Problem("dead", f"Document {dead[-1]} is marked as removed, and was never added.")
        yield from self._keys()
        for run in state.runs:
            yield from self._run(run, dead[(dead >= run.start) & (dead < run.stop)])
        rest = np.ones(state.next - state.folded, bool)
        _, problems = self._log(state.folded, rest)
        yield from problems

    def _keys(self) -> Iterator[Problem]:
        """Look for blocks and partitions that belong to nothing and will be in the way."""
        state = self._state
        with self._transaction.cursor(self._databases["documents"]) as cursor:
            if state.next < MAX_DOCUMENTS and cursor.set_range(number_key(state.next)):
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

    def _partitions(self, run: Run, place: int) -> int:
        """Return how many partitions the table with this number has."""
        if place < len(self._tables):
            return 1 << run.cut(self._header.families[self._tables[place][0]])
        return int(place == HELD)

    def _run(self, run: Run, dead: NDArray[np.int64]) -> Iterator[Problem]:
        """Compare the tables of a run with what it should hold, and with the log."""
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
        logged, problems = self._log(run.start, held)
        yield from problems
        for place, (family, table) in enumerate(self._tables):
            content = self._table(run, place, family, table, held)
            for what, partitions in content.faults.items():
                more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
                yield Problem(f"{where}, table {place}, partition {partitions[0]}{more}", what)
            expected = logged[family]
            if problems or content.faults:
                continue
            if (content.count, content.documents) != (expected.count, expected.documents):
                yield Problem(
                    f"{where}, table {place}",
                    f"It holds other documents than the log ({content.count} entries, not {expected.count}).",
                )
            elif content.entries != expected.entries:
                yield Problem(
                    f"{where}, table {place}", "Its keys are not those of the documents in the log."
                )

    def _table(self, run: Run, place: int, family: int, table: int, held: NDArray[np.bool_]) -> _Table:
        """Read one table of a run that should file the documents *held*."""
        content = _Table()
        tables, cut = self._header.families[family].tables, run.cut(self._header.families[family])
        for partition in range(1 << cut):
            data = self._transaction.get(partition_key(run.id, place, partition), db=self._databases["runs"])
            if data is None:
                content.fault("It is missing.", partition)
                continue
            if len(data) % 12:
                content.fault(f"It has {len(data)} bytes, not 12 for each entry.", partition)
                continue
            entries = decode_entries(data)
            if (fault := entries_fault(entries, cut, partition)) is not None:
                content.fault(fault, partition)
            rows = entries.documents.astype(np.int64) - run.start
            inside = (rows >= 0) & (rows < len(held))
            if not inside.all():
                content.fault("It holds documents that are not in the range of the run.", partition)
            elif not held[rows].all():
                content.fault("It holds documents that the run does not hold.", partition)
            content.add(entries.documents, tables.restore(table, entries.keys))
            self._advance(len(rows))
        return content

    def _log(self, start: int, mask: NDArray[np.bool_]) -> tuple[list[_Table], list[Problem]]:
        """Read the log from document *start*; returns what tables of the documents of *mask* should hold."""
        families = [_Table() for _ in self._header.families]
        problems = []
        expected, stop = start, start + len(mask)
        found = np.zeros(len(mask), bool)
        with self._transaction.cursor(self._databases["documents"]) as cursor:
            more = len(mask) > 0 and cursor.set_range(number_key(start))
            while more and (first := key_number(cursor.key())) < stop:
                try:
                    documents = decode_block(cursor.value(), self._header, check=True)
                except (IndexCorrupted, ValueError, struct.error) as error:
                    why = (
                        "It does not match its checksum."
                        if isinstance(error, IndexCorrupted)
                        else f"It cannot be decoded ({error})."
                    )
                    problems.append(Problem(f"log, block {first}", why))
                else:
                    end = first + len(documents.urls)
                    if first < expected or end > stop:
                        problems.append(
                            Problem(f"log, block {first}", "It overlaps the next or the previous.")
                        )
                    expected = end
                    rows = np.flatnonzero(mask[first - start : end - start])
                    found[first - start : end - start] = True
                    numbers = (rows + first).astype(np.uint32)
                    for content, family, place in zip(
                        families, self._header.families, self._header.rows, strict=True
                    ):
                        keys, filed = flatten(family, documents.keys[place, rows], numbers)
                        content.add(filed, keys)
                    self._advance(len(documents.urls))
                more = cursor.next()
        missing = np.flatnonzero(mask & ~found)
        if len(missing):
            what = f"{len(missing)} documents cannot be read, the first {start + missing[0]}."
            problems.append(Problem("log", what))
        return families, problems

    def _advance(self, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash each value (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
