"""Permuted tables: the pigeonhole that turns "within k bits" into "shares a prefix".

Two keys that differ in at most k bits agree on some ``blocks - k`` of *blocks* blocks of bits. One table for
each choice of so many blocks, in which these stand first, has the two side by side under a common prefix.
(Manku, Jain, Das Sarma: Detecting Near-Duplicates for Web Crawling, WWW 2007, section 3.) With one block and
k = 0 it is a table of equal keys: of bands, super-shingles, hashes of URLs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.arguments import require_whole
from scrapy_neardup.errors import ConfigurationError

#: Bits of a key.
BITS = 64
#: Values permuted at a time: so many stay in the processor's cache.
CHUNK = 1 << 11


@dataclass(frozen=True)
class PermutedTables:
    """All choices of ``blocks - distance`` leading blocks: a range of each has all within *distance* bits.

    Raises `ConfigurationError` unless ``0 <= distance < blocks <= 64``.
    """

    blocks: int
    distance: int

    def __post_init__(self) -> None:
        for name in ("blocks", "distance"):
            require_whole(name, getattr(self, name))
        if not 0 <= self.distance < self.blocks <= BITS:
            raise ConfigurationError(
                f"{self.blocks} blocks cannot find keys within {self.distance} bits: "
                f"use more blocks than bits, and at most {BITS}."
            )

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bits of each block, the most significant first."""
        small, wider = divmod(BITS, self.blocks)
        return tuple(small + (block < wider) for block in range(self.blocks))

    @cached_property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The order of the blocks in each table: the leading ones, then the rest."""
        leading = combinations(range(self.blocks), self.blocks - self.distance)
        return tuple((*lead, *(b for b in range(self.blocks) if b not in lead)) for lead in leading)

    @cached_property
    def prefix_bits(self) -> tuple[int, ...]:
        """Bits of the leading blocks of each table."""
        lead = self.blocks - self.distance
        return tuple(sum(self.widths[block] for block in order[:lead]) for order in self.orders)

    def __len__(self) -> int:
        return len(self.orders)

    def keys(self, values: NDArray[np.uint64], some: slice = slice(None)) -> NDArray[np.uint64]:
        """Permute *values* (uint64[n]) for each table, or for *some*: uint64[tables, n]."""
        if self.blocks == 1:
            return values[np.newaxis, :]
        source, mask, target = (shift[some] for shift in self._shifts)
        keys = np.empty((len(source), len(values)), np.uint64)
        for start in range(0, len(values), CHUNK):
            part = slice(start, start + CHUNK)
            np.bitwise_or.reduce(((values[part] >> source) & mask) << target, axis=1, out=keys[:, part])
        return keys

    def permute(self, value: int) -> list[int]:
        """Permute one value for each table."""
        permuted = []
        for moves in self._moves:
            key = 0
            for source, mask, target in moves:
                key |= (value >> source & mask) << target
            permuted.append(key)
        return permuted

    def restore(self, table: int, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Undo the permutation of *table*: uint64[n] to uint64[n]."""
        if self.blocks == 1:
            return keys
        source, mask, target = (shift[table] for shift in self._shifts)
        values: NDArray[np.uint64] = np.bitwise_or.reduce(((keys >> target) & mask) << source, axis=0)
        return values

    def flips(self, distance: int) -> tuple[tuple[int, ...], ...]:
        """Return what to flip in the key of each table, so that prefixes find all within *distance*.

        Beyond that of the tables, the prefixes that differ in one bit have to be looked up, too.
        """
        return self._each_bit if distance > self.distance else ((0,),) * len(self)

    @property
    def max_distance(self) -> int:
        """The largest distance at which some prefix of two keys differs in one bit at most.

        (Norouzi, Punjani, Fleet: Fast Exact Search in Hamming Space with Multi-Index Hashing, 2014.)
        """
        if self.blocks == 1:
            return 0
        return self.distance + 1 if self.distance < self.blocks - 1 else min(2 * self.blocks, BITS) - 1

    @cached_property
    def _moves(self) -> list[list[tuple[int, int, int]]]:
        """As `_shifts`, for one value, which takes a fifth of the time."""
        shifts = (shift[:, :, 0].tolist() for shift in self._shifts)
        return [list(zip(*table, strict=True)) for table in zip(*shifts, strict=True)]

    @cached_property
    def _each_bit(self) -> tuple[tuple[int, ...], ...]:
        return tuple((0, *(1 << bit for bit in range(BITS - bits, BITS))) for bits in self.prefix_bits)

    @cached_property
    def _shifts(self) -> list[NDArray[np.uint64]]:
        """Where each block of each table comes from, its mask, where it goes: uint64[tables, blocks, 1]."""
        orders, widths = np.array(self.orders), np.array(self.widths, np.uint64)
        starts, ordered = np.uint64(BITS) - np.cumsum(widths), widths[orders]
        targets = np.uint64(BITS) - np.cumsum(ordered, axis=1)
        masks = (np.uint64(1) << ordered) - np.uint64(1)
        return [each[:, :, np.newaxis] for each in (starts[orders], masks, targets)]


@dataclass(frozen=True)
class Family:
    """Keys of one kind: how they are filed, and how many a document has: one unless they have to be equal."""

    tables: PermutedTables
    keys: int = 1

    @property
    def equal(self) -> bool:
        """Whether its keys have to be equal to match."""
        return self.tables.blocks == 1

    def has(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Tell which of *keys* are filed: in a family of several equal keys all but `NO_KEY`."""
        return keys != NO_KEY if self.equal and self.keys > 1 else np.ones(keys.shape, bool)


#: In a family of several equal keys, stands for one that a document lacks; it is neither filed nor found.
NO_KEY = np.uint64(2**64 - 1)

#: Keys that have to be equal: hashes of URLs and texts, bands, super-shingles.
EQUAL = PermutedTables(blocks=1, distance=0)

#: The layouts for Hamming distance 3, by their number of tables: 4 blocks of 16 bits; 5 choose 2; 6 choose 3.
LAYOUTS = {4: PermutedTables(4, 3), 10: PermutedTables(5, 3), 20: PermutedTables(6, 3)}

#: The layout, and the bits within which it is searched, unless others are asked for.
TABLES, DISTANCE = 4, 3
