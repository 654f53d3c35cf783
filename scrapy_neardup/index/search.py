"""Searching runs: a few keys by bisection, many by NumPy. Both compare whatever shares a prefix with a probe.

What is found in runs and in memory comes together in `search_all`, a slice of the keys at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .protocol import Matches
from .sorted_arrays import CANDIDATES, Entries, is_member, look_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .lmdb.snapshot import Snapshot
    from .tables import PermutedTables

    #: Yields what one part of an index has of some keys; see `search_all`.
    Search = Callable[[NDArray[np.uint64]], Iterator[Matches]]

#: Rows of matches that are put in order at a time (4 M of them take some 400 MB).
ROWS = 1 << 22
#: Slices into which keys are cut that have more.
SLICES = 8
#: Probes that are looked up one by one, and compared at once.
FEW = 256
#: Documents of one key that are looked at together.
PIECE = 1 << 10
#: Probes of one table for each of its partitions from which NumPy looks them up faster, partition by partition.
DENSE = 8

#: Position of a key, the key permuted for a table, and the entries from a place to before another that share a prefix.
Range = tuple[int, int, Entries, int, int]


def search_all(
    searches: Sequence[Search], keys: NDArray[np.uint64], most: int = 0, rows: int = ROWS
) -> Matches:
    """Put together what all *searches* find of *keys* (uint64[n]); see `Index.search` for *most*.

    The searches are of parts of an index that have no document in common. They may yield a pair repeatedly; of a key
    that more than *most* documents match they need not yield more than one document beyond that. Memory: what is
    returned, twice, and some *rows* besides, unless a single key has more. Keys that turn out to have more are cut into
    slices, which are searched one by one.
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
    """Put together what all *searches* find of *keys*; None if several keys have more than so many *rows*."""
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


def search_runs(
    reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int, most: int
) -> Iterator[Matches]:
    """Find the documents of all runs within *distance* bits of *keys*; the same pair perhaps repeatedly.

    See `search_all` for *most*.
    """
    tables = reader.header.families[family].tables
    equal = reader.header.families[family].equal
    many = len(keys) > 1 and _is_dense(reader, family, len(keys) * len(tables.flips(distance)[0]))
    if equal and (most or not many):
        found = _search_equal(reader, family, keys.tolist(), most)
    elif many:
        found = _search_many(reader, family, keys, distance)
    else:
        found = _search_few(reader, family, keys.tolist(), distance)
    for matches in found:
        yield matches.take(~is_member(matches.document, reader.dead)) if len(reader.dead) else matches


def _is_dense(reader: Snapshot, family: int, probes: int) -> bool:
    """Whether so many *probes* of a table are many for each of its partitions."""
    return probes > DENSE * max((1 << cut for _, cut in reader.cuts[family]), default=1)


def _search_equal(reader: Snapshot, family: int, keys: list[int], most: int) -> Iterator[Matches]:
    """Bisect for each key."""
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    query: list[int] = []
    found: list[NDArray[np.uint32]] = []
    size = 0
    for position, key in enumerate(keys):
        of_key: list[NDArray[np.uint32]] = []
        for run, cut in cuts:
            entries, values, starts, shift, mask = reader.partition(run, cut, table, key >> (64 - cut))
            place = (key >> shift) & mask
            end = starts[place + 1]
            start = bisect_left(values, key, starts[place], end)
            if start < end and values[start] == key:
                of_key.append(entries.documents[start : bisect_right(values, key, start, end)])
        if not of_key:
            continue
        if most and sum(map(len, of_key)) > most:
            of_key = [_alive(of_key, reader.dead, most + 1)]
        for documents in of_key:
            query.append(position)
            found.append(documents)
            size += len(documents)
        if size > CANDIDATES:
            yield _equal(query, found)
            query, found, size = [], [], 0
    if found:
        yield _equal(query, found)


def _equal(query: list[int], documents: list[NDArray[np.uint32]]) -> Matches:
    """Return as matches the *documents* that have a key, for each *query*."""
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


def _search_few(reader: Snapshot, family: int, keys: list[int], distance: int) -> Iterator[Matches]:
    """Bisect for the range of each probe, then compare what is in some hundreds of them at once."""
    tables = reader.header.families[family].tables
    first, cuts = reader.header.first_table[family], reader.cuts[family]
    flips, prefix_bits = tables.flips(distance), tables.prefix_bits
    probes = sum(map(len, flips))
    ranges: list[Range] = []
    waiting = size = 0
    for position, key in enumerate(keys):
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
                        size += stop - start
        waiting += probes
        if waiting >= FEW or size > CANDIDATES:
            yield from _compare(ranges, distance)
            ranges, waiting, size = [], 0, 0
    yield from _compare(ranges, distance)


def _compare(ranges: list[Range], distance: int) -> Iterator[Matches]:
    """Compare a permuted key with a range of entries, for each of *ranges*."""
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


def _search_many(reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
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
                    entries, permuted[rows], probes[rows], bits, distance
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
