"""What indexes within one process have in common: a lock makes "find, decide, file" one step."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from .protocol import Found, Stored
from .reservation import Reservation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from .header import Header
    from .matches import Matches
    from .protocol import Documents, Filing, Lookup


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
            matches = self._search(family, keys, 0, 0)
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
    def _search(self, family: int, keys: NDArray[np.uint64], distance: int, most: int) -> Matches:
        """Find documents by keys of one family. Called under the lock, as are those below."""

    @abstractmethod
    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of documents."""

    @abstractmethod
    def _reserve(self, document: Documents, holder: Reservation | None) -> int:
        """File *document*, one row, as pending; return its number."""

    @abstractmethod
    def _holder(self, document: int) -> Reservation | None:
        """Return the reservation of a document; None if it is not pending."""

    @abstractmethod
    def _confirm(self, document: int, replaces: Sequence[int]) -> None:
        """Keep a pending document, in the place of those that it *replaces*."""

    @abstractmethod
    def _release(self, document: int) -> None:
        """Drop a pending document."""

    def _file(self, filing: Filing) -> Reservation:
        def settle(reservation: Reservation) -> None:
            with self.lock:
                if not reservation.confirmed:
                    self._release(number)
                elif not reservation.weak:
                    self._confirm(number, filing.replaces)
                else:
                    self._release(number)
                    if filing.weak is not None:
                        self._confirm(self._reserve(filing.weak, None), filing.replaces)

        reservation = Reservation(filing.document.urls[0], settle)
        number = self._reserve(filing.document, reservation)
        return reservation

    def _find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        met = [
            self._search(family, self._keys(document, family), distance, most).document
            for family, distance, most in lookups
        ]
        if not any(map(len, met)):  # most documents meet no other
            return self._nothing(len(lookups))
        # For a few numbers np.unique takes longer.
        numbers = np.array(sorted({number for some in met for number in some.tolist()}), np.int64)
        shared = np.array(
            [np.bincount(numbers.searchsorted(some), minlength=len(numbers)) for some in met], np.int64
        )
        pending = [self._holder(number) for number in numbers.tolist()]
        return Found(numbers, shared, self.fetch(numbers), [*pending])

    def _keys(self, document: Documents, family: int) -> NDArray[np.uint64]:
        keys = document.keys[self.header.rows[family], 0]
        return keys[self.header.families[family].has(keys)]

    def _nothing(self, lookups: int) -> Found:
        nothing = Stored(np.empty(0, self.header.dtype), [])
        return Found(np.empty(0, np.int64), np.empty((lookups, 0), np.int64), nothing, [])
