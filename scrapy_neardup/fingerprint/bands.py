"""LSH banding: pieces of a MinHash signature as keys, so that similar texts share some of them.

Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets" (3rd edition), section 3.4. Super-shingles are bands
of which more than one must agree: Broder, "Identifying and Filtering Near-Duplicate Documents" (CPM 2000);
Fetterly, Manasse and Najork, "On the Evolution of Clusters of Near-Duplicate Web Pages" (LA-WEB 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import ConfigurationError

from .murmur import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Bands:
    """Cut a signature into *bands* of *rows* components; texts of which *agree* bands are equal are candidates.

    Raises `ConfigurationError` unless ``bands >= agree >= 1`` and ``rows >= 1``.
    """

    bands: int
    rows: int
    agree: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.agree <= self.bands or self.rows < 1:
            raise ConfigurationError(f"{self.agree} of {self.bands} bands of {self.rows} rows cannot agree.")

    def keys(self, signatures: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Hash each band of *signatures* (uint64[n, ≥ bands * rows]) with its number; uint64[bands, n].

        A text without shingles has the keys of all such texts: do not file it.
        """
        used = signatures[:, : self.bands * self.rows].reshape(len(signatures), self.bands, self.rows)
        numbers = np.arange(self.bands, dtype=np.uint64)[:, np.newaxis]
        keys = np.broadcast_to(numbers, (self.bands, len(signatures)))
        for row in range(self.rows):
            keys = mix(keys ^ used[:, :, row].T)
        return keys

    def candidates(self, keys: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Tell whether one text (uint64[bands]) and n others (uint64[bands, n]) share enough keys; bool[n]."""
        enough: NDArray[np.bool_] = np.count_nonzero(others == keys[:, np.newaxis], axis=0) >= self.agree
        return enough

    def probability(self, jaccard: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how likely texts of similarity s become candidates: 1 - (1 - sʳ)ᵇ where one band is enough.

        Where a must agree, it is the tail of a binomial distribution: Σ C(b, i) pⁱ (1 - p)ᵇ⁻ⁱ over i ≥ a, p = sʳ.
        """
        equal = np.asarray(jaccard, np.float64) ** self.rows
        fewer = [comb(self.bands, i) * equal**i * (1 - equal) ** (self.bands - i) for i in range(self.agree)]
        probability: NDArray[np.float64] = 1 - np.sum(fewer, axis=0)
        return probability

    def miss_rate(self, threshold: float) -> float:
        """Return the share of pairs at least as similar as *threshold* that are missed.

        Every such similarity counts the same; what is in a crawl is unlike that, mostly near 0 or near 1.
        """
        return 1 - self._mean(threshold, 1)

    def false_rate(self, threshold: float) -> float:
        """Return the share of pairs less similar than *threshold* that are candidates, counted in the same way."""
        return self._mean(0, threshold)

    def _mean(self, low: float, high: float) -> float:
        """Mean probability between two similarities.

        The probability is a polynomial of degree bands * rows: so many Gauss-Legendre nodes integrate it exactly.
        """
        nodes, weights = np.polynomial.legendre.leggauss(self.bands * self.rows // 2 + 1)
        return float(weights @ self.probability(low + (nodes + 1) / 2 * (high - low)) / 2)


#: Six of 14 components each, two of which must agree: a detector of about .93 similarity.
SUPER_SHINGLES = Bands(bands=6, rows=14, agree=2)


def choose_bands(threshold: float, components: int = 128, miss_weight: float = 0.5) -> Bands:
    """Choose the bands and rows, out of a signature of *components*, that separate best at *threshold*.

    These make ``miss_weight * ∫ₜ¹ 1 - P(s) ds + (1 - miss_weight) * ∫₀ᵗ P(s) ds`` least, P being
    `Bands.probability`: the criterion of datasketch's ``MinHashLSH``, with the same results. Raises
    `ConfigurationError` for a threshold or weight that is not between 0 and 1.
    """
    if not 0 < threshold < 1 or not 0 <= miss_weight <= 1:
        raise ConfigurationError(f"Not between 0 and 1: threshold {threshold}, miss_weight {miss_weight}.")
    layouts = [(b, r) for b in range(1, components + 1) for r in range(1, components // b + 1)]
    bands, rows = np.array(layouts).T[:, :, np.newaxis]
    nodes, weights = np.polynomial.legendre.leggauss(components // 2 + 1)
    below = (nodes + 1) / 2 * threshold
    above = threshold + (nodes + 1) / 2 * (1 - threshold)
    false = (1 - (1 - below**rows) ** bands) @ weights * threshold / 2
    missed = ((1 - above**rows) ** bands) @ weights * (1 - threshold) / 2
    return Bands(*layouts[int(np.argmin(miss_weight * missed + (1 - miss_weight) * false))])
