"""Searching sorted tables (`Entries`), and putting together what parts of an index find.

What is found are pairs of a query and a document (`Matches`), or what one document meets (`Met`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tables import Family

#: Keys that have more matches than that are searched in parts (4 M take some 400 MB to sort).
ROWS = 1 << 22
#: Beyond all numbers of documents on disk, and of those on a server.
_NEWER = 1 << 57
#: Bits of an age, see `_age`. Those above are left for a distance.
_AGE_BITS = 58


class Entries(NamedTuple):
    """The entries of a table, or of a part of one, sorted by key."""

    #: Permuted keys: uint64[n], ascending.
    keys: NDArray[np.uint64]
    #: The document of each: uint32[n].
    documents: NDArray[np.uint32]

    def between(self, low: int, high: int) -> Entries:
        """Return the entries whose keys lie in [low, high] as views."""
        start = self.keys.searchsorted(np.uint64(low), "left")
        stop = self.keys.searchsorted(np.uint64(high), "right")
        return Entries(self.keys[start:stop], self.documents[start:stop])


NOTHING = Entries(np.empty(0, np.uint64), np.empty(0, np.uint32))


def flatten(
    family: Family, keys: NDArray[np.uint64], documents: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the keys (uint64[m]) under which *documents* (uint32[n]) are filed, and whose each is."""
    has = family.has(keys).T
    return keys.T[has], np.repeat(documents, has.sum(axis=1))


def sort_entries(keys: NDArray[np.uint64], documents: NDArray[np.uint32]) -> Entries:
    """Sort entries by key. Equal keys keep their order, so that the same documents give the same bytes."""
    # Numbers made of the upper bits of a key and of its row sort four times as fast as rows by key. If keys
    # have the same upper bits, the second sort has little to do.
    low = np.uint64((1 << len(keys).bit_length()) - 1)
    order = np.sort((keys & ~low) | np.arange(len(keys), dtype=np.uint64)) & low
    entries = Entries(keys[order], documents[order])
    return merge_entries([entries, NOTHING]) if (entries.keys[1:] < entries.keys[:-1]).any() else entries


def merge_entries(parts: Sequence[Entries]) -> Entries:
    """Merge sorted *parts*, of which there is at least one."""
    if len(parts) == 1:
        return parts[0]
    keys = np.concatenate([part.keys for part in parts])
    order = np.argsort(keys, kind="stable")  # a merge sort: quick for sorted parts
    return Entries(keys[order], np.concatenate([part.documents for part in parts])[order])


def look_up(
    entries: Entries,
    keys: NDArray[np.uint64],
    probes: NDArray[np.uint64],
    prefix_bits: int,
    distance: int,
    at_once: int,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]]:
    """Compare each of *keys* (uint64[n]) with entries that share *prefix_bits* with its probe (uint64[n]).

    Yields position in *keys*, document and distance of those within *distance*; compares so many *at_once*.
    """
    suffix = np.uint64((1 << (64 - prefix_bits)) - 1)
    first = entries.keys.searchsorted(probes & ~suffix, "left")
    last = entries.keys.searchsorted(probes | suffix, "right")
    counts = last - first
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(keys):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + at_once, "right")))
        part = counts[begin:end]
        query = np.repeat(np.arange(begin, end), part)
        place = np.arange(len(query)) + np.repeat(first[begin:end] - (ends[begin:end] - part - done), part)
        bits = np.bitwise_count(entries.keys[place] ^ keys[query])
        (near,) = (bits <= distance).nonzero()
        if len(near):
            yield query[near], entries.documents[place[near]], bits[near]
        begin = end


class Matches(NamedTuple):
    """Pairs of a query and a stored document, one row each, in order of query, then document."""

    #: Position of the key in the query: int64[n].
    query: NDArray[np.int64]
    #: Number of the document: int64[n]. Documents not yet on disk have negative numbers.
    document: NDArray[np.int64]
    #: Bits in which the two keys differ, of the closest key if a document has several: uint8[n].
    distance: NDArray[np.uint8]

    def take(self, rows: NDArray[np.bool_]) -> Matches:
        """Return some of the rows."""
        return Matches(self.query[rows], self.document[rows], self.distance[rows])

    @classmethod
    def gather(cls, parts: Sequence[Matches]) -> Matches:
        """Put *parts* together, each pair once: it may have been found in several tables, by several keys."""
        parts = [part for part in parts if len(part.query)]
        if not parts:
            return NO_MATCHES
        query, document, distance = (
            map(np.concatenate, zip(*parts, strict=True)) if len(parts) > 1 else parts[0]
        )
        order = np.lexsort((distance, document, query))
        query, document, distance = query[order], document[order], distance[order]
        new = np.ones(len(query), dtype=bool)
        new[1:] = (query[1:] != query[:-1]) | (document[1:] != document[:-1])
        return cls(query[new], document[new], distance[new])


NO_MATCHES = Matches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))


def search_all(
    search: Callable[[NDArray[np.uint64]], Iterator[Matches]], keys: NDArray[np.uint64], rows: int = ROWS
) -> Matches:
    """Return what *search* yields for *keys* (uint64[n]), each pair of key and document once."""
    found, size = [], 0
    for matches in search(keys):
        found.append(matches)
        size += len(matches.query)
        if size > rows and len(keys) > 1:
            del found, matches
            step = max(1, len(keys) // 8)
            starts = range(0, len(keys), step)
            parts = [(start, search_all(search, keys[start : start + step], rows)) for start in starts]
            moved = (part._replace(query=part.query + start) for start, part in parts)
            return Matches(*map(np.concatenate, zip(*moved, strict=True)))
    return Matches.gather(found)


class Met(NamedTuple):
    """The documents that one lookup of one document has found."""

    #: How many keys each has in common with the one that is looked up, by its number.
    shared: Mapping[int, int]
    #: See `Found`.
    crowded: bool = False
    narrowed: bool = False


def put_together(found: Sequence[Met]) -> tuple[NDArray[np.int64], NDArray[np.int64], bool, bool]:
    """Return the fields of `Found` that lookups give: documents, how many keys they share, the two bounds."""
    counts, crowded, narrowed = zip(*found, strict=True) if found else ((), (), ())
    numbers = sorted({*chain(*counts)})
    shared = np.empty((len(found), len(numbers)), np.int64)
    if numbers:
        shared[...] = [[each.get(number, 0) for number in numbers] for each in counts]
    return np.array(numbers, np.int64), shared, any(crowded), any(narrowed)


def most_shared(counts: Mapping[int, int], nearest: int = 0) -> Met:
    """Return the *nearest* documents of *counts*: that share most keys, of equal ones the oldest; 0: all."""
    if not nearest or len(counts) <= nearest:
        return Met(counts)
    numbers, shared = np.array([*counts.items()], np.int64).T
    chosen = numbers[np.lexsort((_age(numbers), -shared))[:nearest]].tolist()
    return Met({number: counts[number] for number in chosen}, crowded=True)


def closest(parts: Sequence[Matches], count: int) -> Met:
    """Return the *count* documents of *parts* that differ in the fewest bits, of equals the oldest; 0: all.

    A document may come several times, as it has one key.
    """
    if not any(len(part.document) for part in parts):
        return Met({})
    every = Matches(*map(np.concatenate, zip(*parts, strict=True)))
    order = _age(every.document).astype(np.uint64) | every.distance.astype(np.uint64) << np.uint64(_AGE_BITS)
    order.sort()
    order = order[np.append(True, order[1:] != order[:-1])]
    ages = (order[: count or None] & np.uint64((1 << _AGE_BITS) - 1)).tolist()
    chosen = (age if age < _NEWER else _NEWER - age for age in ages)
    return Met(dict.fromkeys(chosen, 1), crowded=len(order) > len(ages))


def _age(documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers that ascend as *documents* were filed: what is not on disk has negative ones."""
    return np.where(documents < 0, _NEWER - documents, documents)
