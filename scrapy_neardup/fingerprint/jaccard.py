"""Exact Jaccard similarity and containment, of sets of shingles and of bags of words.

Broder, "On the resemblance and containment of documents" (1997). These are for evaluation, as the truth that
sketches estimate. A set is an array of 64-bit hashes, in any order and with repetitions or without; a bag is
one of distinct hashes in ascending order, with their counts. An empty one is similar to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_whole, row_of_hashes
from scrapy_neardup.errors import ConfigurationError

from .hashing import MOST_SEEDS, distinct, hash_tokens, mix, shingle, unique
from .normalise import normalise
from .tokens import tokenise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_SEED = np.uint64(32)  # bits above those of a code point


def word_shingles(text: str, size: int, seed: int = 0) -> NDArray[np.uint64]:
    """Hash each run of *size* tokens of any text; uint64[n], in order, with repetitions."""
    require_whole("A seed", seed, 0, MOST_SEEDS)
    return shingle(hash_tokens(tokenise(normalise(text)), seed), size)


def character_shingles(text: str, size: int, seed: int = 0) -> NDArray[np.uint64]:
    """Hash each run of *size* characters of any text, also spaces and signs; uint64[n], in order."""
    require_whole("A seed", seed, 0, MOST_SEEDS)
    flat = normalise(text).replace("\n", " ").encode("utf-32-le")
    points = np.frombuffer(flat, "<u4").astype(np.uint64)
    return shingle(mix(points + (np.uint64(seed) << _SEED)), size)


def shared(a: ArrayLike, b: ArrayLike) -> int:
    """Count the elements that two sets (uint64[m], uint64[n]) have in common."""
    return _sizes(a, b)[0]


def jaccard(a: ArrayLike, b: ArrayLike) -> float:
    """Return the share of all the elements of two sets (uint64[m], uint64[n]) that are in both."""
    both, size_a, size_b = _sizes(a, b)
    return both / max(size_a + size_b - both, 1)


def containment(a: ArrayLike, b: ArrayLike) -> float:
    """Return the share of the smaller of two sets (uint64[m], uint64[n]) that is in the other."""
    both, *sizes = _sizes(a, b)
    return both / max(min(sizes), 1)


def weighted_jaccard(
    a: NDArray[np.uint64],
    weights_a: NDArray[np.number],
    b: NDArray[np.uint64],
    weights_b: NDArray[np.number],
) -> float:
    """Return the Jaccard similarity of bags: the sum of smaller weights over the sum of larger ones.

    *a* and *b* are ascending and distinct; their weights (not negative) are in the same order. With counts
    for weights this is multiset Jaccard, with ones it is `jaccard` (Ioffe, "Improved Consistent Sampling,
    Weighted Minhash and L1 Sketching", ICDM 2010). Raises `ConfigurationError` for another order.
    """
    for bag in (a, b):
        if np.any(bag[1:] <= bag[:-1]):
            raise ConfigurationError("The hashes of a bag are not distinct and ascending: use `distinct`.")
    if not len(a) or not len(b):
        return 0.0
    found, matching = _matches(a, b)
    lesser = float(np.minimum(weights_a[matching], weights_b[found[matching]]).sum())
    return lesser / (float(weights_a.sum()) + float(weights_b.sum()) - lesser)


def text_jaccard(a: str, b: str, *, words: int = 3) -> float:
    """Jaccard similarity of two texts by their shingles of *words* tokens."""
    return jaccard(word_shingles(a, words), word_shingles(b, words))


def character_jaccard(a: str, b: str, *, characters: int = 5) -> float:
    """Jaccard similarity of two texts by their shingles of that many *characters*."""
    return jaccard(character_shingles(a, characters), character_shingles(b, characters))


def count_jaccard(a: str, b: str) -> float:
    """Jaccard similarity of two texts by their tokens and how often each occurs."""
    return weighted_jaccard(*distinct(word_shingles(a, 1)), *distinct(word_shingles(b, 1)))


def _sizes(a: ArrayLike, b: ArrayLike) -> tuple[int, int, int]:
    """Return how many elements two sets have in common, and how many each has."""
    one, other = unique(row_of_hashes(a)), unique(row_of_hashes(b))
    return int(np.count_nonzero(_matches(one, other)[1])), len(one), len(other)


def _matches(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return where in *b* each element of *a* would be, and whether it is there; intp[n], bool[n]."""
    if not len(b):
        return np.zeros(len(a), np.intp), np.zeros(len(a), np.bool_)
    found = np.minimum(np.searchsorted(b, a), len(b) - 1)
    return found, b[found] == a
