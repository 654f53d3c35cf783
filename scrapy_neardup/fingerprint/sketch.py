"""One-permutation MinHash: what share of their shingles two texts have in common, from 128 bytes of each.

Li, Owen and Zhang, "One Permutation Hashing" (NIPS 2012): the hash of a shingle says both its bin and its rank in
it. Bins that stay empty in a short text borrow from others: Shrivastava and Li, "Densifying One Permutation
Hashing" (ICML 2014); which ones, by the rule of Shrivastava, "Optimal Densification for Fast and Accurate Minwise
Hashing" (ICML 2017). One byte of each minimum is kept: Li and König, "b-Bit Minwise Hashing" (WWW 2010).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .hashing import distinct, mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINS = 128
_BIN_SHIFT = np.uint64(57)  # the upper 7 bits of a hash are its bin, the rest its rank in it
_BIN_NUMBERS = np.arange(BINS, dtype=np.uint64)
_BIN_STARTS = _BIN_NUMBERS << _BIN_SHIFT
_BY_CHANCE = 1 / 256  # how often the bytes of two different minima agree

# In what order an empty bin asks the others, the same for every text; part of the format.
_DONORS = np.argsort(mix(np.arange(1, BINS * BINS + 1, dtype=np.uint64)).reshape(BINS, BINS), axis=1)


def sketch(shingles: NDArray[np.uint64]) -> tuple[bytes, int]:
    """Sketch a text from its shingle hashes (uint64[n]); also how many of them are distinct."""
    ordered, _ = distinct(shingles)
    if not len(ordered):
        return bytes(BINS), 0
    first = np.searchsorted(ordered, _BIN_STARTS)
    minima = ordered[np.minimum(first, len(ordered) - 1)]
    filled = (minima >> _BIN_SHIFT) == _BIN_NUMBERS
    bins = minima.astype(np.uint8)  # the low byte, which has next to no part in the order
    empty = np.flatnonzero(~filled)
    if len(empty):
        donors = _DONORS[empty]
        bins[empty] = bins[donors[np.arange(len(empty)), filled[donors].argmax(axis=1)]]
    return bins.tobytes(), len(ordered)


def similarity(
    sketch: bytes, shingles: int, sketches: NDArray[np.uint8], shingles_n: NDArray[np.integer]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Compare one text with n others: estimated Jaccard and containment of the shingle sets, float32[n] each.

    *sketches* is uint8[n, 128], *shingles_n* int[n]. Containment is the share of the smaller text's shingles
    that the other has too. The standard error of Jaccard J is √(J(1 - J) / 128): .03 at .9. A text without
    shingles is similar to none.
    """
    own = np.frombuffer(sketch, np.uint8)
    agreeing = np.count_nonzero(sketches == own, axis=1) / BINS
    others = np.asarray(shingles_n, np.float64)
    smaller = np.minimum(others, shingles)
    larger = np.maximum(np.maximum(others, shingles), 1)
    # No two sets are more alike than the smaller is to the larger, which caps the estimate.
    jaccard = np.clip((agreeing - _BY_CHANCE) / (1 - _BY_CHANCE), 0, smaller / larger)
    shared = jaccard / (1 + jaccard) * (others + shingles)
    containment = np.minimum(shared / np.maximum(smaller, 1), 1)
    return jaccard.astype(np.float32), containment.astype(np.float32)
