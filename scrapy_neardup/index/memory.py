"""Indexes within one process, where a lock makes "find, decide, file" one step; and the one in its memory."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .columns import Columns
from .protocol import Found, Stored
from .reservation import Reservation
from .search import NONE_MET, closest, met, most_shared, search_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from .header import Header
    from .matches import Matches
    from .protocol import Documents, Filing, Lookup
    from .search import Met


class LocalIndex(ABC):
    """An `Index` whose pending documents are those of this process. `Index` says what the methods do."""

    header: Header
    remote = False

    def __init__(self, lock: threading.RLock | None = None) -> None:
        #: Held by whatever has to see or change several things at once.
        self.lock = lock or threading.RLock()

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        with self._newest():
            return self._search(family, keys, distance, most)

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        with self._newest():
            return self._find(document, lookups)

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        with self._newest():
            matches = self._search(family, keys)
            return matches, self.fetch(matches.document)

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        with self._newest():
            filing = decide(self._find(document, lookups))
            return None if filing is None else self._file(filing)

    @abstractmethod
    def _newest(self) -> AbstractContextManager[object]:
        """Return a block that holds the lock, and in which all that others have filed is seen."""

    @abstractmethod
    def _search(
        self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0, first: int = 0
    ) -> Matches:
        """Find documents by keys of one family. Called under the lock, as are those below.

        A key that more than *most* documents match is passed over, unless *most* is 0. Of keys that have to
        be equal, the *first* documents that were filed suffice, so many of each key; 0: all are wanted.
        """

    @abstractmethod
    def _is_known(self, family: int, keys: list[int]) -> bool:
        """Whether any document, perhaps a removed one, has one of *keys* of a family of equal keys."""

    @abstractmethod
    def _search_closest(self, lookup: Lookup, keys: NDArray[np.uint64]) -> Met:
        """Look up the only one of *keys* (uint64[1]) within the bounds of *lookup*."""

    @abstractmethod
    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of documents."""

    @abstractmethod
    def _reserve(self, document: Documents, holder: Reservation) -> int:
        """File *document*, one row, as pending; return its number."""

    @abstractmethod
    def _holder(self, document: int) -> Reservation | None:
        """Return the reservation of a document; None if it is not pending."""

    @abstractmethod
    def _confirm(self, document: int, note: bytes, replaces: Sequence[int]) -> None:
        """Keep a pending document with its *note*, in the place of those that it *replaces*."""

    @abstractmethod
    def _release(self, document: int) -> None:
        """Drop a pending document."""

    def _file(self, filing: Filing) -> Reservation:
        def settle(reservation: Reservation) -> None:
            with self.lock:
                if self._holder(number) is None:  # somebody has removed it meanwhile
                    return
                if reservation.confirmed:
                    self._confirm(number, reservation.note, filing.replaces)
                else:
                    self._release(number)

        reservation = Reservation(filing.document.urls[0], settle)
        number = self._reserve(filing.document, reservation)
        return reservation

    def _find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        found = [self._meet(lookup, self._keys(document, lookup.family)) for lookup in lookups]
        crowded = any(each.crowded for each in found)
        narrowed = any(each.narrowed for each in found)
        if not any(len(each.documents) for each in found):  # most documents meet no other
            return self._nothing(len(lookups))._replace(crowded=crowded, narrowed=narrowed)
        numbers = np.array(sorted({number for each in found for number in each.documents.tolist()}), np.int64)
        shared = np.zeros((len(lookups), len(numbers)), np.int64)
        for row, each in zip(shared, found, strict=True):
            row[numbers.searchsorted(each.documents)] = each.shared
        pending = [self._holder(number) for number in numbers.tolist()]
        return Found(numbers, shared, self.fetch(numbers), [*pending], crowded, narrowed)

    def _meet(self, lookup: Lookup, keys: NDArray[np.uint64]) -> Met:
        """Look up the *keys* (uint64[n]) of one document."""
        family, distance, most, nearest, _ = lookup
        if self.header.families[family].equal and not self._is_known(family, keys.tolist()):
            return NONE_MET  # of most documents no key is known, and this takes a fifth of a search
        if not nearest or (len(keys) > 1 and not self.header.families[family].equal):
            return met(self._search(family, keys, distance, most))
        if self.header.families[family].equal:
            return most_shared(met(self._search(family, keys, 0, most, nearest + 1)), nearest)
        return self._search_closest(lookup, keys)

    def _keys(self, document: Documents, family: int) -> NDArray[np.uint64]:
        keys = document.keys[self.header.rows[family], 0]
        # Where a family has one key, each document has it.
        return keys if len(keys) == 1 else keys[self.header.families[family].has(keys)]

    def _nothing(self, lookups: int) -> Found:
        nothing = Stored(np.empty(0, self.header.dtype), [], [])
        return Found(np.empty(0, np.int64), np.empty((lookups, 0), np.int64), nothing, [])


class MemoryIndex(LocalIndex):
    """The `Index` for tests and small crawls."""

    def __init__(self, header: Header) -> None:
        super().__init__()
        self.header = header
        self._columns = Columns(header)
        self._next = 0
        self._pending: dict[int, Reservation] = {}

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        with self.lock:
            try:
                return self._columns.fetch(documents.tolist())
            except KeyError as error:
                raise IndexCorrupted(
                    f"Document {error} is missing: ask for those that a search finds."
                ) from None

    def add(self, documents: Documents) -> NDArray[np.int64]:
        with self.lock:
            numbers = np.arange(self._next, self._next + len(documents.urls))
            self._next += len(numbers)
            self._columns.append(numbers, documents)
            return numbers

    def discard(self, documents: Sequence[int]) -> None:
        with self.lock:
            for document in documents:
                self._pending.pop(document, None)
            self._columns.remove(documents)

    def flush(self) -> None:
        """Do nothing: there is no disk."""

    def gauges(self) -> dict[str, int]:
        with self.lock:
            pending = len(self._pending)
            return {"documents": len(self._columns) - pending, "pending": pending}

    def close(self) -> None:
        """Do nothing: it goes with the last reference."""

    def _newest(self) -> threading.RLock:
        return self.lock

    def _search(
        self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0, first: int = 0
    ) -> Matches:
        return search_all(
            [lambda some: self._columns.search(family, some, distance, most, first)], keys, most
        )

    def _is_known(self, family: int, keys: list[int]) -> bool:
        return self._columns.is_known(family, keys)

    def _search_closest(self, lookup: Lookup, keys: NDArray[np.uint64]) -> Met:
        # To compare a key with all others takes a millisecond a million, whatever they are.
        return closest([*self._columns.search(lookup.family, keys, lookup.distance)], lookup.nearest)

    def _reserve(self, document: Documents, holder: Reservation) -> int:
        number = int(self.add(document)[0])
        self._pending[number] = holder
        return number

    def _holder(self, document: int) -> Reservation | None:
        return self._pending.get(document)

    def _confirm(self, document: int, note: bytes, replaces: Sequence[int]) -> None:
        if document in self._pending:
            del self._pending[document]
            self._columns.annotate(document, note)
            self._columns.remove(replaces)

    def _release(self, document: int) -> None:
        if document in self._pending:
            del self._pending[document]
            self._columns.remove([document])


def open_url(
    url: str, wanted: Header | None, *, ignore: Collection[str], window: float, reset: bool
) -> MemoryIndex:
    """Return a new index, see `stores.open_index`.

    Raises `IndexUnavailable` without a header to make it with.
    """
    if wanted is None:
        raise IndexUnavailable(f"There is no index in {url}: name the directory of an index.")
    return MemoryIndex(wanted)
