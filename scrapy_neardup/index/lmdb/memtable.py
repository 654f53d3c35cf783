"""The newest documents of an index on disk, in memory, and read as one with what is in its runs."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, NamedTuple

import lmdb
import numpy as np

from scrapy_neardup.index.columns import Columns
from scrapy_neardup.index.decoding import decoding
from scrapy_neardup.index.protocol import Stored
from scrapy_neardup.index.search import closest, search_all
from scrapy_neardup.index.sorted_arrays import is_member

from .layout import State
from .search import is_known, search_one, search_runs
from .snapshot import Snapshot
from .tuning import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.matches import Matches
    from scrapy_neardup.index.protocol import Documents, Lookup
    from scrapy_neardup.index.reservation import Reservation
    from scrapy_neardup.index.search import Met

    from .environment import Environment
    from .tuning import Tuning


class Group(NamedTuple):
    """What one group commit writes."""

    #: The temporary number of each of *documents*.
    numbers: list[int]
    documents: Documents
    #: Numbers of documents that get a tombstone.
    removals: list[int]


class Memtable:
    """Documents that are not in a run yet, and removals that are not on disk yet.

    A new document is *pending* under a temporary, negative number. Once it is confirmed, it is *queued*. It
    goes to the log with a *group*, whose commit gives it its number. It leaves when a run holds it. Documents
    that other processes have committed to the log come in by `follow`. All methods need the lock of the
    environment.
    """

    def __init__(self, header: Header, tuning: Tuning = DEFAULT) -> None:
        self.columns = Columns(header, tuning)
        self._most_aliases = tuning.aliases
        #: Numbers of the confirmed documents, oldest first. Those of the group on its way to the disk come
        #: first.
        self.queue: deque[int] = deque()
        #: Numbers of documents that wait for a tombstone. Those of the group have temporary numbers still.
        self.removals: list[int] = []
        #: What holds the reservation of each pending document.
        self._pending: dict[int, Reservation] = {}
        #: Temporary numbers of the group on its way to the disk.
        self._group: set[int] = set()
        #: For each temporary number that was handed out, the number on disk.
        self._aliases: OrderedDict[int, int] = OrderedDict()
        #: The first numbers of the blocks that this process has committed, until the snapshot shows them.
        self._own: set[int] = set()
        #: The documents that got a tombstone by the commit with this count of `State.removals`, or an earlier
        #: one, until the snapshot shows it.
        self._marked: tuple[int, set[int]] = (0, set())
        #: The state that the columns agree with.
        self._state = State()
        #: The next temporary number.
        self._serial = -1

    @property
    def pending(self) -> int:
        """How many documents are pending."""
        return len(self._pending)

    @property
    def changes(self) -> int:
        """How many documents and removals wait for the disk."""
        return len(self.queue) + len(self.removals)

    @property
    def unflushed(self) -> int:
        """How many documents the log holds, as far as the last snapshot has shown."""
        return self._state.next - self._state.flushed

    @property
    def committing(self) -> bool:
        """Whether a group is on its way to the disk."""
        return bool(self._group)

    def number(self, document: int) -> int:
        """Return the number that *document*, perhaps a temporary one, has now."""
        return self._aliases.get(document, document)

    def fetch(self, documents: NDArray[np.int64], snapshot: Snapshot) -> Stored:
        """Return what is stored of *documents* (int64[n]) here and in the runs of *snapshot*, in order."""
        numbers = [self.number(document) for document in documents.tolist()]
        new = [place for place, number in enumerate(numbers) if number in self.columns]
        if len(new) == len(numbers):
            return self.columns.fetch(numbers)
        if not new:
            return snapshot.fetch(np.array(numbers, np.int64))
        old = [place for place, number in enumerate(numbers) if number not in self.columns]
        parts = [
            self.columns.fetch(numbers[place] for place in new),
            snapshot.fetch(np.array([numbers[place] for place in old], np.int64)),
        ]
        return Stored.concatenate(parts).take(np.argsort(new + old))

    # One document

    def reserve(self, document: Documents, holder: Reservation) -> int:
        """Take in a pending document, one row. Returns its temporary number."""
        number = self._serial
        self._serial -= 1
        keys, records, urls, notes = document
        self.columns.append_one(number, keys[:, 0], records[0], urls[0], notes[0])
        self._pending[number] = holder
        return number

    def holder(self, document: int) -> Reservation | None:
        """Return what holds a pending document; None if it is not pending."""
        return self._pending.get(document)

    def confirm(self, document: int, note: bytes) -> bool:
        """Queue a pending document with its *note*; returns whether it was pending."""
        if document not in self._pending:
            return False
        del self._pending[document]
        self.columns.annotate(document, note)
        self.queue.append(document)
        return True

    def release(self, document: int) -> None:
        """Drop a pending document."""
        if document in self._pending:
            del self._pending[document]
            self.columns.remove([document])

    def discard(self, documents: Sequence[int], snapshot: Snapshot) -> None:
        """Remove *documents* from the columns, and queue tombstones for those that are on disk.

        A number that *snapshot* does not know yet may be that of a document that another process has just
        stored: it is queued, too, and the commit ignores it if there is no such document.
        """
        numbers = [self.number(document) for document in documents]
        elsewhere = sorted({number for number in numbers if number >= 0 and number not in self.columns})
        filed = set(snapshot.filed(np.array(elsewhere, np.int64)).tolist()) if elsewhere else set()
        for number in numbers:
            on_disk = number in filed or number >= snapshot.state.next
            on_disk = on_disk or (number >= 0 and number in self.columns)
            if on_disk or number in self._group:
                self.removals.append(number)
            elif number in self._pending:
                del self._pending[number]
            elif number in self.columns:
                self.queue.remove(number)
            self.columns.remove([number])
        self._hide_removals(snapshot)

    # Commits

    def begin(self, size: int) -> Group | None:
        """Return a group of at most *size* documents and all removals, to be committed.

        Returns None if there is nothing.
        """
        numbers = [self.queue[place] for place in range(min(size, len(self.queue)))]
        removals = [number for number in self.removals if number >= 0]
        if not numbers and not removals:
            return None
        self._group = set(numbers)
        return Group(numbers, self.columns.documents(numbers), removals)

    def commit(self, group: Group, state: State) -> None:
        """Give the documents of *group* their numbers, now that it is on disk and has led to *state*."""
        self._group = set()
        new = range(state.next - len(group.numbers), state.next)
        self.columns.renumber(group.numbers, new)
        self._aliases.update(zip(group.numbers, new, strict=True))
        while len(self._aliases) > self._most_aliases:
            # A plain dict would look for its first key among all that were deleted.
            self._aliases.popitem(last=False)
        for _ in group.numbers:
            self.queue.popleft()
        if group.numbers:
            self._own.add(new.start)
        written = set(group.removals)
        self.removals = [self.number(number) for number in self.removals if number not in written]
        self._marked = (state.removals, self._marked[1] | written)
        self.columns.remove(self.removals)

    def roll_back(self) -> None:
        """Queue the documents of the group again, because nothing was written.

        Drop those removed meanwhile.
        """
        gone = self._group.intersection(self.removals)
        self._group = set()
        self.removals = [number for number in self.removals if number >= 0]
        self.queue = deque(number for number in self.queue if number not in gone)
        self.columns.remove(gone)

    def trim(self, size: int) -> int:
        """Drop the oldest queued documents until *size* are left beside those of the group.

        Returns how many went.
        """
        forgotten = max(0, len(self.queue) - len(self._group) - size)
        for _ in range(forgotten):
            self.columns.remove([self.queue[len(self._group)]])
            del self.queue[len(self._group)]
        return forgotten

    def follow(self, snapshot: Snapshot) -> None:
        """Take in the documents of the log that *snapshot* shows, and drop those that its runs hold.

        While a group is on its way to the disk, its block could not be told from those of other processes.
        Then only removals are brought up to date, and the call after the commit does the rest.
        """
        state, before = snapshot.state, self._state
        if state is before:
            return
        self._hide_removals(snapshot)
        if self._group:
            return
        if state.flushed > before.flushed:
            numbers = self.columns.numbers()
            self.columns.remove(numbers[(numbers >= 0) & (numbers < state.flushed)].tolist())
        for first, documents in snapshot.log(max(before.next, state.flushed), skip=self._own, check=True):
            self.columns.append(np.arange(first, first + len(documents.urls)), documents)
        self._own.clear()
        self.columns.remove(snapshot.dead[snapshot.dead >= state.flushed].tolist())
        self._state = state

    def _hide_removals(self, snapshot: Snapshot) -> None:
        """Make *snapshot* hide the removed documents whose tombstones it does not show yet."""
        since, marked = self._marked
        if snapshot.state.removals >= since:
            marked.clear()
        snapshot.hide(marked.union(number for number in self.removals if number >= 0))


class Contents:
    """The documents of the index in *environment*: the memtable of this process over what is committed.

    All methods need the lock of the environment. Those that read raise `IndexCorrupted`.
    """

    def __init__(self, environment: Environment, header: Header) -> None:
        self._environment = environment
        self.memtable = Memtable(header, environment.tuning)
        self.snapshot = Snapshot(environment, header)
        #: The error that keeps later commits from being seen; None if all are seen.
        self.behind: lmdb.Error | None = None
        self.snapshot.refresh()
        self.memtable.follow(self.snapshot)

    # Keeping up with other processes

    def catch_up(self) -> None:
        """Take in what other processes have committed, as far as that can be seen at the moment."""
        self.look()
        self.memtable.follow(self.snapshot)  # the snapshot moves on by itself when the memory map moves

    def look(self) -> None:
        """Move on to the newest commit, unless one of this process is under way."""
        if self.memtable.committing or self._environment.last_transaction() == self.snapshot.commit:
            return
        try:
            self.snapshot.refresh(wait=False)
        except lmdb.Error as error:
            if not self.snapshot.attached:
                raise
            self.behind = error  # the older view has to do until the map can be moved
            return
        self.memtable.follow(self.snapshot)
        self.behind = None

    # Reading

    def search(self, family: int, keys: NDArray[np.uint64], distance: int, most: int, first: int) -> Matches:
        """Return the documents of a *family* within *distance* bits of one of *keys* (uint64[n]), each once.

        For *most* see `search_all`, for *first* `search_runs`.
        """
        with decoding("A partition"):
            return search_all(
                (
                    lambda some: search_runs(self.snapshot, family, some, distance, most, first),
                    lambda some: self.memtable.columns.search(family, some, distance, most, first),
                ),
                keys,
                most,
            )

    def search_closest(self, lookup: Lookup, keys: NDArray[np.uint64]) -> Met:
        """Look up the only one of *keys* (uint64[1]) within the bounds of *lookup*."""
        family, distance, *_, compared = lookup
        with decoding("A partition"):
            in_runs, narrowed = search_one(self.snapshot, family, int(keys[0]), distance, compared)
            in_memory = self.memtable.columns.search(family, keys, distance)
            dead = self.snapshot.dead
            gone = (lambda documents: is_member(documents, dead)) if len(dead) else None
            found = closest([*in_runs, *in_memory], lookup.nearest, gone)
        return found._replace(narrowed=True) if narrowed else found

    def is_known(self, family: int, keys: list[int]) -> bool:
        """Whether any document, perhaps a removed one, has one of *keys* of a family of equal keys."""
        with decoding("A partition"):
            return self.memtable.columns.is_known(family, keys) or is_known(self.snapshot, family, keys)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of *documents* (int64[n]), in their order."""
        return self.memtable.fetch(documents, self.snapshot)

    def count(self) -> int:
        """Return how many documents are stored and not removed, but for pending ones."""
        state = self.snapshot.state
        removed = int(np.searchsorted(self.snapshot.dead, state.flushed))
        in_runs = sum(run.documents for run in state.runs) - removed
        return in_runs + len(self.memtable.columns) - self.memtable.pending
