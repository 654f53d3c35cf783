"""The check of an index on disk from end to end: state, tombstones, log, blocks, all partitions.

Everything is read once, and each checksum is verified. What a killed process leaves behind without harm is no
problem: partitions and blocks of a run that was never finished, which the next maintenance sweeps away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.header import UNREADABLE
from scrapy_neardup.index.protocol import Documents

from .directory import DAMAGED, unavailable
from .layout import (
    HELD,
    decode_block,
    decode_held,
    decode_logged,
    decode_partition,
    key_number,
    number_key,
    partition_key,
    read_dead,
    read_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.search import Entries

    from .environment import Environment
    from .index import LmdbIndex
    from .layout import Run

#: What reading a damaged database may raise.
BROKEN = (lmdb.Error, IndexCorrupted, *UNREADABLE)


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

    *progress* is called with how many tables were read so far, and how many there are. Raises
    `IndexUnavailable` if LMDB or the memory fails.
    """
    environment.require_same_process()  # a forked child would wait for its lock for ever
    with environment.scan_lock:
        try:
            with environment.read() as transaction:
                reader = Reader(environment, header, transaction)
                found = list(reader.problems(progress))
                yield from (Problem(where, what) for where, what in reader.broken.items())
                yield from found
        except IndexCorrupted as error:
            yield Problem("state", str(error))
        except DAMAGED as error:
            yield Problem("file", f"LMDB cannot read it ({error}).")
        except (lmdb.Error, MemoryError) as error:
            raise unavailable(environment.path, error, "checked") from error


class Reader:
    """Reads all that one transaction sees of an index, of which parts may be damaged.

    What is not sound is left out, and noted in *broken*: where, and why. Raises `IndexCorrupted` if the state
    cannot be read.
    """

    def __init__(self, environment: Environment, header: Header, transaction: lmdb.Transaction) -> None:
        self._databases = environment.databases
        self._transaction = transaction
        self.header = header
        self.state = read_state(environment, transaction)
        self.broken: dict[str, str] = {}

    def _breaks(self, where: str, error: Exception) -> None:
        said = str(error.__cause__ or error).partition(": run ")[0].rstrip(".")
        self.broken.setdefault(where, f"{said[:1].upper()}{said[1:]}.")

    def dead(self) -> NDArray[np.int64]:
        """Return the documents with a tombstone (int64[n]), none if that cannot be read."""
        try:
            return read_dead(self._transaction, self._databases["dead"], self.state)
        except BROKEN as error:
            self._breaks("dead", error)
            return np.empty(0, np.int64)

    def held(self, run: Run) -> NDArray[np.bool_] | None:
        """Return which documents *run* holds (bool[n]), None if that cannot be read."""
        try:
            return decode_held(self._partition(run, HELD, 0), run)
        except BROKEN as error:
            self._breaks(f"run {run.id}", error)
            return None

    def blocks(self, name: str, start: int, stop: int) -> Iterator[tuple[int, Documents]]:
        """Yield the blocks of database *name* that begin in [start, stop), each with its first number."""
        number = start
        while number < stop:
            try:
                with self._transaction.cursor(self._databases[name]) as cursor:
                    if not cursor.set_range(number_key(number)):
                        return
                    first, data = key_number(cursor.key()), bytes(cursor.value())
                if first >= stop:
                    return
                number = max(first, number)
                if name == "log":
                    documents = decode_logged(data, self.header, check=number_key(first))
                else:
                    stored = decode_block(data, self.header, check=number_key(first))
                    documents = Documents(np.empty((0, len(stored.urls)), np.uint64), *stored)
            except BROKEN as error:
                self._breaks(f"{name}, block {number}", error)
                number += 1  # beyond what the damaged page holds, the next one may be sound
                continue
            number = first + 1
            yield first, documents

    def entries(self, run: Run, table: int, cut: int) -> Iterator[Entries]:
        """Yield the entries of each partition of a *table* of *run*, whose keys it permutes."""
        for partition in range(1 << cut):
            try:
                data = self._partition(run, table, partition)
                found = decode_partition(data, cut, check=partition_key(run.id, table, partition)).entries
                if (
                    len(found.keys)
                    and not run.start <= found.documents.min() <= found.documents.max() < run.stop
                ):
                    raise IndexCorrupted("It holds documents of other runs.")
            except BROKEN as error:  # noqa: PERF203
                self._breaks(f"run {run.id}, table {table}, partition {partition}", error)
            else:
                yield found

    def _partition(self, run: Run, table: int, partition: int) -> bytes:
        key = partition_key(run.id, table, partition)
        return bytes(self._transaction.get(key, b"", db=self._databases["runs"]))

    def problems(self, progress: Callable[[int, int], None] | None) -> Iterator[Problem]:
        """Read everything, and yield what is wrong beside what is *broken* then."""
        state = self.state
        borders = [*((run.start, run.stop) for run in state.runs), (state.flushed, state.next)]
        if state.flushed > state.next or any(one[1] != after[0] for one, after in pairwise(borders)):
            yield Problem("state", "Its runs and its log do not follow each other.")
            return
        dead = self.dead()
        if len(dead) and dead[-1] >= state.next:
            yield Problem("dead", f"Document {dead[-1]} is marked as removed, and was never added.")
        for place, run in enumerate(state.runs, 1):
            yield from self._run(run)
            if progress is not None:
                progress(place, len(state.runs))
        yield from self._cover("log", state.flushed, np.ones(state.next - state.flushed, bool))
        with self._transaction.cursor(self._databases["log"]) as cursor:
            if cursor.first() and (number := key_number(cursor.key())) < state.flushed:
                yield Problem("log", f"A block begins with document {number}, which is in a run.")
            if cursor.set_range(number_key(state.next)):
                number = key_number(cursor.key())
                yield Problem("log", f"A block begins with document {number}, which the state does not know.")

    def _run(self, run: Run) -> Iterator[Problem]:
        """Yield the problems of *run*: each document that it holds is in a block, and in each table."""
        held = self.held(run)
        if held is None:
            return
        yield from self._cover("documents", run.start, held)
        for family, first in zip(self.header.families, self.header.first_table, strict=False):
            expected = run.documents * family.keys
            for table in range(first, first + len(family.tables)):
                count, before = 0, len(self.broken)
                for entries in self.entries(run, table, run.cut(family)):
                    count += len(entries.keys)
                    if not held[entries.documents.astype(np.int64) - run.start].all():
                        yield Problem(
                            f"run {run.id}, table {table}", "It files documents that are not there."
                        )
                exact = not family.equal or family.keys == 1
                if before == len(self.broken) and (count > expected or (exact and count < expected)):
                    what = f"It has {count} entries of {run.documents} documents with {family.keys} keys."
                    yield Problem(f"run {run.id}, table {table}", what)

    def _cover(self, name: str, start: int, mask: NDArray[np.bool_]) -> Iterator[Problem]:
        """Tell which documents of *mask* (bool[n]), from *start* on, are in no sound block."""
        missing, expected = mask.copy(), start
        for first, documents in self.blocks(name, start, start + len(mask)):
            if first < expected or first + len(documents.urls) > start + len(mask):
                yield Problem(f"{name}, block {first}", "It overlaps the next or the previous.")
            expected = first + len(documents.urls)
            missing[first - start : expected - start] = False
        if missing.any():
            lost = start + int(missing.argmax())
            yield Problem(name, f"{missing.sum()} documents cannot be read, the first {lost}.")
