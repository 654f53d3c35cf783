"""Searching the sorted tables of runs: a few keys by bisection, many keys by NumPy.

Both ways compare a key with every entry that shares a prefix with one of its probes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.search import make_probes
from scrapy_neardup.index.sorted_arrays import is_member, look_up

from .equal_keys import search_equal
from .ranges import compare, find_ranges, narrowed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .ranges import Range
    from .snapshot import Snapshot


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
