"""Searching runs: a few keys by bisection, many by NumPy. Both compare whatever shares a prefix with a probe."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .base import Matches
from .sorted import is_member, look_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.tables import PermutedTables

    from .snapshot import Snapshot

#: Probes that are looked up one by one, and compared at once.
FEW = 256
#: Probes of one table for each of its partitions from which NumPy looks them up faster, partition by partition.
DENSE = 8


def search_runs(
    reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int, most: int
) -> Iterator[Matches]:
    """Find the documents of all runs within *distance* bits of *keys*; the same pair perhaps repeatedly.

    See `Index.search` for *most*.
    """
    tables = reader.header.families[family].tables
    equal = reader.header.families[family].equal
    if not equal:
        most = 0
    if len(keys) > 1 and _is_dense(reader, family, len(keys) * len(tables.flips(distance)[0])):
        found = _search_many(reader, family, keys, distance, most)
    elif equal:
        found = _search_equal(reader, family, keys.tolist(), most)
    else:
        found = _search_few(reader, family, keys.tolist(), distance)
    for matches in found:
        if len(reader.dead):
            alive = ~is_member(matches.document, reader.dead)
            yield Matches(matches.query[alive], matches.document[alive], matches.distance[alive])
        else:
            yield matches


def _is_dense(reader: Snapshot, family: int, probes: int) -> bool:
    """Whether so many *probes* of a table are many for each of its partitions."""
    return probes > DENSE * max((1 << cut for _, cut in reader.cuts[family]), default=1)


def _search_equal(reader: Snapshot, family: int, keys: list[int], most: int) -> Iterator[Matches]:
    """Bisect for each key."""
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    query: list[int] = []
    documents: list[int] = []
    for position, key in enumerate(keys):
        for run, cut in cuts:
            entries, values, starts, shift, mask = reader.partition(run, cut, table, key >> (64 - cut))
            place = (key >> shift) & mask
            end = starts[place + 1]
            start = bisect_left(values, key, starts[place], end)
            if start < end and values[start] == key:
                stop = bisect_right(values, key, start, end)
                if not most or stop - start <= most:
                    documents += entries.documents[start:stop].tolist()
                    query += [position] * (stop - start)
    if documents:
        yield Matches(
            np.array(query, np.int64), np.array(documents, np.int64), np.zeros(len(documents), np.uint8)
        )


def _search_few(reader: Snapshot, family: int, keys: list[int], distance: int) -> Iterator[Matches]:
    """Bisect for the range of each probe, then compare what is in some hundreds of them at once."""
    step = max(1, FEW // sum(map(len, reader.header.families[family].tables.flips(distance))))
    for start in range(0, len(keys), step):
        yield from _search_some(reader, family, keys[start : start + step], start, distance)


def _search_some(
    reader: Snapshot, family: int, keys: list[int], number: int, distance: int
) -> Iterator[Matches]:
    """Search for *keys*, the first of which is *number*."""
    tables = reader.header.families[family].tables
    first, cuts = reader.header.first_table[family], reader.cuts[family]
    flips, prefix_bits = tables.flips(distance), tables.prefix_bits
    ranges = []
    for position, key in enumerate(keys, number):
        for table, permuted in enumerate(tables.permute(key)):
            suffix = (1 << (64 - prefix_bits[table])) - 1
            for flip in flips[table]:
                high = (permuted ^ flip) | suffix
                low = high ^ suffix
                for run, cut in cuts:
                    entries, values, starts, shift, mask = reader.partition(
                        run, cut, first + table, low >> (64 - cut)
                    )
                    place = (low >> shift) & mask
                    start = bisect_left(values, low, starts[place], starts[place + 1])
                    stop = bisect_right(values, high, start, starts[((high >> shift) & mask) + 1])
                    if start < stop:
                        ranges.append((position, permuted, entries, start, stop))
    if not ranges:
        return
    sizes = [stop - start for _, _, _, start, stop in ranges]
    stored = np.concatenate([entries.keys[start:stop] for _, _, entries, start, stop in ranges])
    wanted = np.array([permuted for _, permuted, _, _, _ in ranges], np.uint64).repeat(sizes)
    bits = np.bitwise_count(stored ^ wanted)
    (near,) = (bits <= distance).nonzero()
    if len(near):
        query = np.array([position for position, _, _, _, _ in ranges]).repeat(sizes)
        documents = np.concatenate([entries.documents[start:stop] for _, _, entries, start, stop in ranges])
        yield Matches(query[near], documents[near].astype(np.int64), bits[near])


def _search_many(
    reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int, most: int
) -> Iterator[Matches]:
    """Look up all probes of one table in one run at a time."""
    first = reader.header.first_table[family]
    for table, (query, permuted, probes, bits) in enumerate(
        make_probes(reader.header.families[family].tables, keys, distance)
    ):
        # Neighbouring probes lie in one partition, and walk through memory in one direction.
        order = np.argsort(probes)
        query, permuted, probes = query[order], permuted[order], probes[order]
        for run, cut in reader.cuts[family]:
            for partition, rows in _by_partition(probes, cut):
                entries = reader.partition(run, cut, first + table, partition).entries
                for position, document, distances in look_up(
                    entries, permuted[rows], probes[rows], bits, distance, most
                ):
                    yield Matches(query[rows][position], document.astype(np.int64), distances)


def make_probes(
    tables: PermutedTables, keys: NDArray[np.uint64], distance: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64], int]]:
    """Yield for each table: position in *keys*, permuted key and probe, row by row; and the bits of the prefix."""
    query = np.arange(len(keys))
    for permuted, flips, bits in zip(
        tables.keys(keys), tables.flips(distance), tables.prefix_bits, strict=True
    ):
        probes = (permuted[:, np.newaxis] ^ np.array(flips, np.uint64)).ravel()
        yield query.repeat(len(flips)), permuted.repeat(len(flips)), probes, bits


def _by_partition(probes: NDArray[np.uint64], cut: int) -> Iterator[tuple[int, slice]]:
    """Yield the partitions of a table cut by *cut* bits, and the rows of the sorted *probes* that lie in each."""
    if not len(probes):
        return
    partitions = probes >> np.uint64(64 - cut) if cut else np.zeros(len(probes), np.uint64)
    bounds = np.flatnonzero(partitions[1:] != partitions[:-1]) + 1
    for begin, end in pairwise([0, *bounds.tolist(), len(probes)]):
        yield int(partitions[begin]), slice(begin, end)
