"""Searching the sorted tables of runs: a few keys by bisection, many keys by NumPy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.search import Entries, Matches, is_member, look_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .snapshot import Snapshot


#: The entries of a partition that share a prefix with a probe of a key: the key as the table permutes it, the
#: partition, where these entries start, where they stop, the probe, and the bits of the prefix.
Range = tuple[int, Entries, int, int, int, int]


def with_key(reader: Snapshot, family: int, key: int, limit: int) -> set[int]:
    """Return the documents that have *key* in a *family* of equal keys, but for removed ones.

    Those filed first suffice if there are more than *limit*, unless that is 0.
    """
    table = reader.header.first_table[family]
    documents: set[int] = set()
    for run, cut in reader.cuts[family]:
        entries, values, starts, shift, mask = reader.partition(run, cut, table, key >> (64 - cut))
        place = (key >> shift) & mask
        end = starts[place + 1]
        start = bisect_left(values, key, starts[place], end)
        if start == end or values[start] != key:
            continue
        of_key = entries.documents[start : bisect_right(values, key, start, end)]
        # They ascend within a run, and from run to run. Some may be dead, or have the key several times.
        if limit:
            of_key = of_key[: (limit + len(reader.dead)) * reader.header.families[family].keys]
        documents.update(of_key[~is_member(of_key, reader.dead)].tolist())
        if limit and len(documents) >= limit:
            return set(sorted(documents)[:limit])
    return documents


def search_near(reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
    """Yield the documents within *distance* bits of *keys* (uint64[n]), but for removed ones.

    A pair may come several times.
    """
    if len(keys) > reader.tuning.few_keys:
        found = _search_many(reader, family, keys, distance)
    else:
        found = (
            part._replace(query=part.query + position)
            for position, key in enumerate(keys.tolist())
            for part in search_one(reader, family, key, distance, 0)[0]
        )
    for matches in found:
        yield matches.take(~is_member(matches.document, reader.dead)) if len(reader.dead) else matches


def search_one(
    reader: Snapshot, family: int, key: int, distance: int, compared: int
) -> tuple[list[Matches], bool]:
    """Return the documents within *distance* bits of *key*, perhaps removed ones, too.

    A document may come several times. At most *compared* entries are compared, unless that is 0. If there are
    more, those that share the longest prefixes with the key are taken, and True is returned besides.
    """
    ranges = _ranges(reader, family, key, distance)
    too_many = bool(compared) and sum(each[3] - each[2] for each in ranges) > compared
    if too_many:
        ranges = _narrowed(ranges, compared)
    if not ranges:
        return [], too_many
    stored = np.concatenate([entries.keys[start:stop] for _, entries, start, stop, _, _ in ranges])
    wanted = np.array([each[0] for each in ranges], np.uint64)
    bits = np.bitwise_count(stored ^ wanted.repeat([stop - start for _, _, start, stop, _, _ in ranges]))
    (near,) = (bits <= distance).nonzero()
    if not len(near):
        return [], too_many
    documents = np.concatenate([entries.documents[start:stop] for _, entries, start, stop, _, _ in ranges])
    found = Matches(np.zeros(len(near), np.int64), documents[near].astype(np.int64), bits[near])
    return [found], too_many


def _ranges(reader: Snapshot, family: int, key: int, distance: int) -> list[Range]:
    """Return the range of each probe of *key* in each table of each run."""
    tables, first = reader.header.families[family].tables, reader.header.first_table[family]
    cuts, ranges = reader.cuts[family], []
    for table, (permuted, flips, bits) in enumerate(
        zip(tables.permute(key), tables.flips(distance), tables.prefix_bits, strict=True), first
    ):
        suffix = (1 << (64 - bits)) - 1
        for flip in flips:
            probe = permuted ^ flip
            high = probe | suffix
            low = high ^ suffix
            for run, cut in cuts:
                entries, values, starts, shift, mask = reader.partition(run, cut, table, low >> (64 - cut))
                place = (low >> shift) & mask
                start = bisect_left(values, low, starts[place], starts[place + 1])
                stop = bisect_right(values, high, start, starts[((high >> shift) & mask) + 1])
                if start < stop:
                    ranges.append((permuted, entries, start, stop, probe, bits))
    return ranges


def _narrowed(ranges: list[Range], most: int) -> list[Range]:
    """Return the parts of *ranges* that share the longest prefixes with a probe, up to *most* entries.

    If more entries than that are equal to their probes, the ones filed first in each range are taken.
    """
    for _ in range(64):
        ranges = [longer for each in ranges if (longer := _sharing_more(*each)) is not None]
        if sum(each[3] - each[2] for each in ranges) <= most:
            return ranges
    # Every entry is equal to its probe, so each table has the same documents. Runs come in order of age.
    probes = {probe for *_, probe, _ in ranges}
    left = dict.fromkeys(probes, most // len(probes))
    cut = []
    for permuted, entries, start, stop, probe, bits in ranges:
        size = min(stop - start, left[probe])
        left[probe] -= size
        cut.append((permuted, entries, start, start + size, probe, bits))
    return cut


def _sharing_more(
    permuted: int, entries: Entries, start: int, stop: int, probe: int, bits: int
) -> Range | None:
    """Return the part of a range that shares a bit more with its probe; None if it is empty."""
    suffix = (1 << max(0, 63 - bits)) - 1
    keys = entries.keys[start:stop]
    low = start + int(keys.searchsorted(np.uint64(probe & ~suffix), "left"))
    high = start + int(keys.searchsorted(np.uint64(probe | suffix), "right"))
    return (permuted, entries, low, high, probe, min(64, bits + 1)) if low < high else None


def _search_many(reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
    """Look up all probes of one table in one run at a time, partition by partition."""
    first, at_once = reader.header.first_table[family], reader.tuning.candidates_at_once
    tables = reader.header.families[family].tables
    each = np.arange(len(keys))
    for table, (permuted, flips, bits) in enumerate(
        zip(tables.keys(keys), tables.flips(distance), tables.prefix_bits, strict=True), first
    ):
        probes = (permuted[:, np.newaxis] ^ np.array(flips, np.uint64)).ravel()
        # In order of the probes, those of one partition are neighbours, and memory is read in one direction.
        order = np.argsort(probes)
        query, wanted, probes = (
            each.repeat(len(flips))[order],
            permuted.repeat(len(flips))[order],
            probes[order],
        )
        for run, cut in reader.cuts[family]:
            for partition, rows in _by_partition(probes, cut):
                entries = reader.partition(run, cut, table, partition).entries
                for position, document, distances in look_up(
                    entries, wanted[rows], probes[rows], bits, distance, at_once
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
