"""Documents in memory, column by column, searched by brute force: the newest part of every index.

A few thousand fingerprints are compared faster than any structure over them could be asked: 16,384 of them take
some 20 µs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .base import Documents, Matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

#: Comparisons made at a time by a batch of queries.
COMPARISONS = 1 << 23


class Columns:
    """Growable columns. Rows are found by the number of their document."""

    def __init__(self, families: int, dtype: np.dtype[Any]) -> None:
        self._keys = np.empty((families, 64), np.uint64)
        self._records = np.empty(64, dtype)
        self._numbers = np.empty(64, np.int64)
        self._alive = np.zeros(64, bool)
        self._urls: list[str] = []
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def append(self, numbers: NDArray[np.int64], documents: Documents) -> None:
        """Add *documents* under *numbers*."""
        start, stop = len(self._urls), len(self._urls) + len(numbers)
        if stop > len(self._numbers):
            self._grow(stop)
        self._keys[:, start:stop] = documents.keys
        self._records[start:stop] = documents.records
        self._numbers[start:stop] = numbers
        self._alive[start:stop] = True
        self._urls.extend(documents.urls)
        self._rows.update(zip(numbers.tolist(), range(start, stop), strict=True))

    def search(self, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
        """Compare every row with every one of *keys*."""
        size = len(self._urls)
        if not size:
            return
        stored, alive, numbers = self._keys[family, :size], self._alive[:size], self._numbers[:size]
        if len(keys) == 1:
            bits = np.bitwise_count(stored ^ keys[0])
            (row,) = ((bits <= distance) & alive).nonzero()
            if len(row):
                yield Matches(np.zeros(len(row), np.int64), numbers[row], bits[row])
            return
        step = max(1, COMPARISONS // size)
        for begin in range(0, len(keys), step):
            bits = np.bitwise_count(stored ^ keys[begin : begin + step, np.newaxis])
            query, row = ((bits <= distance) & alive).nonzero()
            if len(row):
                yield Matches(query + begin, numbers[row], bits[query, row])

    def fetch(self, numbers: Iterable[int]) -> Documents:
        """Return copies of the rows of *numbers*, in their order."""
        rows = [self._rows[number] for number in numbers]
        return Documents(self._keys[:, rows], self._records[rows], [self._urls[row] for row in rows])

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of all documents, oldest first."""
        size = len(self._urls)
        return self._numbers[:size][self._alive[:size]]

    def renumber(self, old: Iterable[int], new: Iterable[int]) -> None:
        """Give documents other numbers; those that are not here are no error."""
        for before, after in zip(old, new, strict=True):
            row = self._rows.pop(before, None)
            if row is not None:
                self._numbers[row] = after
                self._rows[after] = row

    def remove(self, numbers: Iterable[int]) -> None:
        """Forget documents; those that are not here are no error."""
        for number in numbers:
            row = self._rows.pop(number, None)
            if row is not None:
                self._alive[row] = False
        if len(self._urls) > 64 and len(self._rows) < len(self._urls) // 2:
            self._compact()

    def _grow(self, size: int) -> None:
        size = max(size, 2 * len(self._numbers))
        used = len(self._urls)
        for name in ("_keys", "_records", "_numbers", "_alive"):
            old = getattr(self, name)
            new = np.zeros((*old.shape[:-1], size), old.dtype)
            new[..., :used] = old[..., :used]
            setattr(self, name, new)

    def _compact(self) -> None:
        rows = np.flatnonzero(self._alive[: len(self._urls)])
        size = len(rows)
        self._keys[:, :size] = self._keys[:, rows]
        self._records[:size] = self._records[rows]
        self._numbers[:size] = self._numbers[rows]
        self._alive[:size], self._alive[size:] = True, False
        self._urls = [self._urls[row] for row in rows.tolist()]
        self._rows = dict(zip(self._numbers[:size].tolist(), range(size), strict=True))
