"""An index that lives and dies with the process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import Columns
from .protocol import Documents, Stored
from .search import search_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .header import Header
    from .protocol import Matches


class MemoryIndex:
    """The `Index` for tests and small crawls."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self._columns = Columns(header)
        self._next = 0
        self._pending: dict[int, Any] = {}
        self.lock = threading.RLock()

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        """See `Index`."""
        with self.lock:
            return search_all([lambda some: self._columns.search(family, some, distance, most)], keys, most)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """See `Index`."""
        with self.lock:
            return self._columns.fetch(documents.tolist())

    def reserve(self, keys: NDArray[np.uint64], record: NDArray[Any], url: str, holder: Any) -> int:
        """See `Index`."""
        with self.lock:
            number = int(self.add(Documents(keys[:, np.newaxis], record[np.newaxis], [url]))[0])
            self._pending[number] = holder
            return number

    def holder(self, document: int) -> Any:
        """See `Index`."""
        return self._pending.get(document)

    def confirm(self, document: int, replaces: Sequence[int] = ()) -> None:
        """See `Index`."""
        with self.lock:
            if document in self._pending:
                del self._pending[document]
                self._columns.remove(replaces)

    def release(self, document: int) -> None:
        """See `Index`."""
        with self.lock:
            if document in self._pending:
                del self._pending[document]
                self._columns.remove([document])

    def add(self, documents: Documents) -> NDArray[np.int64]:
        """See `Index`."""
        with self.lock:
            numbers = np.arange(self._next, self._next + len(documents.urls))
            self._next += len(numbers)
            self._columns.append(numbers, documents)
            return numbers

    def discard(self, documents: Sequence[int]) -> None:
        """See `Index`."""
        with self.lock:
            for document in documents:
                self._pending.pop(document, None)
            self._columns.remove(documents)

    def flush(self) -> None:
        """See `Index`."""

    def gauges(self) -> dict[str, int]:
        """See `Index`."""
        with self.lock:
            pending = len(self._pending)
            return {"documents": len(self._columns) - pending, "pending": pending}

    def close(self) -> None:
        """See `Index`."""
