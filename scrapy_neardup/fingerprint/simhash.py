"""SimHash: near texts get near fingerprints (Charikar 2002; Manku, Jain and Das Sarma 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from .hashing import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .features import Weight

_CHUNK = 8192  # features; bounds the memory of a vote at 4 MB
_WEIGHT_UNIT = (
    4096  # weights are whole multiples of 1/4096: their sums are exact, in any order, on any machine
)


def vote(hashes: NDArray[np.uint64], weights: NDArray[np.float64] | None = None) -> int:
    """Set each of the 64 bits that more than half of the weight of *hashes* (uint64[n]) has set; ties give 0."""
    ayes = np.zeros(64)
    for start in range(0, len(hashes), _CHUNK):
        part = np.ascontiguousarray(hashes[start : start + _CHUNK], "<u8")
        bits = np.unpackbits(part.view(np.uint8), bitorder="little").reshape(-1, 64)
        ayes += _count(bits) if weights is None else weights[start : start + _CHUNK] @ bits.astype(np.float64)
    total = len(hashes) if weights is None else weights.sum()
    return int.from_bytes(np.packbits(ayes * 2 > total, bitorder="little").tobytes(), "little")


def _count(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the ones in each column of *bits* (uint8[n, 64], n > 0)."""
    # Eight counters of a byte are added at a time, which 255 rows cannot make overflow.
    counters = np.add.reduceat(bits.view(np.uint64), np.arange(0, len(bits), 255), axis=0)
    ones: NDArray[np.int64] = counters.view(np.uint8).sum(axis=0, dtype=np.int64)
    return ones


def fingerprint(features: NDArray[np.uint64], weight: Weight) -> int:
    """64-bit SimHash of feature hashes (uint64[n], with repetitions), each distinct one weighted by its count."""
    if weight == "tf":
        return vote(features)
    values, counts = distinct(features)
    if weight == "set":
        return vote(values)
    weights = np.sqrt(counts) if weight == "sqrt" else 1 + np.log(counts)
    return vote(values, np.rint(weights * _WEIGHT_UNIT))


@overload
def hamming(a: int, b: int) -> int: ...
@overload
def hamming(a: NDArray[np.uint64], b: NDArray[np.uint64] | int) -> NDArray[np.uint8]: ...
@overload
def hamming(a: int, b: NDArray[np.uint64]) -> NDArray[np.uint8]: ...
def hamming(a: int | NDArray[np.uint64], b: int | NDArray[np.uint64]) -> int | NDArray[np.uint8]:
    """Count the bits in which 64-bit fingerprints differ: an int for two ints, else uint8, broadcast."""
    if isinstance(a, int) and isinstance(b, int):
        return (a ^ b).bit_count()
    differing: NDArray[np.uint8] = np.bitwise_count(np.asarray(a, np.uint64) ^ np.asarray(b, np.uint64))
    return differing
