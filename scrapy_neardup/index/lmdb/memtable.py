"""The newest documents, in memory: those that are pending, wait for a commit, or are in the log."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from operator import not_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.index.header import Header
from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.index.protocol import Documents, Stored
from scrapy_neardup.index.search import Matches

from .environment import Environment
from .layout import State
from .snapshot import Snapshot


class Filed:
    """A document in memory: its keys, one after another, and its record, both as bytes; URL and note."""

    __slots__ = ("keys", "note", "number", "record", "url")

    def __init__(self, number: int, keys: bytes, record: bytes, url: str, note: bytes) -> None:
        #: None once it is removed.
        self.number: int | None = number
        self.keys, self.record, self.url, self.note = keys, record, url, note


class _Part:
    """The keys of up to so many documents, in columns. Those that are removed stay."""

    def __init__(self, header: Header, rows: int) -> None:
        self.filed: list[Filed] = []
        self.keys = np.empty((header.keys, rows), np.uint64)  # memory is taken as rows are filled
        #: By family of equal keys, the document that has a key, or several.
        self.having: list[dict[int, Filed | list[Filed]]] = [{} for _ in header.families]
        kinds = zip(self.having, header.rows, header.families, strict=True)
        self._equal = [(having, places) for having, places, family in kinds if family.equal]

    def append(self, new: Sequence[Filed]) -> None:
        start, keys = len(self.filed), _keys_of(new, len(self.keys))
        self.filed += new
        self.keys[:, start : len(self.filed)] = keys.T
        for filed, some in zip(new, keys.tolist(), strict=True):
            for having, places in self._equal:
                for key in some[places]:
                    others = having.setdefault(key, filed)
                    if isinstance(others, list):
                        others.append(filed)
                    elif others is not filed:
                        having[key] = [others, filed]


def _keys_of(filed: Sequence[Filed], each: int) -> NDArray[np.uint64]:
    """Return the keys of documents that have so many *each*: uint64[n, each]."""
    return np.ndarray((len(filed), each), np.uint64, bytearray().join([one.keys for one in filed]))


class Columns:
    """Documents in memory, looked for in parts of so many *rows*: few are moved if many go."""

    def __init__(self, header: Header, rows: int = 1 << 14) -> None:
        self._header, self._size, self._rows = header, header.keys, rows
        #: The documents by their numbers.
        self.filed: dict[int, Filed] = {}
        self._parts = [_Part(header, rows)]
        #: Documents that are in no part, since nothing was looked for yet.
        self._new: list[Filed] = []

    def append(self, numbers: Sequence[int], documents: Documents) -> None:
        """Add *documents* under *numbers*."""
        keys, records = documents.keys.T.tobytes(), documents.records.tobytes()
        width, size, one, other = 8 * self._size, documents.records.itemsize, 0, 0
        for number, url, note in zip(numbers, documents.urls, documents.notes, strict=True):
            filed = Filed(number, keys[one : one + width], records[other : other + size], url, note)
            self.filed[number] = filed
            self._new.append(filed)
            one, other = one + width, other + size

    def near(self, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
        """Yield the documents of a *family* within *distance* bits of one of *keys* (uint64[n])."""
        self._learn()
        for part in filter(lambda each: each.filed, self._parts):
            for stored in part.keys[self._header.rows[family], : len(part.filed)]:
                for query, key in enumerate(keys):
                    bits = np.bitwise_count(stored ^ key)
                    rows = (bits <= distance).nonzero()[0].tolist()
                    if alive := [row for row in rows if part.filed[row].number is not None]:
                        numbers = np.array([part.filed[row].number for row in alive], np.int64)
                        yield Matches(np.full(len(alive), query), numbers, bits[alive])

    def with_key(self, family: int, key: int) -> set[int]:
        """Return the documents that have *key* in a *family* of equal keys."""
        self._learn()
        having = [some for part in self._parts if (some := part.having[family].get(key))]
        if not having:
            return set()
        every = chain.from_iterable([some] if isinstance(some, Filed) else some for some in having)
        return {filed.number for filed in every if filed.number is not None}

    def _learn(self) -> None:
        """Put new documents into parts."""
        while self._new:
            if (room := self._rows - len(self._parts[-1].filed)) == 0:
                self._parts.append(_Part(self._header, self._rows))
                continue
            self._parts[-1].append(self._new[:room])
            del self._new[:room]

    def documents(self, filed: Sequence[Filed]) -> Documents:
        """Return copies of documents, in order."""
        return Documents(_keys_of(filed, self._size).T, *self._stored(filed))

    def stored(self, numbers: Iterable[int]) -> Stored:
        """Return what `documents` does, without the keys. Raises KeyError for one that is not here."""
        return self._stored([self.filed[number] for number in numbers])

    def _stored(self, filed: Sequence[Filed]) -> Stored:
        records = bytearray().join([one.record for one in filed])
        whole: NDArray[Any] = np.ndarray(len(filed), self._header.dtype, records)
        return Stored(whole, [one.url for one in filed], [one.note for one in filed])

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove the documents *numbers*; those that are not here are passed over."""
        for number in numbers:
            if filed := self.filed.pop(number, None):
                filed.number = None
        half = self._rows // 2
        if len(self.filed) < max(half * (len(self._parts) - 1), len(self._new) - 4 * half):
            # What is left of a part of which less is left than that is moved.
            left = [[filed for filed in part.filed if filed.number is not None] for part in self._parts]
            few = [len(some) < half for some in left]
            self._parts = [*compress(self._parts, map(not_, few)), _Part(self._header, self._rows)]
            self._new = [filed for filed in self._new if filed.number is not None]
            self._new += chain.from_iterable(compress(left, few))


class Memtable:
    """Documents that are not in a run yet, and removals that are not on disk yet, over a snapshot.

    A new document is *pending* under a temporary, negative number; once confirmed, it is *queued*. A group
    commit gives it its number. All methods need the environment's lock.
    """

    def __init__(self, environment: Environment, header: Header) -> None:
        self._environment = environment
        self.snapshot = Snapshot(environment, header)
        self.columns = Columns(header, environment.tuning.rows)
        #: The reservation of each pending document, by its temporary number.
        self.pending: dict[int, Reservation] = {}
        #: The confirmed documents, oldest first, and those of the group on its way to the disk.
        self.queue: deque[Filed] = deque()
        self.group: list[Filed] = []
        #: Numbers of documents that wait for a tombstone, and those that go with the group.
        self.removals: list[int] = []
        self._removing: set[int] = set()
        #: For each temporary number that was handed out, the number on disk.
        self._aliases: OrderedDict[int, int] = OrderedDict()
        #: The first numbers of the blocks that this process has committed, until the snapshot shows them.
        self._own: set[int] = set()
        #: The state that the columns agree with.
        self._state = State()
        self._last_number = 0
        self.look()

    @property
    def changes(self) -> int:
        """How many documents and removals wait for the disk."""
        return len(self.group) + len(self.queue) + len(self.removals)

    def look(self) -> None:
        """Take in what others have committed; not during an own commit, whose block would pass for theirs."""
        if self.group:
            return
        if self._environment.last_commit() != self.snapshot.commit:
            self.snapshot.refresh()
        if self._state is not self.snapshot.state:
            self._follow()

    def _follow(self) -> None:
        """Take in the documents of the log that the snapshot shows, and drop those that its runs hold."""
        state = self.snapshot.state
        self.snapshot.hide(self.removals)
        if state.flushed > self._state.flushed:
            self.columns.remove([number for number in self.columns.filed if 0 <= number < state.flushed])
        # A list: if a block cannot be read, none is taken in.
        start = max(self._state.next, state.flushed)
        for first, documents in [*self.snapshot.read("log", start, without=self._own)]:
            self.columns.append(range(first, first + len(documents.urls)), documents)
        self._own.clear()
        dead = np.flatnonzero(self.snapshot.dead.between(state.flushed, state.next))
        self.columns.remove((state.flushed + dead).tolist())
        self._state = state

    def file(self, document: Documents, reservation: Reservation) -> int:
        """Keep a pending *document*, one row; returns its temporary number."""
        self._last_number -= 1
        self.columns.append([self._last_number], document)
        self.pending[self._last_number] = reservation
        return self._last_number

    def settle(self, number: int, reservation: Reservation) -> Filed | None:
        """Queue a pending document and return it, or drop it; None also if it was removed meanwhile."""
        if self.pending.pop(number, None) is None:
            return None
        if not reservation.confirmed:
            self.columns.remove([number])
            return None
        filed = self.columns.filed[number]
        filed.note = reservation.note
        self.queue.append(filed)
        return filed

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of *documents* (int64[n]), in their order."""
        numbers = [self._aliases.get(document, document) for document in documents.tolist()]
        new = [number for number in numbers if number in self.columns.filed]
        if len(new) == len(numbers):
            return self.columns.stored(new)
        old = [number for number in numbers if number not in self.columns.filed]
        parts = [self.columns.stored(new), self.snapshot.fetch(np.array(old, np.int64))]
        place = {number: row for row, number in enumerate([*new, *old])}
        return Stored.concatenate(parts).take(np.array([place[number] for number in numbers]))

    @property
    def count(self) -> int:
        """How many documents are stored and not removed, but for pending ones."""
        in_runs = sum(run.documents - run.removed for run in self.snapshot.state.runs) - self.snapshot.hidden
        return in_runs + len(self.columns.filed) - len(self.pending)

    def discard(self, documents: Sequence[int]) -> None:
        """Remove *documents* from the columns; queue tombstones for those that are, or may be, on disk."""
        numbers = [self._aliases.get(document, document) for document in documents]
        self.removals += self.snapshot.hide([number for number in numbers if number >= 0])
        waiting = [number for number in numbers if self.pending.pop(number, None) is None and number < 0]
        self.columns.remove(numbers)
        if waiting:
            self.queue = deque(filed for filed in self.queue if filed.number is not None)

    def begin(self, size: int) -> tuple[Documents, set[int]]:
        """Return the group to be committed: at most *size* documents, and all removals."""
        self.group = [self.queue.popleft() for _ in range(min(size, len(self.queue)))]
        self._removing = {*self.removals}
        return self.columns.documents(self.group), self._removing

    def commit(self, state: State) -> None:
        """Give the documents of the group their numbers, now that it is on disk and has led to *state*."""
        group, self.group = self.group, []
        new = range(state.next - len(group), state.next)
        self.removals = [number for number in self.removals if number not in self._removing]
        for filed, number in zip(group, new, strict=True):
            if filed.number is None:  # it was removed meanwhile
                self.removals.append(number)
            else:
                self._aliases[filed.number] = number
                self.columns.filed[number] = self.columns.filed.pop(filed.number)
                filed.number = number
        while len(self._aliases) > self._environment.tuning.aliases:
            # A plain dict would look for its first key among all that were deleted.
            self._aliases.popitem(last=False)
        if group:
            self._own.add(new.start)

    def roll_back(self) -> None:
        """Queue the documents of the group again, of which nothing was written; those removed since go."""
        self.queue.extendleft(filed for filed in reversed(self.group) if filed.number is not None)
        self.group = []

    def trim(self, size: int) -> int:
        """Drop the oldest queued documents beyond *size*; returns how many went."""
        forgotten = [self.queue.popleft() for _ in range(len(self.queue) - size)]
        self.columns.remove([filed.number for filed in forgotten if filed.number is not None])
        return len(forgotten)
