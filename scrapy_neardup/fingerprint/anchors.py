"""Anchors: a few long shingles of a text, the same ones in every copy, under which it is filed.

Broder, "On the resemblance and containment of documents" (1997) samples the shingles of least hash; here that is
one from each of several equal parts of the hashes. A long shingle that two texts share is reason enough to compare
them, so every anchor is a band of one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.tables import NO_KEY

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PART = np.uint64(
    40
)  # bits above this one say in which part a hash is; the order does not depend on the part


def anchors(shingles: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the least of *shingles* (uint64[n]) in each of *count* parts; uint64[count], NO_KEY where there is none."""
    least = np.full(count, NO_KEY, np.uint64)
    np.minimum.at(least, (shingles >> _PART) % np.uint64(count), shingles)
    return least
