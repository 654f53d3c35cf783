"""Ranges of sorted tables: the entries that share a prefix with a probe, found by bisection and compared."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.sorted_arrays import Entries

if TYPE_CHECKING:
    from collections.abc import Iterator

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
