"""One-bit one-permutation MinHash: what share of their shingles two texts have in common, from 96 bytes of each.

Li, Owen and Zhang, "One Permutation Hashing" (NIPS 2012): the hash of a shingle says both its bin and its rank in
it. Bins that stay empty in a short text borrow from others: Shrivastava and Li, "Densifying One Permutation
Hashing" (ICML 2014); which ones, by the rule of Shrivastava, "Optimal Densification for Fast and Accurate Minwise
Hashing" (ICML 2017). One bit of each minimum is kept: Li and König, "b-Bit Minwise Hashing" (WWW 2010), who show
that for similarities of .5 and more many bins of one bit say more per byte than few bins of many bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .hashing import unique
from .murmur import mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: One bit each.
BINS = 768
#: Bytes of a sketch.
SIZE = BINS // 8

_BINS = np.uint64(BINS)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
# Bins are equal parts of the range of hashes.
_STARTS = np.array([-(-(bin_ << 64) // BINS) for bin_ in range(BINS)], np.uint64)
# Whom an empty bin asks, in this order, the same for every text; part of the format.
_ASKED = (
    (mix(np.arange(1, BINS * 64 + 1, dtype=np.uint64)) % np.uint64(BINS)).astype(np.intp).reshape(BINS, 64)
)
_ASKED_FIRST = _ASKED[:, :8].copy()  # enough for most
# Which bit of a lent minimum it takes: another one than the lender's, else it would only repeat the lender.
_BIT = (np.arange(BINS) % 31 + 1).astype(np.uint64)


def sketch(shingles: NDArray[np.uint64]) -> tuple[bytes, int]:
    """Sketch a text from its shingle hashes (uint64[n]), in `SIZE` bytes; also how many of them are distinct."""
    return sketch_each([shingles])[0]


def sketch_each(texts: Sequence[NDArray[np.uint64]]) -> list[tuple[bytes, int]]:
    """Sketch several texts together, see `sketch`."""
    ordered = [unique(shingles) for shingles in texts]
    counts = [len(hashes) for hashes in ordered]
    # The bins of one text follow those of the one before.
    hashes = np.concatenate(ordered)
    bins = _bins(hashes) + np.arange(0, len(texts) * BINS, BINS).repeat(counts)
    minima = np.zeros(len(texts) * BINS, np.uint64)
    minima[bins[::-1]] = hashes[::-1]  # the last one written stays
    filled = np.zeros(len(minima), np.bool_)
    filled[bins] = True
    empty = np.flatnonzero(~filled)
    for table in (_ASKED_FIRST, _ASKED):
        if not len(empty):
            break
        bin_ = empty % BINS
        asked = table.take(bin_, axis=0) + (empty - bin_)[:, np.newaxis]
        lender = asked[np.arange(len(empty)), filled.take(asked).argmax(axis=1)]
        minima[empty] = minima.take(lender) >> _BIT.take(bin_)
        empty = empty[~filled.take(lender)]
    for number in sorted(set((empty // BINS).tolist())):
        if counts[number]:  # nobody who was asked has one: the next hash after the first of them
            bin_ = empty[empty // BINS == number] % BINS
            after = ordered[number].searchsorted(_STARTS.take(_ASKED[bin_, 0]))
            minima[bin_ + number * BINS] = ordered[number].take(after, mode="clip") >> _BIT.take(bin_)
    bits = minima & np.uint64(1)  # the lowest, which has next to no part in the order
    packed = np.packbits(bits.astype(np.uint8)).tobytes()
    return [(packed[number * SIZE : (number + 1) * SIZE], count) for number, count in enumerate(counts)]


def _bins(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return hash * BINS >> 64, in two halves, for the product has up to 74 bits."""
    high, low = hashes >> _HALF, hashes & _LOW
    return ((high * _BINS + (low * _BINS >> _HALF)) >> _HALF).view(np.int64)


def similarity(
    sketches: NDArray[np.uint8],
    shingles: NDArray[np.integer],
    other_sketches: NDArray[np.uint8],
    other_shingles: NDArray[np.integer],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Compare texts pair by pair: estimated Jaccard and containment of the shingle sets, float32[n] each.

    Sketches are uint8[n, 96], counts of shingles int[n]; a single text on either side is uint8[96] and an int.
    Containment is the share of the smaller text's shingles that the other has too. The standard error of Jaccard J
    is √((1 - J²) / 768): .029 at .6, .016 at .9. A text without shingles is similar to none.
    """
    differing = (
        np.bitwise_count(_words(sketches) ^ _words(other_sketches)).sum(axis=-1, dtype=np.float64) / BINS
    )
    one, other = np.asarray(shingles, np.float64), np.asarray(other_shingles, np.float64)
    smaller, larger = np.minimum(one, other), np.maximum(np.maximum(one, other), 1)
    # Bits of different minima differ in half of all cases. No two sets are more alike than the smaller is to the
    # larger, which caps the estimate.
    jaccard = np.minimum(np.maximum(1 - 2 * differing, 0), smaller / larger)
    shared = jaccard / (1 + jaccard) * (one + other)
    containment = np.minimum(shared / np.maximum(smaller, 1), 1)
    return jaccard.astype(np.float32), containment.astype(np.float32)


def _words(sketches: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(sketches).view(np.uint64)
