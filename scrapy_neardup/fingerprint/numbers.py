"""Which numbers a text has, in 256 bits: pages of one template share their words, not their numbers.

A Bloom filter with one hash function (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM
1970). Unlike a MinHash it never misses a number that both texts have, and of few numbers, the usual case, it is
nearly exact.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from .hashing import unique
from .murmur import mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BITS = 256
#: Bytes of a filter.
SIZE = BITS // 8
#: Distinct numbers that are entered: more would fill the filter until it seems to hold every number (300 set 69 %).
_MOST = 300


def numbers(hashes: NDArray[np.uint64]) -> bytes:
    """Enter the hashes of the tokens with a digit (uint64[n]); `SIZE` bytes."""
    return numbers_each([hashes])[0]


def numbers_each(texts: Sequence[NDArray[np.uint64]]) -> list[bytes]:
    """Make the filters of several texts together, see `numbers`."""
    entered = [hashes if len(hashes) <= _MOST else _least(hashes) for hashes in texts]
    bits = (mix(np.concatenate(entered)) & np.uint64(BITS - 1)).tolist()
    # Some ten of a text, which are set faster one by one than in an array.
    ends = accumulate(map(len, entered))
    return [_filter(bits[end - len(hashes) : end]) for end, hashes in zip(ends, entered, strict=True)]


def _filter(bits: list[int]) -> bytes:
    """Return `SIZE` bytes with *bits* set, the first of a byte being its highest."""
    number = 0
    for bit in bits:
        number |= 1 << (BITS - 1 - bit)
    return number.to_bytes(SIZE, "big")


def _least(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the `_MOST` distinct ones of which `mix` makes the least."""
    values = unique(hashes)
    return values[np.argsort(mix(values))[:_MOST]]


def substituted(
    filters: NDArray[np.uint8], others: NDArray[np.uint8]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compare texts pair by pair: how many numbers each lacks of the other, and how many there could be.

    Filters are uint8[n, 32], or uint8[32] for a single text on either side; the answers float64[n]. The first is
    the smaller of |A∖B| and |B∖A|, the second the smaller of |A| and |B|: a copy that is cut, or that brings
    boilerplate along, lacks numbers or has more, hardly both. A template filled with other values does both.
    """
    one, other = np.ascontiguousarray(filters).view(np.uint64), np.ascontiguousarray(others).view(np.uint64)
    sizes = [np.bitwise_count(part).sum(axis=-1, dtype=np.float64) for part in (one, other, one & other)]
    fewer, more, both = np.minimum(*sizes[:2]), np.maximum(*sizes[:2]), sizes[2]
    # Of the numbers that the other lacks, some meet one of its bits by chance.
    missing = np.minimum((fewer - both) / np.maximum(1 - more / BITS, 1 / BITS), fewer)
    return missing, fewer
