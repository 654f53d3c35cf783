"""Reading what is left of a damaged index: documents whose block is whole, with the keys that tables have.

Each table of a family files all documents, so what one has lost can be read from another one. A read of a
damaged page may end the process; the caller can name what was read then, to have it passed over the next
time.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.decoding import UNREADABLE
from scrapy_neardup.index.protocol import Documents, Stored
from scrapy_neardup.index.tables import NO_KEY

from .blocks import decode_block, decode_logged
from .damage import partition_fault, state_faults
from .layout import HELD, decode_held, key_number, number_key, partition_key, read_state
from .partition import decode_partition
from .tombstones import read_removed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.tables import Family

    from .environment import Environment
    from .layout import Run, State

#: What reading a damaged database may raise.
BROKEN = (lmdb.Error, IndexCorrupted, *UNREADABLE)


@dataclass
class Losses:
    """What a damaged index has lost."""

    #: Numbers of documents that are gone: their blocks or the keys of their fingerprints cannot be read.
    gone: list[int] = field(default_factory=list)
    #: How many documents are there that some of their keys no longer find.
    weaker: int = 0
    #: Whether documents that were removed are back, since it cannot be read which those were.
    revived: bool = False

    def ranges(self) -> list[tuple[int, int]]:
        """Return the numbers of documents that are gone, as pairs of a first and a last one."""
        found = []
        for _, group in groupby(enumerate(sorted(set(self.gone))), lambda pair: pair[1] - pair[0]):
            numbers = [number for _, number in group]
            found.append((numbers[0], numbers[-1]))
        return found


class Salvage:
    """Reads the index in *environment*.

    *derive* returns keys that follow from what is stored of documents, by their family: uint64[n]. *at* is
    called with what is about to be read; what is in *skip* is not read, and counts as lost.
    """

    def __init__(
        self,
        environment: Environment,
        header: Header,
        derive: Callable[[Stored], dict[int, NDArray[np.uint64]]],
        at: Callable[[str], None],
        skip: Collection[str],
    ) -> None:
        self._environment = environment
        self._header = header
        self._derive = derive
        self._at = at
        self._skip = skip
        self.losses = Losses()

    def documents(self) -> Iterator[Documents]:
        """Yield what is left, run by run, then that of the log.

        Raises `IndexCorrupted` if the state cannot be read: then nobody knows what the tables hold.
        """
        with self._environment.read() as transaction:
            self._transaction = transaction
            state = read_state(self._environment, transaction)
            if broken := next(state_faults(state), None):
                raise IndexCorrupted(f"The state of the index cannot be true ({broken})")
            dead = self._dead()
            for run in state.runs:
                yield from self._of_run(run, dead)
            yield from self._of_log(state, dead)

    def _may(self, what: str) -> bool:
        """Say what is about to be read; returns whether it should be."""
        self._at(what)
        return what not in self._skip

    def _dead(self) -> NDArray[np.int64]:
        """Return the documents with a tombstone; none if that cannot be read, which counts as a loss."""
        if self._may("dead"):
            try:
                return read_removed(self._transaction, self._environment.databases["dead"])
            except BROKEN:
                pass
        self.losses.revived = True
        return np.empty(0, np.int64)

    def _of_run(self, run: Run, dead: NDArray[np.int64]) -> Iterator[Documents]:
        """Yield the documents of *run* that are left, but for the *dead*; add to `losses` what is not."""
        size, header = run.stop - run.start, self._header
        keys = np.full((header.keys, size), NO_KEY)
        known = np.zeros((len(header.families), size), bool)
        lacking = np.zeros(size, bool)
        for place, family in enumerate(header.families):
            known[place], whole = self._keys(run, place, family, keys[header.rows[place]])
            if not whole:
                lacking |= ~known[place] if family.keys == 1 else True
        removed = dead[(dead >= run.start) & (dead < run.stop)] - run.start
        held = self._held(run)
        # Where nobody says which documents were left out as removed, only what is in a table was not.
        alive: NDArray[np.bool_] = np.any(known, axis=0) if held is None else held.copy()
        alive[removed] = False
        found = np.zeros(size, bool)
        for first, stored in self._blocks(run):
            rows = np.arange(first - run.start, first - run.start + len(stored.urls))
            inside = np.flatnonzero((rows >= 0) & (rows < size))
            inside = inside[alive[rows[inside]] & ~found[rows[inside]]]
            rows, stored = rows[inside], stored.take(inside)
            if not len(rows):
                continue
            found[rows] = True
            part = keys[:, rows]
            for place, derived in self._derive(stored).items():
                unknown = ~known[place, rows]
                part[header.rows[place]][:, unknown] = derived[unknown]
                known[place, rows] = True
            # Without its fingerprint a document could not be found by what is like it.
            near = [place for place, family in enumerate(header.families) if not family.equal]
            usable = known[near][:, rows].all(axis=0)
            self.losses.gone += (rows[~usable] + run.start).tolist()
            self.losses.weaker += int(lacking[rows][usable].sum())
            yield Documents(part, *stored).take(np.flatnonzero(usable))
        lost = ~found if held is None else alive & ~found
        lost[removed] = False
        self.losses.gone += (np.flatnonzero(lost) + run.start).tolist()

    def _held(self, run: Run) -> NDArray[np.bool_] | None:
        """Return which documents *run* holds (bool[n]), None if that cannot be read."""
        data = self._partition(run, HELD, 0)
        with contextlib.suppress(*BROKEN):
            return None if data is None else decode_held(data, run)
        return None

    def _keys(
        self, run: Run, place: int, family: Family, keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], bool]:
        """Put the keys of a family of *run* into *keys* (uint64[keys, n]).

        Returns of which documents there are some (bool[n]), and whether a table of the family is whole.
        """
        cut, first = run.cut(family), self._header.first_table[place]
        parts, whole = [], False
        for table in range(len(family.tables)):
            sound = True
            for partition in range(1 << cut):
                data = self._partition(run, first + table, partition)
                if data is None or partition_fault(data, cut, partition) is not None:
                    sound = False
                    continue
                entries = decode_partition(data, cut).entries
                rows = entries.documents.astype(np.int64) - run.start
                if ((rows < 0) | (rows >= keys.shape[1])).any():
                    sound = False
                    continue
                filed = family.tables.restore(table, entries.keys)
                parts.append(np.rec.fromarrays((rows, filed), dtype=[("row", "<i8"), ("key", "<u8")]))
            whole |= sound
        known = np.zeros(keys.shape[1], bool)
        if parts:
            entries_of = np.unique(np.concatenate(parts))
            rows, filed = entries_of["row"], entries_of["key"]
            starts = np.searchsorted(rows, rows)
            nth = np.arange(len(rows)) - starts
            fits = nth < family.keys
            keys[nth[fits], rows[fits]] = filed[fits]
            known[rows] = True
        return known, whole

    def _partition(self, run: Run, table: int, partition: int) -> bytes | None:
        if not self._may(f"run {run.id}, table {table}, partition {partition}"):
            return None
        try:
            key = partition_key(run.id, table, partition)
            data = self._transaction.get(key, db=self._environment.databases["runs"])
            return None if data is None else bytes(data)
        except BROKEN:
            return None

    def _blocks(self, run: Run) -> Iterator[tuple[int, Stored]]:
        for first, data in self._values("documents", run.start, run.stop):
            stored = None
            with contextlib.suppress(*BROKEN):
                stored = decode_block(data, self._header, check=True)
            if stored is not None:
                yield first, stored

    def _of_log(self, state: State, dead: NDArray[np.int64]) -> Iterator[Documents]:
        """Do with the log what `_of_run` does with a run."""
        left = np.ones(state.next - state.flushed, bool)
        left[dead[dead >= state.flushed] - state.flushed] = False
        for first, data in self._values("log", state.flushed, state.next):
            try:
                documents = decode_logged(data, self._header, check=True)
            except BROKEN:
                continue
            rows = np.arange(first, first + len(documents.urls)) - state.flushed
            inside = np.flatnonzero((rows >= 0) & (rows < len(left)))
            inside = inside[left[rows[inside]]]
            left[rows[inside]] = False
            if len(inside):
                yield documents.take(inside)
        self.losses.gone += (np.flatnonzero(left) + state.flushed).tolist()

    def _values(self, name: str, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Yield the blocks of a database that begin in [start, stop), as far as they can be read."""
        database, number, stride = self._environment.databases[name], start, 1
        while number < stop:
            if not self._may(f"{name} from {number}"):
                number += stride
                stride *= 2  # each try may cost a process, and a page may hold a thousand documents
                continue
            try:
                with self._transaction.cursor(database) as cursor:
                    if not cursor.set_range(number_key(number)):
                        return
                    found, data = key_number(cursor.key()), bytes(cursor.value())
            except BROKEN:
                number += 1  # beyond what the damaged page holds, the next one may be sound
                continue
            if found >= stop:
                return
            yield found, data
            number, stride = max(number, found) + 1, 1
