"""MinHash with n hash functions: the share of equal components estimates Jaccard similarity.

Broder, Charikar, Frieze and Mitzenmacher, "Min-Wise Independent Permutations" (STOC 1998). The hash functions
are bijections of 64 bits, ``mix(x ^ seed_i)``: no two shingles collide, and every bit of x counts. In NumPy,
which has no 128-bit integers, they take a third of the time of exact products modulo 2⁶¹ - 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_number, require_whole, row_of_hashes
from scrapy_neardup.errors import ConfigurationError

from .murmur import mix

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

#: The value of each component of a text without shingles.
EMPTY = np.uint64(2**64 - 1)

_CHUNK = 1 << 14  # hash values at a time: 128 KB, which stays in the processor's cache
_MERSENNE = np.uint64(2**61 - 1)
_LOW = np.uint64(2**32 - 1)


class MinHash:
    """*count* hash functions, drawn from *seed* (0 to 2³² - 1).

    Raises `ConfigurationError` for a count below 1 and for another seed.
    """

    def __init__(self, count: int = 128, seed: int = 1) -> None:
        _require_functions(count, seed)
        self.count = count
        self.seed = seed
        # Mixed twice, so that neighbouring seeds have no functions in common.
        numbers = np.arange(1, count + 1, dtype=np.uint64)[:, np.newaxis]
        self._seeds = mix(mix(np.full((1, 1), seed, np.uint64)) + numbers)

    def signature(self, hashes: ArrayLike) -> NDArray[np.uint64]:
        """Return the least value of each function over *hashes* (uint64[m], any order); uint64[count]."""
        return _minima(lambda part: mix(part ^ self._seeds), row_of_hashes(hashes), self.count)


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


def standard_error(jaccard: float, count: int) -> float:
    """Return the standard deviation of the estimate of *jaccard* from *count* functions: √(J(1 - J) / n).

    Raises `ConfigurationError` for a similarity that is not from 0 to 1 and for a count below 1.
    """
    require_number("jaccard", jaccard)
    if not 0 <= jaccard <= 1:
        raise ConfigurationError(f"jaccard is {jaccard}: use a similarity from 0 to 1.")
    require_whole("count", count, 1)
    return float((jaccard * (1 - jaccard) / count) ** 0.5)


def datasketch(hashes: NDArray[np.uint32], count: int = 128, seed: int = 1) -> NDArray[np.uint64]:
    """Return the signature that the library datasketch makes; uint64[count].

    This serves to compare texts with signatures that its releases 1.1.3 to 1.10 have stored, or 2.0 with
    ``scheme="legacy"``. Do not make new ones: the product below overflows, so that the functions are not
    quite universal.

    *hashes* (uint32[m]) are the first four bytes of each element's SHA-1, little-endian. The functions are
    ``(a x + b) mod 2⁶⁴ mod (2⁶¹ - 1) mod 2³²``, with a and b from ``RandomState(seed)``. Raises
    `ConfigurationError` for a count below 1 and for a seed that is not from 0 to 2³² - 1.
    """
    _require_functions(count, seed)
    a, b = _coefficients(count, seed)
    signature = _minima(lambda part: ((a * part + b) % _MERSENNE) & _LOW, hashes.astype(np.uint64), count)
    return np.minimum(signature, _LOW)


def _require_functions(count: int, seed: int) -> None:
    require_whole("The number of hash functions", count, 1)
    require_whole("A seed", seed, 0, 2**32 - 1)


@lru_cache(maxsize=8)
def _coefficients(count: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    random = np.random.RandomState(seed)  # the library's; newer generators give other numbers
    drawn = [random.randint(low, _MERSENNE, dtype=np.uint64) for _ in range(count) for low in (1, 0)]
    a, b = np.array(drawn, np.uint64).reshape(count, 2, 1).swapaxes(0, 1)
    return a, b


def _minima(
    function: Callable[[NDArray[np.uint64]], NDArray[np.uint64]], hashes: NDArray[np.uint64], count: int
) -> NDArray[np.uint64]:
    """Return the least value of each of *count* functions over *hashes*, in bounded memory.

    *function* gets a part of *hashes* and returns the values of all functions, uint64[count, part].
    """
    minima = np.full(count, EMPTY)
    step = max(1, _CHUNK // count)
    for start in range(0, len(hashes), step):
        np.minimum(minima, function(hashes[start : start + step]).min(axis=1), out=minima)
    return minima
