"""Documents in memory, column by column: the newest part of every index.

A fingerprint is simply compared with all others: that takes some 20 µs for 16,384 of them, less than a
look-up in any structure. `EqualRows` finds keys that have to be equal.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from .lmdb.tuning import DEFAULT
from .matches import Matches
from .protocol import Documents, Stored
from .search import age, make_probes
from .sorted_arrays import Entries, flatten, look_up, merge_entries, sort_entries
from .tables import NO_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from .header import Header
    from .lmdb.tuning import Tuning
    from .tables import Family, PermutedTables


NOTHING = Entries(np.empty(0, np.uint64), np.empty(0, np.uint32))


class EqualRows:
    """The rows of each key of one *family*.

    Newer rows are found by hashing their keys. Older ones, which are many, are found by bisection: sorted
    they take less memory. As many rows as *unsorted* says may wait to be sorted, or a sixteenth of all.
    """

    def __init__(self, family: Family, unsorted: int) -> None:
        self._family = family
        self._unsorted = unsorted
        #: The keys of the older rows, and how many rows these are.
        self._entries = NOTHING
        self._sorted = 0
        #: The newer rows of each key.
        self._newer: dict[int, tuple[int, ...]] = {}
        #: How many rows there are, older and newer ones.
        self.count = 0

    def follow(self, keys: NDArray[np.uint64]) -> None:
        """Take in rows that are new among *keys*, those of all rows: uint64[family.keys, rows]."""
        count = keys.shape[1]
        if count - self._sorted > max(self._unsorted, self._sorted // 16):
            rows = np.arange(self._sorted, count, dtype=np.uint32)
            new = sort_entries(*flatten(self._family, keys[:, self._sorted :], rows))
            self._entries = merge_entries([self._entries, new])
            self._sorted, self._newer = count, {}
        else:
            no_key = int(NO_KEY) if self._family.keys > 1 else None
            newer = self._newer
            for row, of_row in enumerate(keys[:, self.count :].T.tolist(), self.count):
                for key in of_row:
                    if key != no_key:
                        newer[key] = (*newer.get(key, ()), row)
        self.count = count

    def has_any(self, keys: list[int]) -> bool:
        """Whether a row has one of *keys*."""
        newer, values = self._newer, self._entries.keys.data
        for key in keys:
            if key in newer:
                return True
            place = bisect_left(values, key)
            if place < len(values) and values[place] == key:
                return True
        return False

    def older(self, key: int) -> NDArray[np.uint32]:
        """Return the older rows that have *key*: uint32[n]."""
        values = self._entries.keys.data
        start = bisect_left(values, key)
        if start == len(values) or values[start] != key:
            return NOTHING.documents
        return self._entries.documents[start : bisect_right(values, key, start)]

    def newer(self, key: int) -> tuple[int, ...]:
        """Return the newer rows that have *key*."""
        return self._newer.get(key, ())


class Columns:
    """Documents in columns that grow. A document is known by its number, whatever its row.

    A removed document keeps its row, marked as not alive, until half of the rows are of such documents.
    """

    def __init__(self, header: Header, tuning: Tuning = DEFAULT) -> None:
        self._header = header
        self._tuning = tuning
        self._keys = np.empty((header.keys, 64), np.uint64)
        self._records = np.empty(64, header.dtype)
        self._numbers = np.empty(64, np.int64)
        self._alive = np.zeros(64, bool)
        self._urls: list[str] = []
        self._notes: list[bytes] = []
        self._rows: dict[int, int] = {}
        self._equal_rows = self._no_equal_rows()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def append(self, numbers: NDArray[np.int64], documents: Documents) -> None:
        """Add *documents* under *numbers* (int64[n])."""
        start, stop = len(self._urls), len(self._urls) + len(numbers)
        if stop > len(self._numbers):
            self._grow(stop)
        self._keys[:, start:stop] = documents.keys
        self._records[start:stop] = documents.records
        self._numbers[start:stop] = numbers
        self._alive[start:stop] = True
        self._urls.extend(documents.urls)
        self._notes.extend(documents.notes)
        self._rows.update(zip(numbers.tolist(), range(start, stop), strict=True))

    def append_one(
        self, number: int, keys: NDArray[np.uint64], record: NDArray[Any], url: str, note: bytes
    ) -> None:
        """Add one document (keys uint64[keys], record of shape ()), in a third of the time of `append`."""
        row = len(self._urls)
        if row >= len(self._numbers):
            self._grow(row + 1)
        self._keys[:, row] = keys
        self._records[row] = record
        self._numbers[row] = number
        self._alive[row] = True
        self._urls.append(url)
        self._notes.append(note)
        self._rows[number] = row

    def annotate(self, number: int, note: bytes) -> None:
        """Replace the note of a document. Raises KeyError if it is not here."""
        self._notes[self._rows[number]] = note

    def search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int = 0, first: int = 0
    ) -> Iterator[Matches]:
        """Yield the documents of a *family* within *distance* bits of one of *keys* (uint64[n]).

        A document with several keys may come several times. For *most* see `search_all`. Of keys that have
        to be equal, the *first* documents that were filed suffice, so many of each key; 0: all are wanted.
        """
        if not self._urls:
            return
        if self._header.families[family].equal:
            yield from self._search_equal(family, keys, most, first)
            return
        for stored in self._keys[self._header.rows[family], : len(self._urls)]:
            if len(keys) * len(stored) <= self._tuning.memory_comparisons:
                yield from self._search_near(stored, keys, distance)
            else:
                yield from self._search_tables(self._header.families[family].tables, stored, keys, distance)

    def is_known(self, family: int, keys: list[int]) -> bool:
        """Whether a row, perhaps of a removed document, has one of *keys* of a family of equal keys."""
        return self._rows_with(family).has_any(keys)

    def documents(self, numbers: Iterable[int]) -> Documents:
        """Return copies of the documents *numbers*, in their order.

        Raises KeyError for one that is not here.
        """
        rows = [self._rows[number] for number in numbers]
        return Documents(self._keys[:, rows], *self._stored(rows))

    def fetch(self, numbers: Iterable[int]) -> Stored:
        """Return what `documents` does, without the keys."""
        rows = [self._rows[number] for number in numbers]
        return self._stored(rows)

    def _stored(self, rows: list[int]) -> Stored:
        return Stored(
            self._records[rows], [self._urls[row] for row in rows], [self._notes[row] for row in rows]
        )

    def numbers(self) -> NDArray[np.int64]:
        """Return the numbers of all documents, in the order in which they were added: int64[n]."""
        size = len(self._urls)
        return self._numbers[:size][self._alive[:size]]

    def renumber(self, old: Iterable[int], new: Iterable[int]) -> None:
        """Give each document of *old* its number of *new*; those that are not here are passed over."""
        for before, after in zip(old, new, strict=True):
            row = self._rows.pop(before, None)
            if row is not None:
                self._numbers[row] = after
                self._rows[after] = row

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove the documents *numbers*; those that are not here are passed over."""
        for number in numbers:
            row = self._rows.pop(number, None)
            if row is not None:
                self._alive[row] = False
        if len(self._urls) > 64 and len(self._rows) < len(self._urls) // 2:
            self._compact()

    def _search_equal(
        self, family: int, keys: NDArray[np.uint64], most: int, first: int
    ) -> Iterator[Matches]:
        """Yield documents that have one of *keys*."""
        with_key = self._rows_with(family)
        # A document has a key at most as often as it has keys: so many rows are of more than *most*
        # documents.
        of_document = self._header.families[family].keys
        limit = most and most * of_document + 1
        query: list[int] = []
        rows: list[int] = []
        for position, key in enumerate(keys.tolist()):
            found = with_key.older(key)
            if len(found):
                if limit:
                    found = found[self._alive[found]][:limit]
                elif first and len(found) > first * of_document:
                    found = self._filed_first(found[self._alive[found]], first * of_document)
                query += [position] * len(found)
                rows += found.tolist()
            newer = with_key.newer(key)
            query += [position] * len(newer)
            rows += newer
        if rows:
            keep = self._alive[rows]
            document = self._numbers[rows][keep]
            yield Matches(np.array(query)[keep], document, np.zeros(len(document), np.uint8))

    def _filed_first(self, rows: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
        """Return those *count* of *rows* whose documents were filed first, or all if there are fewer."""
        if len(rows) <= count:
            return rows
        return rows[np.argpartition(age(self._numbers[rows]), count - 1)[:count]]

    def _rows_with(self, family: int) -> EqualRows:
        """Return the rows of each key of a family of equal keys."""
        found = self._equal_rows[family]
        if found.count != len(self._urls):
            found.follow(self._keys[self._header.rows[family], : len(self._urls)])
        return found

    def _no_equal_rows(self) -> list[EqualRows]:
        return [EqualRows(family, self._tuning.unsorted_documents) for family in self._header.families]

    def _search_near(
        self, stored: NDArray[np.uint64], keys: NDArray[np.uint64], distance: int
    ) -> Iterator[Matches]:
        """Compare each of *keys* with all of *stored* (uint64[n], one a row)."""
        for query, key in enumerate(keys):
            bits = np.bitwise_count(stored ^ key)
            (row,) = (bits <= distance).nonzero()
            row = row[self._alive[row]]
            if len(row):
                yield Matches(np.full(len(row), query), self._numbers[row], bits[row])

    def _search_tables(
        self, tables: PermutedTables, stored: NDArray[np.uint64], keys: NDArray[np.uint64], distance: int
    ) -> Iterator[Matches]:
        """Make sorted tables of *stored* (uint64[n], one a row), as runs have, and look many *keys* up."""
        rows = np.flatnonzero(self._alive[: len(stored)]).astype(np.uint32)
        probes = make_probes(tables, keys, distance)
        for base, (query, permuted, probe, prefix) in zip(tables.keys(stored[rows]), probes, strict=True):
            entries = sort_entries(base, rows)
            for position, row, bits in look_up(
                entries, permuted, probe, prefix, distance, self._tuning.candidates_at_once
            ):
                yield Matches(query[position], self._numbers[row], bits)

    def _grow(self, size: int) -> None:
        """Make room for at least *size* rows."""
        size = max(size, 2 * len(self._numbers))
        used = len(self._urls)
        for name in ("_keys", "_records", "_numbers", "_alive"):
            old = getattr(self, name)
            new = np.zeros((*old.shape[:-1], size), old.dtype)
            new[..., :used] = old[..., :used]
            setattr(self, name, new)

    def _compact(self) -> None:
        """Move the rows that are alive to the front, and forget the others."""
        rows = np.flatnonzero(self._alive[: len(self._urls)])
        size = len(rows)
        self._keys[:, :size] = self._keys[:, rows]
        self._records[:size] = self._records[rows]
        self._numbers[:size] = self._numbers[rows]
        self._alive[:size], self._alive[size:] = True, False
        self._urls = [self._urls[row] for row in rows.tolist()]
        self._notes = [self._notes[row] for row in rows.tolist()]
        self._rows = dict(zip(self._numbers[:size].tolist(), range(size), strict=True))
        self._equal_rows = self._no_equal_rows()
