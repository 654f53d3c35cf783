"""Documents in memory, column by column: the newest part of every index.

A few thousand fingerprints are compared faster than any structure over them could be asked: 16,384 of them take
some 20 µs. Keys that have to be equal are looked up in a dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .base import Documents, Matches
from .search import make_probes
from .sorted import look_up, sort_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.tables import PermutedTables

    from .header import Header

#: Comparisons of keys with rows up to which all are made.
COMPARISONS = 1 << 20


class Columns:
    """Growable columns. Rows are found by the number of their document."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._keys = np.empty((header.keys, 64), np.uint64)
        self._records = np.empty(64, header.dtype)
        self._numbers = np.empty(64, np.int64)
        self._alive = np.zeros(64, bool)
        self._urls: list[str] = []
        self._rows: dict[int, int] = {}
        #: For each family of equal keys, the rows that have a key; None for the others.
        self._rows_by_key: list[dict[int, list[int]] | None] = [
            {} if family.equal else None for family in header.families
        ]

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
        self._file(start, stop)

    def search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int = 0
    ) -> Iterator[Matches]:
        """Compare every row with every one of *keys*; see `Index.search`."""
        if not self._urls:
            return
        rows_by_key = self._rows_by_key[family]
        if rows_by_key is not None:
            yield from self._search_equal(rows_by_key, keys, most)
            return
        for stored in self._keys[self._header.rows[family], : len(self._urls)]:
            if len(keys) * len(stored) <= COMPARISONS:
                yield from self._search_near(stored, keys, distance)
            else:
                yield from self._search_tables(self._header.families[family].tables, stored, keys, distance)

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

    def _search_equal(
        self, rows_by_key: dict[int, list[int]], keys: NDArray[np.uint64], most: int
    ) -> Iterator[Matches]:
        query: list[int] = []
        rows: list[int] = []
        for position, key in enumerate(keys.tolist()):
            found = rows_by_key.get(key, ())
            if found and (not most or len(found) <= most):
                query += [position] * len(found)
                rows += found
        if rows:
            alive = self._alive[rows]
            document = self._numbers[rows][alive]
            yield Matches(np.array(query)[alive], document, np.zeros(len(document), np.uint8))

    def _search_near(
        self, stored: NDArray[np.uint64], keys: NDArray[np.uint64], distance: int
    ) -> Iterator[Matches]:
        """Compare all with all."""
        for query, key in enumerate(keys):
            bits = np.bitwise_count(stored ^ key)
            (row,) = (bits <= distance).nonzero()
            row = row[self._alive[row]]
            if len(row):
                yield Matches(np.full(len(row), query), self._numbers[row], bits[row])

    def _search_tables(
        self, tables: PermutedTables, stored: NDArray[np.uint64], keys: NDArray[np.uint64], distance: int
    ) -> Iterator[Matches]:
        """Sort the rows as a run is, which pays for many keys."""
        rows = np.flatnonzero(self._alive[: len(stored)]).astype(np.uint32)
        probes = make_probes(tables, keys, distance)
        for base, (query, permuted, probe, prefix) in zip(tables.keys(stored[rows]), probes, strict=True):
            entries = sort_entries(base, rows)
            for position, row, bits in look_up(entries, permuted, probe, prefix, distance):
                yield Matches(query[position], self._numbers[row], bits)

    def _file(self, start: int, stop: int) -> None:
        """File rows under their equal keys."""
        for family, place, rows_by_key in zip(
            self._header.families, self._header.rows, self._rows_by_key, strict=True
        ):
            if rows_by_key is None:
                continue
            keys = self._keys[place, start:stop]
            which, row = family.has(keys).nonzero()
            for key, where in zip(keys[which, row].tolist(), (row + start).tolist(), strict=True):
                rows_by_key.setdefault(key, []).append(where)

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
        for rows_by_key in self._rows_by_key:
            if rows_by_key is not None:
                rows_by_key.clear()
        self._file(0, size)
