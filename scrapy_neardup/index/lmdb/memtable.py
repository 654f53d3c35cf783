"""The newest documents of an index on disk: all that no run holds yet."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.index.columns import Columns

from .layout import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Documents
    from scrapy_neardup.index.reservation import Reservation

    from .snapshot import Snapshot

#: Documents whose temporary numbers still lead to them after they have got another.
ALIASES = 1 << 16


class Group(NamedTuple):
    """What one commit writes."""

    #: Temporary numbers of the documents.
    numbers: list[int]
    documents: Documents
    #: Documents to be marked as removed.
    removals: list[int]


class Overlay:
    """What lies over the runs: documents that are not in one yet, and removals that are not on disk yet.

    A document is *pending* under a temporary, negative number; once confirmed, it is *queued*; it goes to the log
    with a *group*, which gives it its number; and it leaves when a run holds it. Documents that other processes
    have committed come in by `follow`. Needs the lock of the index.
    """

    def __init__(self, header: Header) -> None:
        self.columns = Columns(header)
        #: Confirmed documents, oldest first; those of the group on its way to the disk lead.
        self.queue: deque[int] = deque()
        #: Documents to be marked as removed; those of the group still under their temporary numbers.
        self.removals: list[int] = []
        self._pending: dict[int, Reservation | None] = {}
        self._group: set[int] = set()
        #: Numbers on disk of documents that were handed out under a temporary one.
        self._aliases: OrderedDict[int, int] = OrderedDict()
        #: First numbers of blocks of our own, until the snapshot has them.
        self._own: set[int] = set()
        #: Removals that are on disk since this number of changes, until the snapshot has them.
        self._marked: tuple[int, set[int]] = (0, set())
        #: What all this agrees with.
        self._state = State()
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
    def unfolded(self) -> int:
        """How many documents no run holds yet, of those that the last look has shown."""
        return self._state.next - self._state.folded

    @property
    def committing(self) -> bool:
        """Whether a group is on its way to the disk."""
        return bool(self._group)

    def number(self, document: int) -> int:
        """Return the number that a document has now."""
        return self._aliases.get(document, document)

    # One document

    def reserve(
        self, keys: NDArray[np.uint64], record: NDArray[Any], url: str, holder: Reservation | None
    ) -> int:
        """Let a document in as pending; returns its temporary number."""
        number = self._serial
        self._serial -= 1
        self.columns.append_one(number, keys, record, url)
        self._pending[number] = holder
        return number

    def holder(self, document: int) -> Reservation | None:
        """Return what holds a pending document; None if it is not pending."""
        return self._pending.get(document)

    def confirm(self, document: int) -> bool:
        """Queue a pending document; returns whether it was one."""
        if document not in self._pending:
            return False
        del self._pending[document]
        self.queue.append(document)
        return True

    def release(self, document: int) -> None:
        """Drop a pending document."""
        if document in self._pending:
            del self._pending[document]
            self.columns.remove([document])

    def discard(self, documents: Sequence[int], snapshot: Snapshot) -> None:
        """Remove documents, here and from the runs of *snapshot*; and those that it does not know of yet.

        Whether there are such, stored by another process meanwhile, is for the commit to find out.
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
        """Start to commit at most *size* documents, and all removals; None if there is nothing to commit."""
        numbers = [self.queue[place] for place in range(min(size, len(self.queue)))]
        removals = [number for number in self.removals if number >= 0]
        if not numbers and not removals:
            return None
        self._group = set(numbers)
        return Group(numbers, self.columns.documents(numbers), removals)

    def commit(self, group: Group, state: State) -> None:
        """Give the documents of *group* their numbers: it is on disk, which has led to *state*."""
        self._group = set()
        new = range(state.next - len(group.numbers), state.next)
        self.columns.renumber(group.numbers, new)
        self._aliases.update(zip(group.numbers, new, strict=True))
        while len(self._aliases) > ALIASES:
            # In a plain dict the first would be looked for among all that have gone.
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
        """Queue the documents of the group again, but for those removed meanwhile: nothing was written."""
        gone = self._group.intersection(self.removals)
        self._group = set()
        self.removals = [number for number in self.removals if number >= 0]
        self.queue = deque(number for number in self.queue if number not in gone)
        self.columns.remove(gone)

    def trim(self, size: int) -> int:
        """Forget the oldest of more than *size* queued documents, but for the group; returns how many."""
        forgotten = max(0, len(self.queue) - len(self._group) - size)
        for _ in range(forgotten):
            self.columns.remove([self.queue[len(self._group)]])
            del self.queue[len(self._group)]
        return forgotten

    def follow(self, snapshot: Snapshot) -> None:
        """Take in what the log has, and leave out what runs hold, as *snapshot* sees them.

        While a group is on its way to the disk, its block could not be told from those of others: then this waits
        for the call that follows the commit.
        """
        state, before = snapshot.state, self._state
        if state is before:
            return
        self._hide_removals(snapshot)
        if self._group:
            return
        if state.folded > before.folded:
            numbers = self.columns.numbers()
            self.columns.remove(numbers[(numbers >= 0) & (numbers < state.folded)].tolist())
        for first, documents in snapshot.log(max(before.next, state.folded), skip=self._own, check=True):
            self.columns.append(np.arange(first, first + len(documents.urls)), documents)
        self._own.clear()
        self.columns.remove(snapshot.dead[snapshot.dead >= state.folded].tolist())
        self._state = state

    def _hide_removals(self, snapshot: Snapshot) -> None:
        """Have *snapshot* treat as removed what is not yet marked so on disk, or was not when it looked."""
        since, marked = self._marked
        if snapshot.state.removals >= since:
            marked.clear()
        snapshot.hide(marked.union(number for number in self.removals if number >= 0))
