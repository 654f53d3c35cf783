"""The newest documents of an index on disk, in memory, over a snapshot of what is committed."""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index.memory import Columns
from scrapy_neardup.index.protocol import Stored

from .layout import State
from .snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Documents
    from scrapy_neardup.index.reservation import Reservation

    from .environment import Environment


class Group(NamedTuple):
    """What one group commit writes."""

    #: The temporary number of each of *documents*.
    numbers: list[int]
    documents: Documents
    #: Numbers of documents that get a tombstone.
    removals: list[int]


class Memtable:
    """Documents that are not in a run yet, and removals that are not on disk yet, over a snapshot.

    A new document is *pending* under a temporary, negative number. Once it is confirmed, it is *queued*. It
    goes to the log with a *group*, whose commit gives it its number. It leaves when a run holds it. Documents
    that other processes have committed to the log come in by `look`. All methods need the lock of the
    environment.
    """

    def __init__(self, environment: Environment, header: Header) -> None:
        self._environment = environment
        self.snapshot = Snapshot(environment, header)
        self.columns = Columns(header)
        #: What holds the reservation of each pending document, by its temporary number.
        self.pending: dict[int, Reservation] = {}
        #: Numbers of the confirmed documents, oldest first. Those of the group on its way to the disk come
        #: first.
        self.queue: deque[int] = deque()
        #: Numbers of documents that wait for a tombstone. Those of the group have temporary numbers still.
        self.removals: list[int] = []
        #: Temporary numbers of the group on its way to the disk.
        self._group: set[int] = set()
        #: For each temporary number that was handed out, the number on disk.
        self._aliases: OrderedDict[int, int] = OrderedDict()
        #: The first numbers of the blocks that this process has committed, until the snapshot shows them.
        self._own: set[int] = set()
        #: The state that the columns agree with, and the document up to which they have taken in the log.
        self._state, self._taken = State(), 0
        self._serial = 0
        self.look()

    @property
    def changes(self) -> int:
        """How many documents and removals wait for the disk."""
        return len(self.queue) + len(self.removals)

    @property
    def committing(self) -> bool:
        """Whether a group is on its way to the disk."""
        return bool(self._group)

    def number(self) -> int:
        """Return a temporary number."""
        self._serial -= 1
        return self._serial

    # Keeping up with other processes

    def look(self) -> None:
        """Take in what other processes have committed, unless a commit of this process is under way.

        Its block could not be told from those of others.
        """
        if self.committing:
            return
        if self._environment.last_transaction() != self.snapshot.commit:
            self.snapshot.refresh()
        if self._state is not self.snapshot.state:
            self._follow()

    def _follow(self) -> None:
        """Take in the documents of the log that the snapshot shows, and drop those that its runs hold."""
        state = self.snapshot.state
        self._hide_removals()
        if state.flushed > self._state.flushed:
            numbers = self.columns.numbers()
            self.columns.remove(numbers[(numbers >= 0) & (numbers < state.flushed)].tolist())
        for first, documents in self.snapshot.log(max(self._taken, state.flushed)):
            if first not in self._own:
                self.columns.append(np.arange(first, first + len(documents.urls)), documents)
            self._taken = first + len(documents.urls)
        self._own.clear()
        self.columns.remove(self.snapshot.dead[self.snapshot.dead >= state.flushed].tolist())
        self._state = state

    def _hide_removals(self) -> None:
        """Make the snapshot hide the removed documents that have no tombstones yet."""
        self.snapshot.hide({number for number in self.removals if number >= 0})

    # Reading

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of *documents* (int64[n]), in their order."""
        numbers = [self._aliases.get(document, document) for document in documents.tolist()]
        new = [number for number in numbers if number in self.columns]
        if len(new) == len(numbers):
            return self.columns.fetch(new)
        old = [number for number in numbers if number not in self.columns]
        stored = Stored.concatenate([self.columns.fetch(new), self.snapshot.fetch(np.array(old, np.int64))])
        place = {number: row for row, number in enumerate([*new, *old])}
        return stored.take(np.array([place[number] for number in numbers]))

    def count(self) -> int:
        """Return how many documents are stored and not removed, but for pending ones."""
        state = self.snapshot.state
        removed = int(np.searchsorted(self.snapshot.dead, state.flushed))
        in_runs = sum(run.documents for run in state.runs) - removed
        return in_runs + len(self.columns) - len(self.pending)

    # Removing

    def discard(self, documents: Sequence[int]) -> None:
        """Remove *documents* from the columns, and queue tombstones for those that are on disk.

        A number that the snapshot does not know yet may be that of a document that another process has just
        stored: it is queued, too, and the commit ignores it if there is no such document.
        """
        numbers = [self._aliases.get(document, document) for document in documents]
        filed, state = np.array([number for number in numbers if number >= 0], np.int64), self.snapshot.state
        self.removals += filed[state.known(filed, self.snapshot.held) | (filed >= state.next)].tolist()
        for number in numbers:
            if number in self._group:
                self.removals.append(number)
            elif self.pending.pop(number, None) is None and number < 0 and number in self.columns:
                self.queue.remove(number)
            self.columns.remove([number])
        self._hide_removals()

    # Commits

    def begin(self, size: int) -> Group | None:
        """Return a group of at most *size* documents and all removals, to be committed.

        Returns None if there is nothing.
        """
        numbers = [*islice(self.queue, size)]
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
        while len(self._aliases) > self._environment.tuning.aliases:
            # A plain dict would look for its first key among all that were deleted.
            self._aliases.popitem(last=False)
        for _ in group.numbers:
            self.queue.popleft()
        if group.numbers:
            self._own.add(new.start)
        written = set(group.removals)
        self.removals = [self._aliases.get(each, each) for each in self.removals if each not in written]
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
        on_their_way = len(self._group)
        forgotten = [*islice(self.queue, on_their_way, max(on_their_way, len(self.queue) - size))]
        for number in forgotten:
            self.queue.remove(number)
        self.columns.remove(forgotten)
        return len(forgotten)
