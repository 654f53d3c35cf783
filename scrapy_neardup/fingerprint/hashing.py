"""Hashes of tokens to hashes of shingles, without joining strings, and the distinct ones among them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_whole

from .murmur import constant, mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MULTIPLIER = constant(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing


def roll(rolled: NDArray[np.uint64], hashes: NDArray[np.uint64], start: int, size: int) -> NDArray[np.uint64]:
    """Make shingles of *size* tokens from shingles of *start* tokens; uint64[n - size + 1].

    *hashes* (uint64[n]) are those of the tokens, *rolled* those of the shorter shingles.
    """
    count = len(hashes) - size + 1
    rolled = rolled[:count]
    for offset in range(start, size):
        longer = rolled * _MULTIPLIER
        longer += hashes[offset : offset + count]
        rolled = mix(longer)
    return rolled


def shingle(hashes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash each run of *size* neighbours, whose order counts; uint64[n - size + 1].

    If there are fewer than *size*, all of them make one shingle. Raises `ConfigurationError` for a size below
    1.
    """
    require_whole("The size of a shingle", size, 1)
    return roll(hashes, hashes, 1, max(1, min(size, len(hashes))))


def unique(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct values in ascending order, in a third of the time of ``np.unique``."""
    ordered = np.sort(hashes)
    return ordered[_new(ordered)]


def distinct(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the distinct values in ascending order, and how often each occurs."""
    ordered = np.sort(hashes)
    first = np.flatnonzero(_new(ordered))
    return ordered[first], np.diff(first, append=len(ordered))


def distinct_each(
    hashes: NDArray[np.uint64], bounds: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sort *hashes* within each text, in place; return where their distinct values begin, and their bounds.

    Text number i has hashes from bounds[i] to bounds[i + 1] (intp[texts + 1], from 0 to the number of
    hashes). Bounds of distinct values are of the same form.
    """
    for start, stop in pairwise(bounds.tolist()):
        hashes[start:stop].sort()
    new = np.ones(len(hashes) + 1, np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=new[1:-1])
    new[bounds] = True
    at = new[:-1].nonzero()[0]
    return at, at.searchsorted(bounds)


def _new(ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new
