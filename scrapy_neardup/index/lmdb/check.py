"""The check of an index on disk from end to end: state, tombstones, log, blocks, all partitions.

Everything is read once, and each checksum is verified. What a killed process leaves behind without harm is no
problem: partitions of a run that was never finished, and blocks of such a run. The next maintenance sweeps
them away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.decoding import UNREADABLE

from .blocks import decode_block, decode_logged, decode_partition, encode_partition, is_whole
from .faults import DAMAGED, unavailable
from .layout import (
    HELD,
    MAX_DOCUMENTS,
    MAX_PARTITION_BITS,
    Sums,
    count_removed,
    decode_held,
    key_number,
    number_key,
    partition_key,
    read_header,
    read_ledger,
    read_removed,
    read_state,
)

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
        for run in state.runs:
            yield from self._run(run, dead[(dead >= run.start) & (dead < run.stop)])
        yield from self._blocks("log", state.flushed, np.ones(state.next - state.flushed, bool))
        yield from self._log_keys()
        self._advance(self._total - self._done)  # documents without some of their keys have fewer entries

    def _removed(self) -> Iterator[Problem]:
        """Compare the ledger with the documents that have a tombstone or that runs leave out."""
        noted = read_ledger(self._environment, self._transaction, self._state)
        try:
            counted = count_removed(self._environment, self._transaction, self._state)
        except IndexCorrupted:  # the check of its run reports that
            return
        if noted is None or noted == counted:
            return
        if counted.count != noted.count:
            others = ": the others are back" if counted.count < noted.count else ""
            yield Problem("dead", f"{noted.count} documents were removed, and {counted.count} are{others}.")
        else:
            yield Problem("dead", "Other documents are removed than were.")

    def _log_keys(self) -> Iterator[Problem]:
        """Look for blocks of the log that belong to nothing, and that later ones would meet."""
        with self._transaction.cursor(self._databases["log"]) as cursor:
            if cursor.first() and (number := key_number(cursor.key())) < self._state.flushed:
                yield Problem("log", f"A block begins with document {number}, which is in a run.")
            if cursor.set_range(number_key(self._state.next)):
                number = key_number(cursor.key())
                yield Problem("log", f"A block begins with document {number}, which the state does not know.")

    def _blocks(self, name: str, start: int, mask: NDArray[np.bool_]) -> Iterator[Problem]:
        """Yield the problems of the blocks of database *name* from document *start* on.

        *mask* (bool[n]) says which documents must be in a block; others may be.
        """
        expected, stop = start, start + len(mask)
        missing = mask.copy()
        decode = decode_logged if name == "log" else decode_block
        with self._transaction.cursor(self._databases[name]) as cursor:
            more = len(mask) > 0 and cursor.set_range(number_key(start))
            while more and (first := key_number(cursor.key())) < stop:
                try:
                    end = first + len(decode(cursor.value(), self._header, check=True).urls)
                except IndexCorrupted as error:
                    broken = isinstance(error.__cause__, UNREADABLE)
                    why = (
                        f"cannot be decoded ({error.__cause__})" if broken else "does not match its checksum"
                    )
                    yield Problem(f"{name}, block {first}", f"It {why}.")
                else:
                    if first < expected or end > stop:
                        yield Problem(f"{name}, block {first}", "It overlaps the next or the previous.")
                    expected = end
                    missing[first - start : end - start] = False
                    self._advance(int(mask[first - start : end - start].sum()))
                more = cursor.next()
        (lost,) = missing.nonzero()
        if len(lost):
            yield Problem(name, f"{len(lost)} documents cannot be read, the first {start + lost[0]}.")

    def _run(self, run: Run, dead: NDArray[np.int64]) -> Iterator[Problem]:
        """Yield the problems of the blocks and tables of *run*.

        *dead* (int64[n]) are the documents of its range that have a tombstone. Each document that the run
        holds must be in a block, and no other in a table. The tables of one family must file the same
        documents under the same keys.
        """
        where = f"run {run.id}"
        try:
            held = decode_held(self._partition(run, HELD, 0) or b"", run)
        except IndexCorrupted:
            yield Problem(where, "It does not say which documents it holds.")
            return
        if (count := int(held.sum())) != run.documents:
            yield Problem(where, f"It holds {count} documents, and the state says {run.documents}.")
        lost = dead[~held[dead - run.start]]
        if len(lost):
            what = f"{len(lost)} documents are marked as removed, the first {lost[0]}, and not there."
            yield Problem(where, what)
        yield from self._blocks("documents", run.start, held)
        for family, first in zip(self._header.families, self._header.first_table, strict=False):
            expected, sound = count * family.keys, None
            for table in range(len(family.tables)):
                faults, sums = self._table(run, family, first, table, held)
                where = f"run {run.id}, table {first + table}"
                for what, partitions in faults.items():
                    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
                    yield Problem(f"{where}, partition {partitions[0]}{more}", what)
                if faults:
                    continue
                if sums.count > expected or (sums.count < expected and not family.equal):
                    what = f"It has {sums.count} entries of {count} documents with {family.keys} keys."
                    yield Problem(where, what)
                elif sound is not None and sums != sound[1]:
                    yield Problem(where, f"It files other documents or keys than table {sound[0]}.")
                sound = sound or (first + table, sums)

    def _table(
        self, run: Run, family: Family, first: int, table: int, held: NDArray[np.bool_]
    ) -> tuple[dict[str, list[int]], Sums]:
        """Read one table, which should file the documents *held*.

        Returns what is wrong, with the numbers of the partitions of which it is, and the sums of its entries.
        """
        faults: dict[str, list[int]] = {}
        sums, cut = Sums(), run.cut(family)
        for partition in range(1 << cut):
            data = self._partition(run, first + table, partition)
            fault = partition_fault(data, cut, partition)
            if data is not None and fault is None:
                entries = decode_partition(data, cut).entries
                rows = entries.documents.astype(np.int64) - run.start
                if ((rows < 0) | (rows >= len(held))).any():
                    fault = "It holds documents that are not in the range of the run."
                elif not held[rows].all():
                    fault = "It holds documents that the run does not hold."
                sums = sums.add(entries.documents, family.tables.restore(table, entries.keys))
                self._advance(len(rows))
            if fault is not None:
                faults.setdefault(fault, []).append(partition)
        return faults, sums

    def _partition(self, run: Run, table: int, partition: int) -> bytes | memoryview | None:
        data: bytes | memoryview | None = self._transaction.get(
            partition_key(run.id, table, partition), db=self._databases["runs"]
        )
        return data

    def _advance(self, count: int) -> None:
        """Report that so many more entries or documents were read."""
        self._done += count
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


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
