"""The weight ``keywords``: long words count, frequent ones count most, and none decides alone.

With plain term frequency a few short words decide most bits of a SimHash: "the" and "of" occur in every
English text, so the fingerprints of texts on different things crowd. Which words are short depends on the
language, so a word is measured against the other words of its text. docs/fingerprint.md has the evidence.
"""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from .hashing import distinct_each
from .murmur import constant, mix
from .simhash import weighted_votes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .terms import Votes

#: A word weighs nothing if at most the first share of the words of its text are shorter; it has all of its
#: weight from the second share on.
_NOTHING, _ALL = 0.4, 0.6
#: Between the two shares the weight rises in so many steps.
_STEPS = 16
#: A word that occurs more often than this counts as if it occurred so often: the sums below stay exact.
_MOST = 127
#: No word weighs more than half of the Euclidean norm of all weights: the square of the norm is so many times
#: the square of the greatest weight, or more.
_SQUARES = 4
#: Lengths from this on are the same.
_LONG = 64
#: The lowest bits of a word's hash give way to its rank, so that one sort orders both.
_RANK_BITS = constant(5)
_RANK = constant((1 << 5) - 1)
_REST = ~_RANK


def fingerprint_keywords(texts: Sequence[Votes]) -> list[int]:
    """Return the 64-bit SimHash of each of several texts, by the weight ``keywords``.

    A word that occurs c times weighs min(c, 127)² times its rank. The rank goes from 0 to 16 while the share
    of words of the text that are shorter, and of half of those that are as long, goes from .4 to .6. The
    greatest weights are cut until none is above half of the Euclidean norm of all. Weights are whole numbers,
    and all sums of them exact, so fingerprints are the same on every machine.
    """
    sizes = [len(text.hashes) for text in texts]
    if not any(sizes):
        return [0] * len(texts)
    ranks = _ranks(np.concatenate([text.lengths for text in texts]), sizes)
    keeps = ranks.nonzero()[0]
    keys = np.concatenate([text.hashes for text in texts]) & _REST
    keys |= ranks
    keys = keys.take(keeps)
    at, bounds = distinct_each(keys, keeps.searchsorted([*accumulate(sizes, initial=0)]))
    counts = np.empty_like(at)
    np.subtract(at[1:], at[:-1], out=counts[:-1])
    counts[-1] = len(keys) - at[-1]
    np.minimum(counts, _MOST, out=counts)
    keys = keys.take(at)
    weights = (counts * counts * (keys & _RANK).view(np.int64)).astype(np.float64)
    return weighted_votes(mix(keys >> _RANK_BITS), _cut(weights, bounds), bounds)


def _ranks(lengths: NDArray[np.intp], sizes: list[int]) -> NDArray[np.uint64]:
    """Rank words by their *lengths* among those of the same text; uint64[n], 0 to `_STEPS`.

    There are *sizes* words in each text. A length of 0 has the highest rank, and does not count for others.
    In each text that has words, some have a rank above 0.
    """
    columns = _LONG + 1
    cells = np.minimum(lengths, _LONG)
    if len(sizes) > 1:
        cells += np.arange(0, len(sizes) * columns, columns).repeat(sizes)
    counts = np.bincount(cells, minlength=len(sizes) * columns).reshape(-1, columns)
    counts[:, 0] = 0
    as_long = counts.cumsum(axis=1)  # or shorter
    share = (2 * as_long - counts) / (2 * np.maximum(as_long[:, -1:], 1))
    by_length = np.minimum(np.maximum((share - _NOTHING) / (_ALL - _NOTHING), 0), 1) * _STEPS
    by_length[:, 0] = _STEPS
    ranks: NDArray[np.uint64] = by_length.astype(np.uint64).take(cells)
    return ranks


def _cut(weights: NDArray[np.float64], bounds: NDArray[np.intp]) -> NDArray[np.float64]:
    """Cut the weights of each text to the greatest whole number that is at most half of their norm then."""
    places = bounds.tolist()
    ordered = weights.copy()
    most = []
    for start, stop in pairwise(places):
        own = ordered[start:stop]
        own.sort()
        most.append(_most(int(own @ own), own[1 - _SQUARES :].astype(np.int64).tolist()))
    cut: NDArray[np.float64] = np.minimum(weights, np.repeat(most, bounds[1:] - bounds[:-1]))
    return cut


def _most(rest: int, greatest: list[int]) -> int:
    """Return what the weights of a text are cut to.

    *rest* is the sum of their squares; *greatest* are the greatest of them, in ascending order.
    """
    share = _SQUARES
    for weight in reversed(greatest):
        if share * weight**2 <= rest:
            break
        rest -= weight**2
        share -= 1
    return max(math.isqrt(rest // share), 1)
