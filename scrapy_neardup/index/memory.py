"""An index that lives and dies with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable

from .columns import Columns
from .local import LocalIndex
from .search import closest, search_all

if TYPE_CHECKING:
    import threading
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from .header import Header
    from .matches import Matches
    from .protocol import Documents, Lookup, Stored
    from .reservation import Reservation
    from .search import Met


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
