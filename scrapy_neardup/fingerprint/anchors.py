"""Anchors: a few long shingles of a text, the same ones in every copy, under which the text is filed.

Broder, "On the resemblance and containment of documents" (1997) takes the shingles of least hash as a sample.
Here the shingles are divided into several parts by some bits of their hashes, and the least of each part is
taken. A long shingle that two texts share is reason enough to compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.tables import NO_KEY

from .murmur import constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The bits from this one on say in which part a hash is.
_PART = constant(40)


def anchors(shingles: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """Return the least of *shingles* (uint64[n]) of each of *count* parts; uint64[count].

    It is NO_KEY for a part without shingles.
    """
    least = np.full(count, NO_KEY, np.uint64)
    np.minimum.at(least, ((shingles >> _PART) % constant(count)).view(np.int64), shingles)
    return least
