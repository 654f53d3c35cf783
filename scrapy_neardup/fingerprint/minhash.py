"""Fair samples of a text's shingles, MinHash with n hash functions and bottom-k with one; and LSH banding.

MinHash: Broder et al. (STOC 1998). Bottom-k: Cohen and Kaplan (PODC 2007). Bands: Leskovec et al., "Mining of
Massive Datasets", 3.4. Super-shingles, bands of which several must agree: Broder (CPM 2000).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .hashing import mix

#: The value of each component of a text without shingles.
EMPTY = np.uint64(2**64 - 1)

_CHUNK = 1 << 14  # hash values at a time: 128 KB, which stays in the processor's cache


def min_hashes(hashes: NDArray[np.uint64], count: int, seed: int) -> NDArray[np.uint64]:
    """Return the least value of each of *count* functions over *hashes* (uint64[m]), as uint64[count].

    The functions are drawn from *seed* (0 to 2³² - 1).
    """
    # Mixed twice, so that neighbouring seeds have no functions in common.
    numbers = np.arange(1, count + 1, dtype=np.uint64)[:, np.newaxis]
    seeds = mix(mix(np.full((1, 1), seed, np.uint64)) + numbers)
    minima = np.full(count, EMPTY)
    step = max(1, _CHUNK // count)
    for start in range(0, len(hashes), step):
        np.minimum(minima, mix(hashes[start : start + step] ^ seeds).min(axis=1), out=minima)
    return minima


def bottom_k(hashes: NDArray[np.uint64], k: int) -> NDArray[np.uint64]:
    """Return the *k* least distinct *hashes* (uint64[n]), ascending; uint64[k], filled up with `EMPTY`."""
    least = np.unique(hashes, return_counts=True)[0][:k]  # sorts; else NumPy hashes, which is slow
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


@dataclass(frozen=True, slots=True)
class Bands:
    """Cut a signature into *bands* of *rows* components, *agree* of which make a candidate if equal."""

    bands: int
    rows: int
    agree: int = 1

    def keys(self, signatures: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Hash each band of *signatures* (uint64[n, ≥ bands * rows]) with its number; uint64[bands, n]."""
        used = signatures[:, : self.bands * self.rows].reshape(len(signatures), self.bands, self.rows)
        numbers = np.arange(self.bands, dtype=np.uint64)[:, np.newaxis]
        keys = np.broadcast_to(numbers, (self.bands, len(signatures)))
        for row in range(self.rows):
            keys = mix(keys ^ used[:, :, row].T)
        return keys


#: Six bands of 14 components, two of which must agree. They find texts of a similarity from about .93 on.
SUPER_SHINGLES = Bands(bands=6, rows=14, agree=2)


def choose_bands(threshold: float, components: int, miss_weight: float) -> Bands:
    """Choose how to cut a signature of *components*, so that it separates best at *threshold* (0 to 1).

    The choice makes ``miss_weight * ∫ₜ¹ 1 - P(s) ds + (1 - miss_weight) * ∫₀ᵗ P(s) ds`` least, where P(s)
    is how likely texts of similarity s share a band: the criterion of datasketch's ``MinHashLSH``.
    """
    layouts = [(b, r) for b in range(1, components + 1) for r in range(1, components // b + 1)]
    bands, rows = np.array(layouts).T[:, :, np.newaxis]
    nodes, weights = np.polynomial.legendre.leggauss(components // 2 + 1)
    below = (nodes + 1) / 2 * threshold
    above = threshold + (nodes + 1) / 2 * (1 - threshold)
    false = np.sum((1 - (1 - below**rows) ** bands) * weights, axis=1) * threshold / 2
    missed = np.sum((1 - above**rows) ** bands * weights, axis=1) * (1 - threshold) / 2
    return Bands(*layouts[int(np.argmin(miss_weight * missed + (1 - miss_weight) * false))])
