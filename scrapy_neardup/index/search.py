"""Searching an index of several parts, such as runs and a memtable: what they find is put together here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
#: Beyond all numbers of documents on disk, and of those on a server.
_NEWER = 1 << 60
#: So many documents of one distance, or of one key, are looked at together.
PIECE = 1 << 10
#: Where only the least of many values are wanted, a sample of about `PIECE` of them is sorted first. Its
#: value with this place is the border up to which all values are sorted.
SAMPLED = 16


def search_all(searches: Sequence[Search], keys: NDArray[np.uint64], most: int, rows: int = ROWS) -> Matches:
    """Return what all *searches* find of *keys* (uint64[n]), each pair of key and document once.

    A key that more than *most* documents match is passed over, unless *most* is 0. The searches are of parts
    of an index that have no document in common. A search may yield a pair several times. Of a key that more
    than *most* documents match, it need not yield more than one document beyond *most*.

    Keys that have more than so many *rows* of matches are cut into slices, which are searched one by one. So
    the memory needed is twice that of the result, and some *rows* besides, unless a single key has more.
    """
    whole = _gather(searches, keys, most, rows)
    if whole is not None:
        return whole
    parts: list[Matches] = []
    waiting = _slices_of(0, len(keys))
    while waiting:
        start, stop = waiting.pop()
        part = _gather(searches, keys[start:stop], most, rows)
        if part is None:
            waiting += _slices_of(start, stop)
        else:
            parts.append(part._replace(query=part.query + start) if start else part)
    return Matches(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _slices_of(start: int, stop: int) -> list[tuple[int, int]]:
    """Cut a range into slices, the last one first."""
    size = max(1, (stop - start) // SLICES)
    return [(low, min(low + size, stop)) for low in reversed(range(start, stop, size))]


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


class Met(NamedTuple):
    """The documents that one lookup of one document has found."""

    #: Their numbers, each once: int64[n], ascending.
    documents: NDArray[np.int64]
    #: How many keys each has in common with the one that is looked up: int64[n].
    shared: NDArray[np.int64]
    #: See `Found`.
    crowded: bool = False
    narrowed: bool = False


NONE_MET = Met(np.empty(0, np.int64), np.empty(0, np.int64))


def met(matches: Matches) -> Met:
    """Return the documents of *matches*, all that a lookup found."""
    if not len(matches.document):
        return NONE_MET
    # For a few numbers np.unique takes longer.
    numbers = np.array(sorted(set(matches.document.tolist())), np.int64)
    return Met(numbers, np.bincount(numbers.searchsorted(matches.document), minlength=len(numbers)))


def most_shared(found: Met, count: int) -> Met:
    """Return those *count* of the documents that share the most keys, of equal ones those filed first."""
    if len(found.documents) <= count:
        return found
    rows = np.sort(np.lexsort((age(found.documents), -found.shared))[:count])
    return Met(found.documents[rows], found.shared[rows], crowded=True)


def closest(
    parts: Sequence[Matches],
    count: int,
    gone: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None = None,
) -> Met:
    """Return the *count* documents of *parts* that differ in the fewest bits, of equal ones the oldest.

    A document may come several times. *gone* says which documents do not count, bool[n] for int64[n].
    """
    if not parts:
        return NONE_MET
    documents = np.concatenate([part.document for part in parts])
    distances = np.concatenate([part.distance for part in parts])
    chosen: dict[int, None] = {}
    for distance in range(int(distances.max()) + 1):
        ages = age(documents[distances == distance])
        for some in _ascending(ages, PIECE):
            piece = from_age(some)
            chosen.update(dict.fromkeys((piece if gone is None else piece[~gone(piece)]).tolist()))
            if len(chosen) > count:
                return _of_chosen(list(chosen)[:count], crowded=True)
    return _of_chosen(list(chosen))


def _ascending(values: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    """Yield *values* (int64[n]) in ascending order, *size* at a time; the first ones without sorting all."""
    step = len(values) // size
    if step > 2 * SAMPLED:
        # About the share SAMPLED / size of all values is below this one of the sample.
        border = np.sort(values[::step])[SAMPLED]
        yield from _slices(np.sort(values[values <= border]), size)
        values = values[values > border]
    yield from _slices(np.sort(values), size)


def _slices(values: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def age(documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers that ascend in the order in which *documents* (int64[n]) were filed.

    Those that are not yet on disk have descending negative numbers, and are newer than all others.
    """
    return np.where(documents < 0, _NEWER - documents, documents) if (documents < 0).any() else documents


def from_age(ages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Undo `age`."""
    return np.where(ages > _NEWER, _NEWER - ages, ages)


def _of_chosen(documents: list[int], *, crowded: bool = False) -> Met:
    return Met(np.array(sorted(documents), np.int64), np.ones(len(documents), np.int64), crowded)


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
