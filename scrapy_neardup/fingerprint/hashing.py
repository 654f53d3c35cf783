"""Hashes of tokens and of shingles, and the distinct ones among them.

A token is hashed to the sum of secret numbers of its characters, each times a power of a secret number: two
crafted ones of 64 characters at most agree for one of 2³⁸ choices of the secrets. What is made of the hashes
is the same for all seeds, so the sums are mixed, which leaves nothing linear in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.arguments import require_whole

from .tokens import HAN, LETTER, Tokens

#: The largest seed.
MOST_SEEDS = 2**32 - 1
#: Longer tokens could be crafted so that the sums agree for all seeds.
_LONGEST = 64
_PLANE = 1 << 16  # code points


def constant(value: int) -> NDArray[np.uint64]:
    """Return *value* as uint64[], which NumPy is quicker with than with an int."""
    return np.array(value, np.uint64)


_MIX_1, _MIX_2 = constant(0xFF51AFD7ED558CCD), constant(0xC4CEB9FE1A85EC53)
_MIX_SHIFT, _HALF = constant(33), constant(32)
_MULTIPLIER = 0x9E3779B97F4A7C15  # of shingles; odd, so that nothing is lost


def mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every input bit over all 64 output bits: the finaliser of MurmurHash3, a bijection."""
    mixed = hashes >> _MIX_SHIFT
    mixed ^= hashes
    mixed *= _MIX_1
    mixed ^= mixed >> _MIX_SHIFT
    mixed *= _MIX_2
    mixed ^= mixed >> _MIX_SHIFT
    return mixed


@lru_cache(maxsize=4)
def _secrets(seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], int, int]:
    """Return numbers for characters of a plane and for planes (0: the first), a multiplier, its inverse."""
    places = np.arange(1, _PLANE + 19, dtype=np.uint64)
    numbers = mix(mix(mix(np.full(1, seed, np.uint64)) + places))
    planes = numbers[_PLANE:-1]
    planes[0] = 0
    multiplier = int(numbers[-1]) << 3 & 2**64 - 1 | 3
    return numbers[:_PLANE], planes, multiplier, pow(multiplier, -1, 2**64)


@lru_cache(maxsize=16)
def _powers(base: int, count: int) -> NDArray[np.uint64]:
    powers = np.full(count, base, np.uint64)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    return powers


def hash_tokens(tokens: Tokens, seed: int = 0) -> NDArray[np.uint64]:
    """Hash each of *tokens*; uint64[n]."""
    points, places = tokens.points, tokens.places
    characters, planes, base, inverse = _secrets(seed)
    if points.dtype.itemsize <= 2:
        sums = characters.take(points)
    else:
        sums = characters.take(points % _PLANE) + planes.take(points // _PLANE)
    count = 1 << max(len(points) - 1, 1).bit_length()
    sums *= _powers(base, count)[: len(points)]
    np.add.accumulate(sums, out=sums)
    edges = sums.take(places - 1)
    hashes = edges[:, 1] - edges[:, 0]
    hashes *= _powers(inverse, count).take(places[:, 0])
    hashes = mix(hashes)
    for number in (tokens.lengths > _LONGEST).nonzero()[0].tolist():
        data = points[slice(*places[number])].astype("<u4").tobytes()
        digest = blake2b(data, digest_size=8, key=seed.to_bytes(4, "little")).digest()
        hashes[number] = int.from_bytes(digest, "little")
    return hashes


class Runs(dict[int, "NDArray[np.uint64]"]):
    """By their size, the sums of all runs of neighbours among hashes: those of runs of one are given.

    Each member is multiplied with a power of one number, which tells their order.
    """

    def __missing__(self, size: int) -> NDArray[np.uint64]:
        half = 1 << (size - 1).bit_length() - 1
        sums = self[size - half][half:] * _power(half)
        sums += self[half][: len(sums)]
        self[size] = sums
        return sums

    def hashes(self, size: int) -> NDArray[np.uint64]:
        """Hash each run of *size*; uint64[max(0, n - size + 1)]."""
        sums = self[size]
        return sums ^ sums >> _HALF  # the lowest bits of sums do not tell the order


@cache
def _power(exponent: int) -> NDArray[np.uint64]:
    return constant(pow(_MULTIPLIER, exponent, 2**64))


def shingle(hashes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Hash each run of *size* neighbours, or fewer if there are no more; uint64[max(1, n - size + 1)]."""
    require_whole("The size of a shingle", size, 1)
    return Runs({1: hashes}).hashes(max(1, min(size, len(hashes))))


class Hashes(NamedTuple):
    """Hashes of several texts: of text number i those from bounds[i] to bounds[i + 1]."""

    #: uint64[n].
    values: NDArray[np.uint64]
    #: One more than there are texts; from 0 to n.
    bounds: list[int]

    @classmethod
    def of(cls, texts: Sequence[NDArray[np.uint64]]) -> Hashes:
        """Put the hashes of several texts (uint64[n] each) together."""
        values = texts[0] if len(texts) == 1 else np.concatenate(texts)
        return cls(values, [*accumulate(map(len, texts), initial=0)])

    def each(self) -> list[NDArray[np.uint64]]:
        """Return the hashes of each text, as views."""
        return [self.values[start:stop] for start, stop in pairwise(self.bounds)]


def below(places: NDArray[np.intp], bounds: list[int]) -> list[int]:
    """Count the *places* (intp[n], ascending) below each of *bounds*, the last of which is above all."""
    return [0, len(places)] if len(bounds) == 2 else places.searchsorted(bounds).tolist()


def by_text(places: NDArray[np.int64], bounds: list[int], step: int) -> NDArray[np.int64]:
    """Add to *places* (int64[n], changed) of several texts *step* times the number of the text of each."""
    if len(bounds) > 2:
        ends = np.array(bounds)
        places += np.arange(0, (len(bounds) - 1) * step, step).repeat(ends[1:] - ends[:-1])
    return places


class Terms:
    """The *tokens* of several texts, their *hashes* (uint64[n]) and *bounds*; no run is over *longest*."""

    def __init__(
        self, tokens: Tokens, hashes: NDArray[np.uint64], bounds: list[int], longest: int, mixed: bool = True
    ) -> None:
        self.tokens, self.hashes, self.bounds = tokens, hashes, bounds
        self._longest = longest
        #: Whether there are tokens of scripts without spaces.
        self.mixed = mixed and bool(np.count_nonzero(tokens.kinds))

    def sections(self, count: int) -> list[Terms]:
        """Return the terms of each *count* texts that follow each other."""
        found = []
        for first in range(0, len(self.bounds) - 1, count):
            bounds = self.bounds[first : first + count + 1]
            part = slice(bounds[0], bounds[-1])
            bounds = [bound - bounds[0] for bound in bounds]
            found.append(Terms(self.tokens[part], self.hashes[part], bounds, self._longest, self.mixed))
        return found

    def counts(self) -> list[int]:
        """Count the tokens of each text; without spaces two characters are one, or four letters."""
        counts = [stop - start for start, stop in pairwise(self.bounds)]
        for text, own in enumerate(pairwise(self.bounds)) if self.mixed else ():
            kinds = self.tokens.kinds[slice(*own)]
            four = int(np.count_nonzero(kinds >= LETTER))
            two = int(np.count_nonzero(kinds)) - four
            counts[text] += (two + 1) // 2 - two + (four + 3) // 4 - four
        return counts

    def those(self, which: NDArray[np.bool_], values: NDArray[np.uint64]) -> Hashes:
        """Return *values* (uint64[n]), one for each token, of those that are among *which* (bool[n])."""
        kept = which.nonzero()[0]
        return Hashes(values.take(kept), below(kept, self.bounds))

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Where the hash of each token is among those of `_runs`; intp[n]."""
        return by_text(np.arange(len(self.hashes)), self.bounds, self._longest)

    @cached_property
    def _runs(self) -> Runs:
        """The runs of all texts, each with zeros behind it, so that no run reaches into the next one."""
        each, behind = Hashes(self.hashes, self.bounds).each(), np.zeros(self._longest, np.uint64)
        return Runs({1: np.concatenate([part for hashes in each for part in (hashes, behind)])})

    def shingles(self, words: int, characters: int | None = None) -> Hashes:
        """Hash each run of *words* tokens of each text, in order; of fewer, all together.

        Runs that begin with a character of a script without spaces have *characters* tokens, and those that
        begin with a letter of one twice as many.
        """
        short = self._runs.hashes(words)
        if characters is None or not self.mixed:
            parts = []
            for text, (start, stop) in enumerate(pairwise(self.bounds)):
                place = start + text * self._longest
                parts.append(short[place : place + max(stop - start - words + 1, min(stop - start, 1))])
            return Hashes.of(parts)
        hashes = short.take(self._places)
        sizes, kinds = np.full(len(hashes), words), self.tokens.kinds
        for begins, size in ((kinds >= HAN, characters), (kinds >= LETTER, 2 * characters)):
            np.copyto(hashes, self._runs.hashes(size).take(self._places), where=begins)
            sizes[begins] = size
        bounds = np.array(self.bounds)
        left = bounds[1:].repeat(bounds[1:] - bounds[:-1]) - np.arange(len(hashes))
        kept = sizes <= left
        kept[bounds[:-1][bounds[:-1] < bounds[1:]]] = True
        return self.those(kept, hashes)

    def paired(self, least: int) -> tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return a hash for each token, which are of a pair that it begins, and which tokens are in no other.

        Each two neighbours make a pair among the tokens of kinds from *least* on, that say little alone. The
        shapes are uint64[n], bool[n] and bool[n].
        """
        alone = self.tokens.kinds >= least
        pairs, kept = np.zeros(len(self.hashes), np.bool_), np.ones(len(self.hashes), np.bool_)
        np.logical_and(alone[:-1], alone[1:], out=pairs[:-1])
        pairs[np.array(self.bounds[1:]) - 1] = False
        kept[1:] = pairs[1:] | ~pairs[:-1]  # the last of a run of those is in a pair already
        return np.where(pairs, self._runs.hashes(2).take(self._places), self.hashes), pairs, kept

    def votes(self, size: int, least: int) -> tuple[Hashes, NDArray[np.intp]]:
        """Return what votes for fingerprints: shingles of *size* tokens, and how long each is; intp[n].

        If *size* is 1, each two neighbours among the tokens of kinds from *least* on make one, of length 0.
        """
        if size > 1:
            found = self.shingles(size)
            return found, np.ones(len(found.values), np.intp)
        lengths = self.tokens.lengths
        if not self.mixed:
            return Hashes(self.hashes, self.bounds), lengths
        values, pairs, kept = self.paired(least)
        lengths[pairs] = 0
        return self.those(kept, values), lengths[kept]


def distinct_each(hashes: Hashes) -> tuple[Hashes, NDArray[np.int64]]:
    """Return the distinct values of each text, ascending, and how often each occurs; sorts in place."""
    at = sorted_each(hashes)
    first = at[:-1]
    return Hashes(hashes.values.take(first), below(first, hashes.bounds)), at[1:] - first


def sorted_each(hashes: Hashes) -> NDArray[np.intp]:
    """Sort each text in place; return where each distinct value begins, and the last ends; intp[m + 1]."""
    values, bounds = hashes
    for start, stop in pairwise(bounds):
        values[start:stop].sort()
    new = np.empty(len(values) + 1, np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:-1])
    for bound in bounds:
        new[bound] = True
    return new.nonzero()[0]
