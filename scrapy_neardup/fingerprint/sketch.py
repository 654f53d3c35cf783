"""The sketch: what share of their shingles two texts have in common, estimated from 96 bytes of each.

The hash of a shingle says both its bin and its rank in the bin (Li, Owen and Zhang, NIPS 2012). Bins that
stay empty borrow from others (Shrivastava, ICML 2017). One bit of each minimum is kept (Li and König, WWW
2010).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .hashing import Hashes, below, by_text, constant, mix, sorted_each

#: Bins of a sketch, one bit each.
BINS = 768
#: Bytes of a sketch.
SIZE = BINS // 8

_BINS, _ONE = constant(BINS), constant(1)
_HALF, _FILLED = constant(32), constant(1 << 63)
# The bins that an empty bin may borrow from, in this order, eight at a time: intp[8, BINS, 8]. They
# are the same for every text, and part of the format.
_LENDERS = (mix(np.arange(1, BINS * 64 + 1, dtype=np.uint64)) % _BINS).astype(np.intp)
_LENDERS = _LENDERS.reshape(BINS, 8, 8).swapaxes(0, 1).copy()
#: Where the first bit is that is set in a byte, from the highest on; intp[256].
_FIRST = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).argmax(axis=1)
# Which bit of a borrowed minimum a bin takes: another one than the lender, which it would only repeat.
_BIT = (np.arange(BINS) % 31 + 1).astype(np.uint64)


def sketch_each(shingles: Hashes) -> list[tuple[bytes, int]]:
    """Sketch texts from shingles, which are sorted in place: `SIZE` bytes, and how many are distinct."""
    counts = pairwise(below(sorted_each(shingles)[:-1], shingles.bounds))
    hashes, bounds = shingles
    # Which of equal parts of the range the upper half is in; a text has those after the text before it.
    bins = by_text(((hashes >> _HALF) * _BINS >> _HALF).view(np.int64), bounds, BINS)
    minima = np.zeros((len(bounds) - 1) * BINS, np.uint64)
    minima[bins[::-1]] = (hashes | _FILLED)[::-1]  # of several hashes of one bin the last one written stays
    _borrow(minima)
    packed = np.packbits((minima & _ONE).astype(np.bool_)).tobytes()
    starts = range(0, len(packed), SIZE)
    return [(packed[at : at + SIZE], stop - start) for at, (start, stop) in zip(starts, counts, strict=True)]


def _borrow(minima: NDArray[np.uint64]) -> None:
    """Let each empty bin of the *minima* of texts, 0, take that of the first of its lenders that is not.

    In a text of few shingles no lender may be: then it is the minimum of the first bin that is.
    """
    filled = minima != 0
    empty = (~filled).nonzero()[0]
    bins = empty if len(minima) == BINS else empty % BINS
    for lenders in _LENDERS:
        asked = lenders.take(bins, axis=0)
        if bins is not empty:
            asked += (empty - bins)[:, np.newaxis]
        lending = np.packbits(filled.take(asked))  # a byte for each bin
        taken = asked.take(_FIRST.take(lending) + np.arange(0, asked.size, 8))
        minima[empty] = minima.take(taken) >> _BIT.take(bins)
        left = (lending == 0).nonzero()[0]
        if not len(left):
            return
        empty, bins = empty[left], bins[left]
    firsts = filled.reshape(-1, BINS).argmax(axis=1)
    start = empty - bins
    minima[empty] = minima.take(start + firsts.take(start // BINS)) >> _BIT.take(bins)


def similarity(
    sketches: NDArray[np.uint8], shingles: Any, other_sketches: NDArray[np.uint8], other_shingles: Any
) -> tuple[NDArray[np.float32], ...]:
    """Estimate Jaccard similarity and containment of the shingle sets, pair by pair; float32[n] each.

    Sketches are uint8[n, 96], counts of shingles int[n]; a single text on either side is uint8[96] and an
    int. Containment is the share of the smaller text's shingles that the other has, too. The standard error
    of Jaccard J is √((1 - J²) / 768): .029 at .6, .016 at .9. A text without shingles is similar to none. The
    third estimate is how many shingles the first text has at least that the other lacks: so many if J is two
    standard errors greater; float32[n].
    """
    bits = np.bitwise_count(_words(sketches) ^ _words(other_sketches))
    differing = bits.sum(axis=-1, dtype=np.float64) / BINS
    one, other = np.asarray(shingles, np.float64), np.asarray(other_shingles, np.float64)
    smaller = np.minimum(one, other)
    # Bits of different minima differ in half of all cases. No two sets are more alike than the smaller is to
    # the larger, which caps the estimate.
    larger = np.maximum(np.maximum(one, other), 1)
    jaccard = np.minimum(np.maximum(1 - 2 * differing, 0), smaller / larger)
    shared = jaccard / (1 + jaccard) * (one + other)
    containment = np.minimum(shared / np.maximum(smaller, 1), 1)
    likely = jaccard + 2 * ((1 - jaccard * jaccard) / BINS) ** 0.5
    added = one - np.minimum(likely / (1 + likely) * (one + other), smaller)
    return jaccard.astype(np.float32), containment.astype(np.float32), added.astype(np.float32)


def _words(sketches: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(sketches).view(np.uint64)
