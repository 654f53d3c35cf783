"""SimHash: Charikar (STOC 2002); Manku, Jain and Das Sarma (WWW 2007)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_neardup.arguments import whole_numbers
from scrapy_neardup.errors import ConfigurationError

from .hashing import Hashes, below, by_text, constant, distinct_each
from .signature import Weight

#: Features at a time, which take 2 MB; sums of so many weights of keywords are exact in float32.
_CHUNK = 8192
#: By byte, 1 for each bit that is set, the lowest first, and -1 for each other one; float32[256, 8].
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
_SIGNS = _BITS * np.float32(2) - 1
# Weights are whole multiples of 1/4096, so that their sums are exact in any order, on any machine.
_WEIGHT_UNIT = 4096
_WEIGH: dict[str, Callable[[NDArray[np.int64]], NDArray[Any]]] = {
    "tf": np.asarray,
    "sqrt": np.sqrt,
    "log": lambda counts: 1 + np.log(counts),
    "set": np.ones_like,
}


def vote(hashes: NDArray[np.uint64], weights: NDArray[np.floating] | None = None) -> int:
    """Return the bits that more than half of the *hashes* (uint64[n]) have set, by *weights* if any."""
    return _votes(Hashes.of([hashes]), np.ones(len(hashes)) if weights is None else weights)[0]


def _votes(features: Hashes, weights: NDArray[np.floating]) -> list[int]:
    """Let the *features* of each text vote."""
    votes, data = np.zeros((len(features.bounds) - 1, 64)), features.values.astype("<u8").view(np.uint8)
    for start in range(0, len(weights), _CHUNK):
        signs = _SIGNS.take(data[8 * start : 8 * (start + _CHUNK)], axis=0).reshape(-1, 64)
        parts = pairwise([min(max(bound - start, 0), len(signs)) for bound in features.bounds])
        for text, (first, stop) in enumerate(parts):
            if first < stop:
                # No product of matrices, for which NumPy has libraries that some processors make wrong.
                votes[text] += np.einsum("n,nb->b", weights[start + first : start + stop], signs[first:stop])
    found: list[int] = np.packbits(votes > 0, axis=1, bitorder="little").view("<u8").ravel().tolist()
    return found


def hamming(a: ArrayLike, b: ArrayLike) -> Any:
    """Count the bits that differ: an int for two ints, else uint8, broadcast. Raises `ConfigurationError`."""
    one, other = whole_numbers("Fingerprints", a, np.uint64), whole_numbers("Fingerprints", b, np.uint64)
    try:
        differing: NDArray[np.uint8] = np.bitwise_count(one ^ other)
    except ValueError:
        raise ConfigurationError(
            f"Fingerprints of the shapes {one.shape} and {other.shape} do not go together."
        ) from None
    return differing if differing.ndim else int(differing)


def fingerprints(features: Hashes, lengths: NDArray[np.intp], weight: Weight) -> list[int]:
    """Return the 64-bit SimHash of each text, from its features with repetitions, of *lengths* (intp[n]).

    A feature that occurs c times has a *weight* of c, its root, 1 + log c, or 1; or see `_keywords`. Weights
    are whole numbers, and all sums of them exact, so fingerprints are the same on every machine.
    """
    if weight == "keywords":
        found, weights = _keywords(features, lengths)
    else:
        found, counts = distinct_each(Hashes(features.values.copy(), features.bounds))
        weights = np.rint(_WEIGH[weight](counts) * _WEIGHT_UNIT)
    return _votes(found, weights)


#: The weight of a word rises in so many steps, from nothing where .4 of the words of its text are shorter to
#: all where .6 are: by 80 steps a share, from 32 on. It pays on what the row ``tf`` of docs/quality.md lacks.
_STEPS, _STEEPNESS, _NOTHING, _ALL = map(np.array, (16, 40, 32, 48))
#: A word that occurs more often than this counts as if it occurred so often, so that no word decides alone.
_MOST = 10
#: Lengths from this on are the same.
_LONG = np.array(64)
#: The lowest bits of a word's hash give way to its rank, so that one sort orders both.
_RANK_BITS = constant(5)
_RANK = constant((1 << 5) - 1)
_REST = ~_RANK
#: What makes 64 random bits of the other 59.
_SPREAD = constant(0x9E3779B97F4A7C15)


def _keywords(words: Hashes, lengths: NDArray[np.intp]) -> tuple[Hashes, NDArray[np.float32]]:
    """Return which words vote by the weight ``keywords``, and their weights: min(c, 10)² times the rank.

    It goes from 0 to 16 while the share of words that are shorter, or half of as long, goes from .4 to .6.
    """
    ranks = _ranks(lengths, words.bounds)
    keeps = ranks.nonzero()[0]
    keys = words.values.take(keeps)
    keys &= _REST
    keys |= ranks.take(keeps)
    (keys, bounds), counts = distinct_each(Hashes(keys, below(keeps, words.bounds)))
    np.minimum(counts, _MOST, out=counts)
    counts *= counts
    counts *= (keys & _RANK).view(np.int64)
    weights = counts.astype(np.float32)
    keys >>= _RANK_BITS
    keys *= _SPREAD
    return Hashes(keys, bounds), weights


def _ranks(lengths: NDArray[np.intp], bounds: list[int]) -> NDArray[np.uint64]:
    """Rank words by their *lengths* among those of the same text; uint64[n], 0 to `_STEPS`.

    A length of 0, of two characters of a script without spaces, has the highest rank, and counts alone.
    """
    texts, columns = len(bounds) - 1, int(_LONG) + 1
    cells = by_text(np.minimum(lengths, _LONG), bounds, columns)
    counts = np.bincount(cells, minlength=texts * columns).reshape(-1, columns)
    counts[:, 0] = 0
    as_long = counts.cumsum(axis=1)  # or shorter
    by_length = (as_long + as_long - counts) * _STEEPNESS // np.maximum(as_long[:, -1:], 1)
    by_length = np.minimum(np.maximum(by_length, _NOTHING), _ALL) - _NOTHING
    by_length[:, 0] = _STEPS
    ranks: NDArray[np.uint64] = by_length.take(cells).view(np.uint64)
    return ranks
