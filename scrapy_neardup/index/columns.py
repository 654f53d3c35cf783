"""Documents in memory, column by column: the newest part of every index.

A few thousand fingerprints are compared faster than any structure over them could be asked: 16,384 of them take
some 20 µs. Keys that have to be equal are bisected for, once there are many.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from .protocol import Documents, Matches, Stored
from .search import make_probes
from .sorted_arrays import Entries, flatten, look_up, sort_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from .header import Header
    from .tables import PermutedTables

#: Comparisons of keys with rows up to which all are made.
COMPARISONS = 1 << 20
#: Comparisons of equal keys with rows up to which the rows need not be sorted.
UNSORTED = 1 << 10
NOTHING = Entries(np.empty(0, np.uint64), np.empty(0, np.uint32))


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
        #: For each family of equal keys, its keys in order with their rows, and how many rows that covers.
        self._sorted = [(NOTHING, 0)] * len(header.families)

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

    def append_one(self, number: int, keys: NDArray[np.uint64], record: NDArray[Any], url: str) -> None:
        """Add one document (keys uint64[keys], record of shape ()): a crawl's way, in a third of the time."""
        row = len(self._urls)
        if row >= len(self._numbers):
            self._grow(row + 1)
        self._keys[:, row] = keys
        self._records[row] = record
        self._numbers[row] = number
        self._alive[row] = True
        self._urls.append(url)
        self._rows[number] = row

    def search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int = 0
    ) -> Iterator[Matches]:
        """Compare every row with every one of *keys*; see `search_all` for *most*."""
        if not self._urls:
            return
        if self._header.families[family].equal:
            yield from self._search_equal(family, keys, most)
            return
        for stored in self._keys[self._header.rows[family], : len(self._urls)]:
            if len(keys) * len(stored) <= COMPARISONS:
                yield from self._search_near(stored, keys, distance)
            else:
                yield from self._search_tables(self._header.families[family].tables, stored, keys, distance)

    def documents(self, numbers: Iterable[int]) -> Documents:
        """Return copies of the rows of *numbers*, in their order."""
        rows = [self._rows[number] for number in numbers]
        return Documents(self._keys[:, rows], self._records[rows], [self._urls[row] for row in rows])

    def fetch(self, numbers: Iterable[int]) -> Stored:
        """Return the same without the keys."""
        rows = [self._rows[number] for number in numbers]
        return Stored(self._records[rows], [self._urls[row] for row in rows])

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

    def _search_equal(self, family: int, keys: NDArray[np.uint64], most: int) -> Iterator[Matches]:
        """Bisect for each key in the sorted rows, compare it with the others."""
        entries, newer = self._sort(family, len(keys))
        values = entries.keys.data
        # So many rows with a key are of more than *most* documents.
        limit = most and most * self._header.families[family].keys + 1
        query: list[int] = []
        rows: list[int] = []
        for position, key in enumerate(keys.tolist()):
            start = bisect_left(values, key)
            if start < len(values) and values[start] == key:
                found = entries.documents[start : bisect_right(values, key, start)]
                if limit:
                    found = found[self._alive[found]][:limit]
                query += [position] * len(found)
                rows += found.tolist()
        if newer < len(self._urls):
            equal = self._keys[self._header.rows[family], newer : len(self._urls)] == keys[:, None, None]
            if np.count_nonzero(equal):  # seldom
                position, _, row = (equal & self._header.families[family].has(keys)[:, None, None]).nonzero()
                query += position.tolist()
                rows += (row + newer).tolist()
        if rows:
            keep = self._alive[rows]
            document = self._numbers[rows][keep]
            yield Matches(np.array(query)[keep], document, np.zeros(len(document), np.uint8))

    def _sort(self, family: int, queries: int) -> tuple[Entries, int]:
        """Return the sorted keys of a family, and the first row that they do not cover.

        That are all, if comparing the others with so many *queries* took longer than sorting them.
        """
        entries, covered = self._sorted[family]
        size = len(self._urls)
        if queries * (size - covered) > max(UNSORTED, covered // 16):
            kind, rows = self._header.families[family], np.arange(size, dtype=np.uint32)
            entries = sort_entries(*flatten(kind, self._keys[self._header.rows[family], :size], rows))
            covered = size
            self._sorted[family] = entries, covered
        return entries, covered

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
        self._sorted = [(NOTHING, 0)] * len(self._sorted)
