"""Searching an index of several parts, such as runs and a memtable: what they find is put together here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .matches import Matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .tables import PermutedTables

    #: Yields what one part of an index finds of some keys; see `search_all`.
    Search = Callable[[NDArray[np.uint64]], Iterator[Matches]]

#: At most so many rows of matches are put in order at a time (4 M of them take some 400 MB).
ROWS = 1 << 22
#: Keys that have more matches than that are cut into so many slices.
SLICES = 8


def search_all(
    searches: Sequence[Search], keys: NDArray[np.uint64], most: int = 0, rows: int = ROWS
) -> Matches:
    """Return what all *searches* find of *keys* (uint64[n]), each pair of key and document once.

    A key that more than *most* documents match is passed over, unless *most* is 0. The searches are of parts
    of an index that have no document in common. A search may yield a pair several times. Of a key that more
    than *most* documents match, it need not yield more than one document beyond *most*.

    Keys that have more than so many *rows* of matches are cut into slices, which are searched one by one. So
    the memory needed is twice that of the result, and some *rows* besides, unless a single key has more.
    """
    parts: list[Matches] = []
    waiting = [(0, len(keys))]
    while waiting:
        start, stop = waiting.pop()
        part = _gather(searches, keys[start:stop], most, rows)
        if part is None:
            size = max(1, (stop - start) // SLICES)
            waiting += [(low, min(low + size, stop)) for low in reversed(range(start, stop, size))]
        else:
            parts.append(part._replace(query=part.query + start) if start else part)
    if len(parts) == 1:
        return parts[0]
    return Matches(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _gather(searches: Sequence[Search], keys: NDArray[np.uint64], most: int, rows: int) -> Matches | None:
    """Return what all *searches* find of *keys*.

    Returns None if several keys have more than so many *rows* together.
    """
    found: list[Matches] = []
    size = 0
    for search in searches:
        for matches in search(keys):
            found.append(matches)
            size += len(matches.query)
            if size > rows and len(keys) > 1:
                return None
    whole = Matches.gather(found)
    if most and len(whole.query) > most:
        return whole.take(np.bincount(whole.query)[whole.query] <= most)
    return whole


def make_probes(
    tables: PermutedTables, keys: NDArray[np.uint64], distance: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64], int]]:
    """Yield the probes of *keys* (uint64[n]) in each table, one a row, and the bits of its prefix.

    A row has the position of its key in *keys* (int64), the key as the table permutes it, and the probe
    (uint64 both).
    """
    query = np.arange(len(keys))
    for permuted, flips, bits in zip(
        tables.keys(keys), tables.flips(distance), tables.prefix_bits, strict=True
    ):
        probes = (permuted[:, np.newaxis] ^ np.array(flips, np.uint64)).ravel()
        yield query.repeat(len(flips)), permuted.repeat(len(flips)), probes, bits
