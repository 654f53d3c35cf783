"""Searching the sorted tables of runs: a few keys by bisection, many keys by NumPy.

Both ways compare a key with every entry that shares a prefix with one of its probes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.search import make_probes
from scrapy_neardup.index.sorted_arrays import Entries, is_member, look_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .layout import Run
    from .snapshot import Snapshot

#: The entries of a partition that share a prefix with a probe of a key: position of the key in the query, the
#: key as the table permutes it, the partition, where these entries start, and where they stop.
Range = tuple[int, int, Entries, int, int]

#: So many documents of one key are looked at together.
PIECE = 1 << 10


def search_runs(
    reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int, most: int
) -> Iterator[Matches]:
    """Yield the documents of all runs within *distance* bits of *keys* (uint64[n]), but for removed ones.

    *family* is the number of the family whose tables are searched. A pair may come several times. For *most*
    see `search_all`.
    """
    kind = reader.header.families[family]
    probes = len(keys) * len(kind.tables.flips(distance)[0])
    many = len(keys) > 1 and _is_dense(reader, family, probes)
    if kind.equal and (most or not many):
        found = _search_equal(reader, family, keys.tolist(), most)
    elif many:
        found = _search_many(reader, family, keys, distance)
    else:
        found = _search_few(reader, family, keys.tolist(), distance)
    for matches in found:
        yield matches.take(~is_member(matches.document, reader.dead)) if len(reader.dead) else matches


def _is_dense(reader: Snapshot, family: int, probes: int) -> bool:
    """Whether so many *probes* of a table are many for each of its partitions."""
    partitions = max((1 << cut for _, cut in reader.cuts[family]), default=1)
    return probes > reader.tuning.dense_probes * partitions


# Equal keys


def _search_equal(reader: Snapshot, family: int, keys: list[int], most: int) -> Iterator[Matches]:
    """Yield the documents that have one of *keys*, found by bisection key by key."""
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    query: list[int] = []
    found: list[NDArray[np.uint32]] = []
    size = 0
    for position, key in enumerate(keys):
        of_key = _documents_with(reader, table, cuts, key)
        if not of_key:
            continue
        if most and sum(map(len, of_key)) > most:
            of_key = [_alive(of_key, reader.dead, most + 1)]
        for documents in of_key:
            query.append(position)
            found.append(documents)
            size += len(documents)
        if size > reader.tuning.candidates_at_once:
            yield _equal_matches(query, found)
            query, found, size = [], [], 0
    if found:
        yield _equal_matches(query, found)


def _documents_with(
    reader: Snapshot, table: int, cuts: list[tuple[Run, int]], key: int
) -> list[NDArray[np.uint32]]:
    """Return the documents that have *key* in a *table*, one array for each run that has any.

    *cuts* are the runs, each with the bits by which it cuts the table.
    """
    parts: list[NDArray[np.uint32]] = []
    for run, cut in cuts:
        entries, values, starts, shift, mask = reader.partition(run, cut, table, key >> (64 - cut))
        place = (key >> shift) & mask
        end = starts[place + 1]
        start = bisect_left(values, key, starts[place], end)
        if start < end and values[start] == key:
            parts.append(entries.documents[start : bisect_right(values, key, start, end)])
    return parts


def _equal_matches(query: list[int], documents: list[NDArray[np.uint32]]) -> Matches:
    """Return matches of distance 0: each position of *query* with each of its *documents*."""
    sizes = [len(each) for each in documents]
    found = np.concatenate(documents).astype(np.int64)
    return Matches(np.array(query).repeat(sizes), found, np.zeros(len(found), np.uint8))


def _alive(parts: list[NDArray[np.uint32]], dead: NDArray[np.int64], count: int) -> NDArray[np.uint32]:
    """Return *count* different documents of *parts* that are not *dead*, or all if there are fewer."""
    found: set[int] = set()
    for part in parts:
        for start in range(0, len(part), PIECE):
            piece = part[start : start + PIECE]
            found.update(piece[~is_member(piece, dead)].tolist())
            if len(found) >= count:
                return np.array(sorted(found)[:count], np.uint32)
    return np.array(sorted(found), np.uint32)


# A few fingerprints


def _search_few(reader: Snapshot, family: int, keys: list[int], distance: int) -> Iterator[Matches]:
    """Find the range of each probe by bisection, and compare the entries of hundreds of ranges at once."""
    tuning = reader.tuning
    probes_of_key = sum(map(len, reader.header.families[family].tables.flips(distance)))
    ranges: list[Range] = []
    probes = size = 0
    for position, key in enumerate(keys):
        size += _find_ranges(reader, family, position, key, distance, ranges)
        probes += probes_of_key
        if probes >= tuning.probes_at_once or size > tuning.candidates_at_once:
            yield from _compare(ranges, distance)
            ranges, probes, size = [], 0, 0
    yield from _compare(ranges, distance)


def _find_ranges(
    reader: Snapshot, family: int, position: int, key: int, distance: int, ranges: list[Range]
) -> int:
    """Append the range of each probe of *key* in each table of each run to *ranges*.

    Returns their entries in all.
    """
    tables, first = reader.header.families[family].tables, reader.header.first_table[family]
    cuts = reader.cuts[family]
    size = 0
    for table, (permuted, flips, bits) in enumerate(
        zip(tables.permute(key), tables.flips(distance), tables.prefix_bits, strict=True)
    ):
        suffix = (1 << (64 - bits)) - 1
        for flip in flips:
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
                    size += stop - start
    return size


def _compare(ranges: list[Range], distance: int) -> Iterator[Matches]:
    """Compare the key of each of *ranges* with its entries, all at once.

    Yields those within *distance* bits.
    """
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


# Many keys


def _search_many(reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
    """Look up all probes of one table in one run at a time, partition by partition."""
    first, at_once = reader.header.first_table[family], reader.tuning.candidates_at_once
    for table, (query, permuted, probes, bits) in enumerate(
        make_probes(reader.header.families[family].tables, keys, distance)
    ):
        # In order of the probes, those of one partition are neighbours, and memory is read in one direction.
        order = np.argsort(probes)
        query, permuted, probes = query[order], permuted[order], probes[order]
        for run, cut in reader.cuts[family]:
            for partition, rows in _by_partition(probes, cut):
                entries = reader.partition(run, cut, first + table, partition).entries
                for position, document, distances in look_up(
                    entries, permuted[rows], probes[rows], bits, distance, at_once
                ):
                    yield Matches(query[rows][position], document.astype(np.int64), distances)


def _by_partition(probes: NDArray[np.uint64], cut: int) -> Iterator[tuple[int, slice]]:
    """Yield the partitions of a table cut by *cut* bits, each with the rows of the sorted *probes* in it."""
    if not len(probes):
        return
    partitions = probes >> np.uint64(64 - cut) if cut else np.zeros(len(probes), np.uint64)
    bounds = np.flatnonzero(partitions[1:] != partitions[:-1]) + 1
    for begin, end in pairwise([0, *bounds.tolist(), len(probes)]):
        yield int(partitions[begin]), slice(begin, end)
