"""Sorted tables as pairs of arrays, one of keys and one of documents: how to make, merge and look them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .tables import Family


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


def flatten(
    family: Family, keys: NDArray[np.uint64], documents: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the keys (uint64[m]) under which *documents* (uint32[n]) are filed, and the document of each.

    *keys* are uint64[family.keys, n].
    """
    has = family.has(keys).T
    return keys.T[has], np.repeat(documents, has.sum(axis=1))


def sort_entries(keys: NDArray[np.uint64], documents: NDArray[np.uint32]) -> Entries:
    """Sort entries by key. Equal keys keep their order, so that the same documents give the same bytes."""
    # Numbers made of the upper bits of a key and of its row sort four times as fast as rows by key. Two keys
    # seldom have the same upper bits; if some do, the second sort has little to do.
    low = np.uint64((1 << len(keys).bit_length()) - 1)
    order = np.sort((keys & ~low) | np.arange(len(keys), dtype=np.uint64)) & low
    keys, documents = keys[order], documents[order]
    return _sort_sorted(keys, documents) if (keys[1:] < keys[:-1]).any() else Entries(keys, documents)


def _sort_sorted(keys: NDArray[np.uint64], documents: NDArray[np.uint32]) -> Entries:
    """Sort entries that are nearly sorted, or consist of sorted parts, quickly: by a merge sort."""
    order = np.argsort(keys, kind="stable")
    return Entries(keys[order], documents[order])


def merge_entries(parts: Sequence[Entries]) -> Entries:
    """Merge sorted *parts*, of which there is at least one."""
    if len(parts) == 1:
        return parts[0]
    keys = np.concatenate([part.keys for part in parts])
    documents = np.concatenate([part.documents for part in parts])
    return _sort_sorted(keys, documents)


def is_member(values: NDArray[np.integer], among: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of *values* (n) are in *among* (int64[m], ascending): bool[n]."""
    if not len(among):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(among, values), len(among) - 1)
    found: NDArray[np.bool_] = among[place] == values
    return found


def look_up(
    entries: Entries,
    keys: NDArray[np.uint64],
    probes: NDArray[np.uint64],
    prefix_bits: int,
    distance: int,
    at_once: int,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]]:
    """Compare each of *keys* (uint64[n]) with entries that share *prefix_bits* with its probe (uint64[n]).

    Yields arrays of position in *keys*, document and distance for those at most *distance* bits away. So many
    entries are compared *at_once* that memory is bounded, unless a single key has more.
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
        total = int(ends[end - 1] - done)
        if total:
            query = np.repeat(np.arange(begin, end), part)
            place = np.arange(total) + np.repeat(first[begin:end] - (ends[begin:end] - part - done), part)
            bits = np.bitwise_count(entries.keys[place] ^ keys[query])
            (near,) = (bits <= distance).nonzero()
            if len(near):
                yield query[near], entries.documents[place[near]], bits[near]
        begin = end
