"""SimHash: similar texts get fingerprints that differ in few bits.

Charikar (STOC 2002); Manku, Jain and Das Sarma (WWW 2007).
"""

from __future__ import annotations

import math
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, overload

import numpy as np

from scrapy_neardup.arguments import require_whole, whole_numbers
from scrapy_neardup.errors import ConfigurationError, DependencyUnavailable

from .hashing import distinct, distinct_each
from .murmur import constant, mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .features import FrequencyWeight
    from .terms import Votes

_LARGEST = 2**64 - 1
_CHUNK = 8192  # features; bounds the memory of a vote at 4 MB
# Weights are whole multiples of 1/4096, so that their sums are exact in any order, on any machine.
_WEIGHT_UNIT = 4096
# Ones are counted in bytes, eight of which are added at a time as one word. So many features cannot make a
# byte overflow.
_COUNTED = 255
_SHIFTS = np.arange(8, dtype=np.uint64)[:, np.newaxis]
# Which bits each value of a byte has set; float64[256, 8].
_BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(float)
_PLACES = np.arange(8)
#: Texts whose weights are summed together; each takes 16 kB.
_TEXTS = 64
_LOWEST = constant(0x0101010101010101)


def vote(hashes: NDArray[np.uint64], weights: NDArray[np.float64] | None = None) -> int:
    """Return the bits that more than half of the *hashes* (uint64[n]) have set, by their *weights*.

    A tie gives 0. Without *weights* all hashes weigh the same.
    """
    ayes = np.zeros(64)
    for start in range(0, len(hashes), _CHUNK):
        part = np.ascontiguousarray(hashes[start : start + _CHUNK], "<u8")
        bits = np.unpackbits(part.view(np.uint8), bitorder="little").reshape(-1, 64)
        ayes += _count(bits) if weights is None else weights[start : start + _CHUNK] @ bits.astype(np.float64)
    total = len(hashes) if weights is None else weights.sum()
    return int.from_bytes(np.packbits(ayes * 2 > total, bitorder="little").tobytes(), "little")


def _count(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the ones in each column of *bits* (uint8[n, 64], n > 0)."""
    counters = np.add.reduceat(bits.view(np.uint64), np.arange(0, len(bits), _COUNTED), axis=0)
    ones: NDArray[np.int64] = counters.view(np.uint8).sum(axis=0, dtype=np.int64)
    return ones


def vote_each(texts: Sequence[NDArray[np.uint64]]) -> list[int]:
    """Return the `vote` of each of several texts (uint64[n] each), all of whose hashes weigh the same."""
    if len(texts) == 1:  # which is faster
        return [vote(texts[0])]
    voting = [hashes for hashes in texts if len(hashes)]
    if not voting:
        return [0] * len(texts)
    sizes = [len(hashes) for hashes in voting]
    starts = [range(end - size, end, _COUNTED) for size, end in zip(sizes, accumulate(sizes), strict=True)]
    counters = _count_each(np.concatenate(voting), list(chain.from_iterable(starts)))
    firsts = list(accumulate(map(len, starts[:-1]), initial=0))
    ayes = np.add.reduceat(counters, firsts, axis=0, dtype=np.int64)
    most = np.packbits(ayes * 2 > np.array(sizes)[:, np.newaxis], axis=1, bitorder="little")
    found = iter(most.view("<u8")[:, 0].tolist())
    return [next(found) if len(hashes) else 0 for hashes in texts]


def _count_each(hashes: NDArray[np.uint64], starts: list[int]) -> NDArray[np.uint8]:
    """Count how often each bit is set from each of *starts* to the next; uint8[starts, 64].

    There are at most 255 hashes from one start to the next.
    """
    counters = np.empty((8, len(starts)), "<u8")
    at = np.array([*starts, len(hashes)])
    for first in range(0, len(starts), _CHUNK // _COUNTED):
        part = slice(first, min(first + _CHUNK // _COUNTED, len(starts)))
        ones = hashes[at[first] : at[part.stop]] >> _SHIFTS
        ones &= _LOWEST
        counters[:, part] = np.add.reduceat(ones, at[part] - at[first], axis=1)
    # Row k has the counts of the bits k, k + 8, k + 16 and so on.
    return counters.view(np.uint8).reshape(8, -1, 8).transpose(1, 2, 0).reshape(-1, 64)


def weighted_votes(
    hashes: NDArray[np.uint64], weights: NDArray[np.float64], bounds: NDArray[np.intp]
) -> list[int]:
    """Return the `vote` of each of several texts, by *weights* that are whole numbers.

    Text number i has hashes and weights from bounds[i] to bounds[i + 1] (intp[texts + 1]).
    """
    count = len(bounds) - 1
    if count == 1:  # which is faster
        return [vote(hashes, weights)]
    bytes_ = np.ascontiguousarray(hashes, "<u8").view(np.uint8).reshape(-1, 8)
    of_text = np.arange(count).repeat(np.diff(bounds))
    ayes = np.zeros((count, 64))
    start = int(bounds[0])
    while start < len(hashes):
        first = int(of_text[start])
        stop = min(start + _CHUNK, int(bounds[min(first + _TEXTS, count)]))
        part = slice(start, stop)
        last = int(of_text[stop - 1]) + 1
        # Weights are added up for each value that a byte of the hashes has. That takes one step a byte, and
        # far fewer than one a bit.
        cells = bytes_[part] + (((of_text[part, np.newaxis] - first) * 8 + _PLACES) << 8)
        sums = np.bincount(cells.ravel(), weights[part].repeat(8), (last - first) << 11)
        ayes[first:last] += (sums.reshape(-1, 256) @ _BYTES).reshape(-1, 64)
        start = stop
    totals = np.bincount(of_text, weights, count)
    most = np.packbits(ayes * 2 > totals[:, np.newaxis], axis=1, bitorder="little")
    found: list[int] = most.view("<u8")[:, 0].tolist()
    return found


def fingerprint(features: NDArray[np.uint64], weight: FrequencyWeight) -> int:
    """Return the 64-bit SimHash of the hashes of a text's features (uint64[n], with repetitions).

    How much a repeated feature counts is said by *weight*.
    """
    return fingerprint_each([features], weight)[0]


def fingerprint_each(texts: Sequence[NDArray[np.uint64]], weight: FrequencyWeight) -> list[int]:
    """Return the `fingerprint` of each of several texts."""
    if weight == "tf":
        return vote_each(texts)
    bags = [distinct(features) for features in texts]
    if weight == "set":
        return vote_each([values for values, _ in bags])
    weigh = np.sqrt if weight == "sqrt" else lambda counts: 1 + np.log(counts)
    return [vote(values, np.rint(weigh(counts) * _WEIGHT_UNIT)) for values, counts in bags]


@overload
def hamming(a: int, b: int) -> int: ...
@overload
def hamming(a: NDArray[np.uint64], b: NDArray[np.uint64] | int) -> NDArray[np.uint8]: ...
@overload
def hamming(a: int, b: NDArray[np.uint64]) -> NDArray[np.uint8]: ...
def hamming(a: int | NDArray[np.uint64], b: int | NDArray[np.uint64]) -> int | NDArray[np.uint8]:
    """Count the bits in which 64-bit fingerprints differ: an int for two ints, else uint8, broadcast.

    Raises `ConfigurationError` for what is no whole number from 0 to 2⁶⁴ - 1, and for arrays whose shapes do
    not go together.
    """
    if isinstance(a, int) and isinstance(b, int):
        for each in (a, b):
            require_whole("A fingerprint", each, 0, _LARGEST)
        return (a ^ b).bit_count()
    one, other = whole_numbers("Fingerprints", a, np.uint64), whole_numbers("Fingerprints", b, np.uint64)
    try:
        differing: NDArray[np.uint8] = np.bitwise_count(one ^ other)
    except ValueError:
        raise ConfigurationError(
            f"Fingerprints in arrays of the shapes {one.shape} and {other.shape} do not go together: compare "
            "arrays of one shape, or an array with one fingerprint."
        ) from None
    return differing


#: A word weighs nothing if at most the first share of the words of its text are shorter; it has all of its
#: weight from the second share on.
_NOTHING, _ALL = 0.4, 0.6
#: Between the two shares the weight rises in so many steps.
_STEPS = 16
#: A word that occurs more often than this counts as if it occurred so often: the sums below stay exact.
_MOST = 127
#: No word weighs more than half of the Euclidean norm of all weights: the square of the norm is so many times
#: the square of the greatest weight, or more.
_SQUARES = 4
#: Lengths from this on are the same.
_LONG = 64
#: The lowest bits of a word's hash give way to its rank, so that one sort orders both.
_RANK_BITS = constant(5)
_RANK = constant((1 << 5) - 1)
_REST = ~_RANK


def fingerprint_keywords(texts: Sequence[Votes]) -> list[int]:
    """Return the 64-bit SimHash of each of several texts, by the weight ``keywords``.

    A word that occurs c times weighs min(c, 127)² times its rank. The rank goes from 0 to 16 while the share
    of words of the text that are shorter, and of half of those that are as long, goes from .4 to .6. The
    greatest weights are cut until none is above half of the Euclidean norm of all. Weights are whole numbers,
    and all sums of them exact, so fingerprints are the same on every machine.
    """
    sizes = [len(text.hashes) for text in texts]
    if not any(sizes):
        return [0] * len(texts)
    ranks = _ranks(np.concatenate([text.lengths for text in texts]), sizes)
    keeps = ranks.nonzero()[0]
    keys = np.concatenate([text.hashes for text in texts]) & _REST
    keys |= ranks
    keys = keys.take(keeps)
    at, bounds = distinct_each(keys, keeps.searchsorted([*accumulate(sizes, initial=0)]))
    counts = np.empty_like(at)
    np.subtract(at[1:], at[:-1], out=counts[:-1])
    counts[-1] = len(keys) - at[-1]
    np.minimum(counts, _MOST, out=counts)
    keys = keys.take(at)
    weights = (counts * counts * (keys & _RANK).view(np.int64)).astype(np.float64)
    return weighted_votes(mix(keys >> _RANK_BITS), _cut(weights, bounds), bounds)


def _ranks(lengths: NDArray[np.intp], sizes: list[int]) -> NDArray[np.uint64]:
    """Rank words by their *lengths* among those of the same text; uint64[n], 0 to `_STEPS`.

    There are *sizes* words in each text. A length of 0 has the highest rank, and does not count for others.
    In each text that has words, some have a rank above 0.
    """
    columns = _LONG + 1
    cells = np.minimum(lengths, _LONG)
    if len(sizes) > 1:
        cells += np.arange(0, len(sizes) * columns, columns).repeat(sizes)
    counts = np.bincount(cells, minlength=len(sizes) * columns).reshape(-1, columns)
    counts[:, 0] = 0
    as_long = counts.cumsum(axis=1)  # or shorter
    share = (2 * as_long - counts) / (2 * np.maximum(as_long[:, -1:], 1))
    by_length = np.minimum(np.maximum((share - _NOTHING) / (_ALL - _NOTHING), 0), 1) * _STEPS
    by_length[:, 0] = _STEPS
    ranks: NDArray[np.uint64] = by_length.astype(np.uint64).take(cells)
    return ranks


def _cut(weights: NDArray[np.float64], bounds: NDArray[np.intp]) -> NDArray[np.float64]:
    """Cut the weights of each text to the greatest whole number that is at most half of their norm then."""
    places = bounds.tolist()
    ordered = weights.copy()
    most = []
    for start, stop in pairwise(places):
        own = ordered[start:stop]
        own.sort()
        most.append(_most(int(own @ own), own[1 - _SQUARES :].astype(np.int64).tolist()))
    cut: NDArray[np.float64] = np.minimum(weights, np.repeat(most, bounds[1:] - bounds[:-1]))
    return cut


def _most(rest: int, greatest: list[int]) -> int:
    """Return what the weights of a text are cut to.

    *rest* is the sum of their squares; *greatest* are the greatest of them, in ascending order.
    """
    share = _SQUARES
    for weight in reversed(greatest):
        if share * weight**2 <= rest:
            break
        rest -= weight**2
        share -= 1
    return max(math.isqrt(rest // share), 1)


_ROWS, _COLUMNS = 64, 256


@cache
def require_sound_products() -> None:
    """Raise `DependencyUnavailable` if a product of matrices of floats is not that of whole numbers."""
    whole = np.arange(_ROWS * _COLUMNS).reshape(_ROWS, _COLUMNS) % 1009
    floats = whole.astype(np.float64)
    # Products of whole numbers are made by NumPy itself. All of these are exact as floats, too.
    if not np.array_equal(np.matmul(floats, floats[:8].T), whole @ whole[:8].T):
        raise DependencyUnavailable(
            "NumPy multiplies matrices wrongly on this machine: install another build of NumPy, or set "
            "OPENBLAS_CORETYPE in the environment to an older kind of processor, such as ARMV8 or HASWELL."
        )
