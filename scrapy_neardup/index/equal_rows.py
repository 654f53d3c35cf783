"""Which rows of `Columns` have a key, in a family whose keys have to be equal."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from .sorted_arrays import Entries, flatten, merge_entries, sort_entries
from .tables import NO_KEY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .tables import Family

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
