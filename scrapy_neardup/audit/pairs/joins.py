"""All pairs of near fingerprints: permuted tables, joined with themselves.

A table is the fingerprints permuted and sorted, without document numbers: sorting plain integers is several
times faster than sorting them with what they belong to, and the few that are found are looked up afterwards.
Each fingerprint is compared with those behind it that share the prefix (`PermutedTables`): at shift 1, then
2, and so on until every group of equal prefixes is exhausted, in slices that stay in the processor's cache.

**Cost.** Of *n* fingerprints, a layout of T tables costs ``n * T * 50 ns`` to permute, sort and scan them,
and ``4 ns`` for each two that share a prefix: about ``n**2 / 2**(p + 1)`` a table if the prefix has p bits
and the fingerprints are spread evenly. More blocks make more tables with longer prefixes. Whether they are
spread evenly is not taken for granted: the pairs are counted in a sample, and `choose_layout` takes the
cheapest layout. For distance 3 and even spread that is 4 tables up to about 2.5 million, 10 up to about a
billion, then 20.

Memory: nine 8-byte columns of *n* at most with two workers, plus the chunk that is yielded.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.audit.arrays import begins, ranges
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.tables import BITS, DISTANCE, PermutedTables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]
    Numbers = NDArray[np.int64]

#: The largest distance between fingerprints that `near_pairs` looks for.
MAX_DISTANCE = 7
#: Seconds to permute, sort and scan one key; to compare two. On one core of a server of 2021.
_KEY, _COMPARISON = 50e-9, 4e-9
_SAMPLE = 1 << 14
#: Keys permuted at a time.
_PERMUTED = 1 << 15


class Sizes(NamedTuple):
    """How much is in hand at a time."""

    #: Keys that are compared.
    keys: int = 1 << 15
    #: Pairs that are yielded, about.
    pairs: int = 1 << 20


_SIZES = Sizes()


def near_pairs(
    fingerprints: Keys,
    distance: int = DISTANCE,
    *,
    layout: PermutedTables | None = None,
    workers: int = 2,
    sizes: Sizes = _SIZES,
) -> Iterator[Numbers]:
    """Yield all pairs of *fingerprints* (uint64[n]) that differ in at most *distance* bits.

    They come in chunks of int64[m, 2]. A pair is two positions, the lower one first, and comes once. Of equal
    fingerprints the first stands for all: the others are paired with it, and only it with those that differ.
    So a million equal ones make a million pairs. A chunk has about a million pairs at most, see *sizes*. The
    pairs and their order depend neither on *workers*, the threads that sort, nor on anything random. Raises
    `ConfigurationError` for a distance that is not 0 to 7, or that the *layout* cannot find.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise ConfigurationError(f"Distance {distance} cannot be searched: use 0 to {MAX_DISTANCE} bits.")
    if layout and distance > layout.distance:
        raise ConfigurationError(
            f"Tables for distance {layout.distance} do not find all pairs within {distance}."
        )
    return _near_pairs(np.asarray(fingerprints, np.uint64), distance, layout, workers, sizes)


def choose_layout(
    values: Keys, distance: int, count: int | None = None, key_seconds: float = _KEY
) -> PermutedTables:
    """Return the layout by which *values* (uint64[n], distinct) are joined fastest by the cost model.

    They may be a sample of *count* ones. It takes *key_seconds* to file a key in a table.
    """
    count = count or len(values)
    sample = values
    if len(sample) > _SAMPLE:
        sample = values[np.random.default_rng(0).integers(0, len(values), _SAMPLE)]
        sample = np.unique(sample)
    scale = (count / max(1, len(sample))) ** 2
    best, least = PermutedTables(distance + 1, distance), np.inf
    for blocks in range(distance + 1, BITS + 1):
        sorting = comb(blocks, distance) * count * key_seconds
        if sorting >= least:
            break
        layout = PermutedTables(blocks, distance)
        pairs = 0
        for table, bits in enumerate(layout.prefix_bits):
            prefixes = _table(sample, layout, table) >> np.uint64(BITS - bits)
            starts = np.flatnonzero(begins(prefixes))
            sizes = np.diff(starts, append=len(prefixes))
            pairs += int((sizes * (sizes - 1)).sum()) // 2
            if (cost := sorting + pairs * scale * _COMPARISON) >= least:
                break
        else:
            best, least = layout, cost
    return best


def _near_pairs(
    fingerprints: Keys, distance: int, layout: PermutedTables | None, workers: int, sizes: Sizes
) -> Iterator[Numbers]:
    if not len(fingerprints):
        return
    order = np.argsort(fingerprints, kind="stable")
    values = fingerprints[order]
    starts = np.flatnonzero(begins(values))
    first, values = order[starts], values[starts]
    yield from _stars(order, starts, sizes.pairs)
    del order, starts
    if distance == 0:
        return
    layout = layout or choose_layout(values, distance)
    for table, a, b in _joined(values, layout, distance, workers, sizes):
        a, b = found_first(layout, table, a, b)
        if len(a):
            pairs = first[np.searchsorted(values, np.stack((a, b), axis=1))]
            pairs.sort(axis=1)
            yield pairs


def found_first(layout: PermutedTables, table: int, a: Keys, b: Keys) -> tuple[Keys, Keys]:
    """Restore the keys *a* and *b* (uint64[m] each) of the pairs that *table* has found.

    Those that an earlier table finds, too, are left out, so that each pair comes once.
    """
    a, b = layout.restore(table, a), layout.restore(table, b)
    # Tables come in the lexicographic order of their leading blocks. So an earlier one has found the pair
    # already if, and only if, it agrees in some block that comes before the last of these and is not one.
    leading = layout.orders[table][: layout.blocks - layout.distance]
    for block in set(range(leading[-1])) - set(leading):
        low = BITS - sum(layout.widths[: block + 1])
        new = (a ^ b) & np.uint64(((1 << layout.widths[block]) - 1) << low) != 0
        a, b = a[new], b[new]
    return a, b


def _stars(order: Numbers, starts: Numbers, size: int) -> Iterator[Numbers]:
    """Yield the pairs of the first and each other element of the groups of *order* that begin at *starts*.

    So many come at a time as *size* says.
    """
    ends = np.append(starts[1:], len(order))
    many = ends - starts > 1
    starts, ends = starts[many], ends[many]
    before = np.cumsum(ends - starts - 1) - (ends - starts - 1)
    total = int((ends - starts - 1).sum())
    for low in range(0, total, size):
        which = np.arange(low, min(low + size, total))
        group = np.searchsorted(before, which, side="right") - 1
        yield np.stack((order[starts[group]], order[starts[group] + 1 + which - before[group]]), axis=1)


def _joined(
    values: Keys, layout: PermutedTables, distance: int, workers: int, sizes: Sizes
) -> Iterator[tuple[int, Keys, Keys]]:
    """Yield each table's number and the keys of its pairs, while threads sort the tables that follow."""
    with ThreadPoolExecutor(workers) as pool:
        ahead = deque(
            pool.submit(_table, values, layout, table) for table in range(min(workers, len(layout)))
        )
        for table, bits in enumerate(layout.prefix_bits):
            keys = ahead.popleft().result()
            if table + workers < len(layout):
                ahead.append(pool.submit(_table, values, layout, table + workers))
            found: list[tuple[Keys, Keys]] = []
            size = 0
            for pair in neighbours(keys, bits, distance, sizes.keys):
                found.append(pair)
                size += len(pair[0])
                if size >= sizes.pairs:
                    yield table, *_concatenated(found)
                    found, size = [], 0
            if found:
                yield table, *_concatenated(found)


def _concatenated(pairs: list[tuple[Keys, Keys]]) -> tuple[Keys, Keys]:
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def _table(values: Keys, layout: PermutedTables, table: int) -> Keys:
    """Return *values* permuted for *table*, sorted."""
    moves: dict[int, int] = {}  # how far to the left, and which bits
    top = BITS
    for block in layout.orders[table]:
        width = layout.widths[block]
        low = BITS - sum(layout.widths[: block + 1])
        top -= width
        moves[top - low] = moves.get(top - low, 0) | ((1 << width) - 1) << low
    keys = np.zeros_like(values)
    for start in range(0, len(values), _PERMUTED):
        source, target = values[start : start + _PERMUTED], keys[start : start + _PERMUTED]
        for left, mask in moves.items():
            moved = source & np.uint64(mask)
            if left:
                shift = np.left_shift if left > 0 else np.right_shift
                shift(moved, np.uint64(abs(left)), out=moved)
            target |= moved
    keys.sort()
    return keys


def neighbours(keys: Keys, bits: int, distance: int, size: int = _SIZES.keys) -> Iterator[tuple[Keys, Keys]]:
    """Yield the pairs of *keys* (sorted) that share the first *bits* and differ in at most *distance*.

    So many keys are compared at a time as *size* says.
    """
    suffix = np.uint64((1 << (BITS - bits)) - 1)
    for low in range(0, len(keys), size):
        part, rest = keys[low : low + size], keys[low:]
        starts = np.flatnonzero(np.append(True, part[1:] ^ part[:-1] > suffix))
        ends = np.append(starts[1:], np.searchsorted(rest, part[-1] | suffix, side="right"))
        many = ends - starts > 1
        starts, ends = starts[many], ends[many]
        if not len(starts):
            continue
        within = np.minimum(ends, len(part)) - starts
        places = ranges(starts, within)
        behind = np.repeat(ends, within) - places - 1
        # Those with the most keys behind them come first, so that the ones left at each shift are a slice.
        most = int(behind.max())
        order = np.argsort((most - behind).astype(np.min_scalar_type(most)), kind="stable")
        places, behind = places[order], behind[order]
        left = part[places]
        active = np.searchsorted(-behind, -np.arange(1, most + 1), side="right").tolist()
        for shift, count in enumerate(active, 1):
            right = rest[places[:count] + shift]
            hits = np.flatnonzero(np.bitwise_count(left[:count] ^ right) <= distance)
            if len(hits):
                yield left[hits], right[hits]
