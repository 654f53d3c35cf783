"""LSH banding: pieces of a MinHash signature as keys, so that similar texts share some of them.

Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets" (3rd edition), section 3.4. Super-shingles are
bands of which more than one must agree: Broder, "Identifying and Filtering Near-Duplicate Documents" (CPM
2000); Fetterly, Manasse and Najork, "On the Evolution of Clusters of Near-Duplicate Web Pages" (LA-WEB 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_number, require_whole
from scrapy_neardup.errors import ConfigurationError

from .hashing import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Bands:
    """Cut a signature into *bands* of *rows* components, at least *agree* of which make a candidate if equal.

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

        Raises `ConfigurationError` for shorter signatures.
        """
        signatures = np.atleast_2d(signatures)
        if signatures.shape[1] < self.bands * self.rows:
            raise ConfigurationError(
                f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows} components: a "
                f"signature has {signatures.shape[1]}."
            )
        used = signatures[:, : self.bands * self.rows].reshape(len(signatures), self.bands, self.rows)
        numbers = np.arange(self.bands, dtype=np.uint64)[:, np.newaxis]
        keys = np.broadcast_to(numbers, (self.bands, len(signatures)))
        for row in range(self.rows):
            keys = mix(keys ^ used[:, :, row].T)
        return keys

    def candidates(self, keys: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Tell which of n texts (uint64[bands, n]) share enough keys with one (uint64[bands]); bool[n]."""
        enough: NDArray[np.bool_] = np.count_nonzero(others == keys[:, np.newaxis], axis=0) >= self.agree
        return enough

    def probability(self, jaccard: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how likely texts of Jaccard similarity s become candidates: 1 - (1 - sʳ)ᵇ for one band.

        Raises `ConfigurationError` for an s that is not from 0 to 1.
        """
        similarity = np.asarray(jaccard, np.float64)
        if not np.all((similarity >= 0) & (similarity <= 1)):
            raise ConfigurationError(f"jaccard is {jaccard}: use a similarity from 0 to 1.")
        equal = similarity**self.rows
        fewer = [comb(self.bands, i) * equal**i * (1 - equal) ** (self.bands - i) for i in range(self.agree)]
        probability: NDArray[np.float64] = 1 - np.sum(fewer, axis=0)
        return probability


#: Six bands of 14 components, two of which must agree. They find texts of a similarity from about .93 on.
SUPER_SHINGLES = Bands(bands=6, rows=14, agree=2)


def choose_bands(threshold: float, components: int = 128, miss_weight: float = 0.5) -> Bands:
    """Choose how to cut a signature of *components*, so that it separates best at *threshold*.

    The choice makes ``miss_weight * ∫ₜ¹ 1 - P(s) ds + (1 - miss_weight) * ∫₀ᵗ P(s) ds`` least, where P is
    `Bands.probability`: the criterion of datasketch's ``MinHashLSH``. Raises `ConfigurationError` for a
    threshold or weight that is not between 0 and 1, and for no components.
    """
    require_number("threshold", threshold)
    require_number("miss_weight", miss_weight)
    require_whole("components", components, 1)
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
