"""Searching the sorted tables of runs: a few keys by bisection, many keys by NumPy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.search import PIECE, make_probes
from scrapy_neardup.index.sorted_arrays import Entries, is_member, look_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .layout import Run
    from .snapshot import Snapshot


#: The entries of a partition that share a prefix with a probe of a key: position of the key in the query, the
#: key as the table permutes it, the partition, where these entries start, where they stop, the probe, and the
#: bits of the prefix.
Range = tuple[int, int, Entries, int, int, int, int]

#: Ranges of more entries are compared one by one, so many entries at a time: they stay in the processor's
#: cache.
LONG = 1 << 15


def find_ranges(
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
            probe = permuted ^ flip
            high = probe | suffix
            low = high ^ suffix
            for run, cut in cuts:
                entries, values, starts, shift, mask = reader.partition(
                    run, cut, first + table, low >> (64 - cut)
                )
                place = (low >> shift) & mask
                start = bisect_left(values, low, starts[place], starts[place + 1])
                stop = bisect_right(values, high, start, starts[((high >> shift) & mask) + 1])
                if start < stop:
                    ranges.append((position, permuted, entries, start, stop, probe, bits))
                    size += stop - start
    return size


def compare(ranges: list[Range], distance: int, first: int | None = None) -> Iterator[Matches]:
    """Compare the key of each of *ranges* with its entries, those of short ranges all at once.

    Yields those within *distance* bits. Entries equal to the key are in every table: if *first* is given, the
    key as the first table permutes it, those of the other tables may be left out.
    """
    short = []
    for each in ranges:
        position, permuted, entries, start, stop, _, _ = each
        if stop - start < LONG:
            short.append(each)
            continue
        for low in range(start, stop, LONG):
            part = slice(low, min(low + LONG, stop))
            bits = np.bitwise_count(entries.keys[part] ^ np.uint64(permuted))
            near = bits <= distance
            if first not in (None, permuted):
                near &= bits > 0
            (near,) = near.nonzero()
            if len(near):
                documents = entries.documents[part][near].astype(np.int64)
                yield Matches(np.full(len(near), position), documents, bits[near])
    if not short:
        return
    sizes = [stop - start for _, _, _, start, stop, _, _ in short]
    stored = np.concatenate([entries.keys[start:stop] for _, _, entries, start, stop, _, _ in short])
    wanted = np.array([each[1] for each in short], np.uint64).repeat(sizes)
    bits = np.bitwise_count(stored ^ wanted)
    (near,) = (bits <= distance).nonzero()
    if len(near):
        query = np.array([each[0] for each in short]).repeat(sizes)
        documents = np.concatenate(
            [entries.documents[start:stop] for _, _, entries, start, stop, _, _ in short]
        )
        yield Matches(query[near], documents[near].astype(np.int64), bits[near])


def narrowed(ranges: list[Range], most: int) -> list[Range]:
    """Return the parts of *ranges* that share the longest prefixes with a probe, up to *most* entries.

    If more entries than that are equal to their probes, the ones filed first in each range are taken.
    """
    low, high = 0, 64
    while low < high:
        middle = (low + high) // 2
        if size_of(_sharing(ranges, middle)) > most:
            low = middle + 1
        else:
            high = middle
    ranges = _sharing(ranges, low)
    if size_of(ranges) <= most:
        return ranges
    # Every entry is equal to its probe, so each table has the same documents. Runs come in order of age.
    left = dict.fromkeys({probe for *_, probe, _ in ranges}, most // len({probe for *_, probe, _ in ranges}))
    cut = []
    for position, permuted, entries, start, stop, probe, bits in ranges:
        size = min(stop - start, left[probe])
        left[probe] -= size
        cut.append((position, permuted, entries, start, start + size, probe, bits))
    return cut


def _sharing(ranges: list[Range], more: int) -> list[Range]:
    """Return the parts of *ranges* that share so many *more* bits with their probes; none is empty."""
    found = []
    for position, permuted, entries, start, stop, probe, bits in ranges:
        suffix = (1 << max(0, 64 - bits - more)) - 1
        low = start + int(entries.keys[start:stop].searchsorted(np.uint64(probe & ~suffix), "left"))
        high = start + int(entries.keys[start:stop].searchsorted(np.uint64(probe | suffix), "right"))
        if low < high:
            found.append((position, permuted, entries, low, high, probe, bits))
    return found


def size_of(ranges: list[Range]) -> int:
    """Return how many entries *ranges* have."""
    return sum(stop - start for _, _, _, start, stop, _, _ in ranges)


def search_equal(reader: Snapshot, family: int, keys: list[int], most: int, first: int) -> Iterator[Matches]:
    """Yield the documents that have one of *keys*. For *most* and *first* see `search_runs`."""
    limit = most + 1 if most else first
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    query: list[int] = []
    found: list[NDArray[np.uint32]] = []
    size = 0
    for position, key in enumerate(keys):
        of_key = _documents_with(reader, table, cuts, key)
        if not of_key:
            continue
        if limit and sum(map(len, of_key)) >= limit:
            of_key = [_alive(of_key, reader.dead, limit)]
        for documents in of_key:
            query.append(position)
            found.append(documents)
            size += len(documents)
        if size > reader.tuning.candidates_at_once:
            yield _equal_matches(query, found)
            query, found, size = [], [], 0
    if found:
        yield _equal_matches(query, found)


def is_known(reader: Snapshot, family: int, keys: list[int]) -> bool:
    """Whether any document, perhaps a removed one, has one of *keys*."""
    table, cuts = reader.header.first_table[family], reader.cuts[family]
    return any(_documents_with(reader, table, cuts, key) for key in keys)


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
    """Return the first *count* different documents of *parts* that are not *dead*, or all if there are fewer.

    The documents of one key ascend within a run, and from run to run.
    """
    found: set[int] = set()
    for part in parts:
        for start in range(0, len(part), PIECE):
            piece = part[start : start + PIECE]
            found.update(piece[~is_member(piece, dead)].tolist())
            if len(found) >= count:
                return np.array(sorted(found)[:count], np.uint32)
    return np.array(sorted(found), np.uint32)


def search_runs(
    reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int, most: int, first: int = 0
) -> Iterator[Matches]:
    """Yield the documents of all runs within *distance* bits of *keys* (uint64[n]), but for removed ones.

    *family* is the number of the family whose tables are searched. A pair may come several times. For *most*
    see `search_all`. Of keys that have to be equal, the *first* documents that were filed suffice, so many of
    each key; 0: all are wanted.
    """
    kind = reader.header.families[family]
    probes = len(keys) * len(kind.tables.flips(distance)[0])
    many = len(keys) > 1 and _is_dense(reader, family, probes)
    if kind.equal and (most or first or not many):
        found = search_equal(reader, family, keys.tolist(), most, first)
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


def _search_few(reader: Snapshot, family: int, keys: list[int], distance: int) -> Iterator[Matches]:
    """Find the range of each probe by bisection, and compare the entries of hundreds of ranges at once."""
    tuning = reader.tuning
    probes_of_key = sum(map(len, reader.header.families[family].tables.flips(distance)))
    ranges: list[Range] = []
    probes = size = 0
    for position, key in enumerate(keys):
        size += find_ranges(reader, family, position, key, distance, ranges)
        probes += probes_of_key
        if probes >= tuning.probes_at_once or size > tuning.candidates_at_once:
            yield from compare(ranges, distance)
            ranges, probes, size = [], 0, 0
    yield from compare(ranges, distance)


def search_one(
    reader: Snapshot, family: int, key: int, distance: int, compared: int
) -> tuple[list[Matches], bool]:
    """Return the documents of all runs within *distance* bits of *key*, perhaps removed ones, too.

    A document may come several times. At most *compared* entries are compared, unless that is 0. If there are
    more, those that share the longest prefixes with the key are taken, and True is returned besides.
    """
    ranges: list[Range] = []
    size = find_ranges(reader, family, 0, key, distance, ranges)
    too_many = bool(compared) and size > compared
    if too_many:
        ranges = narrowed(ranges, compared)
    first = reader.header.families[family].tables.permute(key)[0]
    return list(compare(ranges, distance, first)), too_many


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
