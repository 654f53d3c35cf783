"""Fair samples of a text's shingles: MinHash with n hash functions, and bottom-k with one.

MinHash: Broder, Charikar, Frieze and Mitzenmacher, "Min-Wise Independent Permutations" (STOC 1998). The share
of equal components estimates Jaccard similarity. The hash functions are bijections of 64 bits,
``mix(x ^ seed_i)``: no two shingles collide, and every bit of x counts. In NumPy, which has no 128-bit
integers, they take a third of the time of exact products modulo 2⁶¹ - 1.

Bottom-k, the k least hashes: Broder, "On the resemblance and containment of documents" (1997); Cohen and
Kaplan, "Summarizing data using bottom-k sketches" (PODC 2007). The hashes of the shingles serve as the hash
function, so they must be uniform. A sample of fewer than k shingles is the whole set, and so is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_whole, row_of_hashes
from scrapy_neardup.errors import ConfigurationError

from .hashing import MOST_SEEDS, mix, unique

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: The value of each component of a text without shingles.
EMPTY = np.uint64(2**64 - 1)

_CHUNK = 1 << 14  # hash values at a time: 128 KB, which stays in the processor's cache


class MinHash:
    """*count* hash functions, drawn from *seed* (0 to 2³² - 1).

    Raises `ConfigurationError` for a count below 1 and for another seed.
    """

    def __init__(self, count: int = 128, seed: int = 1) -> None:
        require_whole("The number of hash functions", count, 1)
        require_whole("A seed", seed, 0, MOST_SEEDS)
        self.count = count
        self.seed = seed
        # Mixed twice, so that neighbouring seeds have no functions in common.
        numbers = np.arange(1, count + 1, dtype=np.uint64)[:, np.newaxis]
        self._seeds = mix(mix(np.full((1, 1), seed, np.uint64)) + numbers)

    def signature(self, hashes: ArrayLike) -> NDArray[np.uint64]:
        """Return the least value of each function over *hashes* (uint64[m], any order); uint64[count]."""
        row = row_of_hashes(hashes)
        minima = np.full(self.count, EMPTY)
        step = max(1, _CHUNK // self.count)
        for start in range(0, len(row), step):
            np.minimum(minima, mix(row[start : start + step] ^ self._seeds).min(axis=1), out=minima)
        return minima


def agreement(signature: NDArray[np.uint64], signatures: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Estimate the Jaccard similarity of one text (uint64[n]) with m others (uint64[m, n]); float64[m].

    Texts without shingles have similarity 0. Raises `ConfigurationError` for signatures of other lengths.
    """
    signatures = np.atleast_2d(signatures)
    if signatures.shape[1:] != np.shape(signature):
        raise ConfigurationError(
            f"Signatures of the shapes {np.shape(signature)} and {signatures.shape} do not compare: use one "
            "number of hash functions."
        )
    equal = (signatures == signature) & (signature != EMPTY)
    share: NDArray[np.float64] = np.count_nonzero(equal, axis=1) / len(signature)
    return share


def bottom_k(hashes: NDArray[np.uint64], k: int) -> NDArray[np.uint64]:
    """Return the *k* least distinct *hashes* (uint64[n]), ascending; uint64[k], filled up with `EMPTY`."""
    least = unique(hashes)[:k]
    return np.concatenate((least, np.full(k - len(least), EMPTY)))


def bottom_k_jaccard(sketch: NDArray[np.uint64], sketches: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Estimate the Jaccard similarity of one text (uint64[k]) with m others (uint64[m, k]); float64[m].

    Given uint64[m, k] twice, it compares pair by pair. The k least values of both together are a fair sample
    of the union, and the share of them that is in both counts, with a standard error of √(J(1 - J) / k).
    """
    both = np.sort(np.concatenate((np.broadcast_to(sketch, sketches.shape), sketches), axis=1), axis=1)
    again = np.zeros(both.shape, np.bool_)
    np.equal(both[:, 1:], both[:, :-1], out=again[:, 1:])
    filled = both != EMPTY
    new, again = ~again & filled, again & filled
    rank = np.cumsum(new, axis=1)
    complete = (sketches[:, -1] == EMPTY) & (sketch[..., -1] == EMPTY)
    sampled = (rank <= sketch.shape[-1]) | complete[:, np.newaxis]
    union = np.count_nonzero(new & sampled, axis=1)
    share: NDArray[np.float64] = np.count_nonzero(again & sampled, axis=1) / np.maximum(union, 1)
    return share
