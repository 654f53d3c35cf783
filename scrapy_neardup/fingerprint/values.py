"""What a page says in numbers, title and short lines: values that are compared one by one.

Pages of one template share their sentences, not these. Of a page with many the same sample is kept; of words
an odd sketch, which tells how many are in one of two pages alone (Mitzenmacher, Pagh and Pham, WWW 2014).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from .hashing import Hashes, Terms, below, by_text, constant, distinct_each, mix
from .normalise import fold_letters
from .tokens import HAN, SYLLABLE

#: How many values of 2 bytes are kept of numbers in the text, title and figures in short lines; units of 2
#: bytes of the sketch of words, the last of which counts them.
NUMBERS, TITLE, FIGURES, WORDS = 24, 12, 24, 36
#: Bits of the sketch, each of which says whether an odd number of words has it; how many words make so many
#: odd, 0 to half of them, by the estimate, and at least: two standard errors below it.
_BITS = 16 * (WORDS - 1)
_ODD = np.arange(_BITS // 2)
_LIKELY = np.log1p(-2 * _ODD / _BITS) / np.log1p(-2 / _BITS)
_ONCE, _TWICE = ((1 - each / _BITS) ** _LIKELY for each in (2, 4))
_VARIANCE = _BITS / 4 * (1 + (_BITS - 1) * _TWICE - _BITS * _ONCE * _ONCE)
_APART = np.interp(_ODD - 2 * np.sqrt(np.maximum(_VARIANCE, 0)), _ODD, _LIKELY)
#: The words of a main text of at most so many tokens count, too, half each: notes differ in them.
FEW = 120
_SPACE = 32
#: Hours from and to, as of no date of publication: 15:00 - 19:00, 10 a.m.–1:30 p.m.
_HOUR, _MINUTES, _NOON = r"(?:[01]?\d|2[0-4])", r":[0-5]\d", r" ?[ap]\.?m\b\.?"
_HOURS = regex.compile(
    rf"(?<=(?<![\d:.-])({_HOUR}({_MINUTES})?(?:{_NOON})? ?))[-\u2010-\u2015~\u301C] ?{_HOUR}"
    rf"(?:(?:{_MINUTES})?{_NOON}|{_MINUTES}(?![\d:])(?(2)|(?!)))"
)
_TOKENS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_SHORT, _BEFORE, _MODULUS = constant(48), constant(3), constant(_BITS)
#: The kinds of values that a record has, and how many a hash may be.
_KINDS, _RANGE = ("numbers", "title", "figures"), 1 << 16


class Others(NamedTuple):
    """How the values of n pairs of texts compare: int[n] each."""

    #: Values of the new text that the stored one lacks, and those of the stored one that the new one lacks.
    added: NDArray[np.int64]
    lacking: NDArray[np.int64]
    #: Values of the text that has fewer.
    fewer: NDArray[np.int64]
    #: Which share of all values the sample is: float[n].
    share: NDArray[np.float64]

    @property
    def substituted(self) -> NDArray[np.int64]:
        """How many values stand in the place of others: a cut copy lacks values or has more, hardly both."""
        return np.minimum(self.added, self.lacking)

    @property
    def expected(self) -> NDArray[np.int64]:
        """How many are substituted in all, going by those in the sample."""
        return np.rint(self.substituted / self.share).astype(np.int64)


def pack(hashes: Hashes, most: int) -> list[bytes]:
    """Pack the upper 16 bits of the greatest of the *hashes* of each text, *most* of them."""
    values = (hashes.values >> _SHORT).tolist()
    kept = [sorted({*values[start:stop]})[: -most - 1 : -1] for start, stop in pairwise(hashes.bounds)]
    return [struct.pack(f"<{len(each)}H", *each).ljust(2 * most, b"\0") for each in kept]


def compare(new: Any, stored: Any) -> list[Others]:
    """Compare numbers, title and figures of texts pair by pair, by their records: [n], or one [].

    Where one of the two has more than are kept, only those in the range that both have kept are compared.
    """
    found = []
    for kind in _KINDS:
        mine, theirs = np.broadcast_arrays(new[kind], stored[kind])
        lowest = np.maximum(np.maximum(mine[..., -1:], theirs[..., -1:]), 1)
        both = np.sort(np.concatenate([mine, theirs], axis=-1), axis=-1)
        shared = ((both[..., 1:] == both[..., :-1]) & (both[..., 1:] >= lowest)).sum(axis=-1)
        own, others = ((each >= lowest).sum(axis=-1) for each in (mine, theirs))
        share = (_RANGE + 1 - lowest[..., 0].astype(np.int64)) / _RANGE
        found.append(Others(own - shared, others - shared, np.minimum(own, others), share))
    return found


def figures(terms: Terms) -> Hashes:
    """Hash the figures of short lines, numbers with single signs between, such as 19.99 or 2031-05-07."""
    tokens = terms.tokens
    numbers = tokens.numbers.nonzero()[0]
    if not len(numbers):
        return Hashes(np.empty(0, np.uint64), [0] * len(terms.bounds))
    starts, ends = tokens.places[numbers].T
    apart = (starts[1:] - ends[:-1] != 1) | (tokens.points.take(ends[:-1]) <= _SPACE)
    first = np.concatenate(([0], apart.nonzero()[0] + 1))
    hashes = terms.hashes.take(numbers)
    # Each number of a figure is hashed with the one before it, because their order matters.
    before = hashes[:-1] * _BEFORE
    before[apart] = 0
    hashes[1:] += before
    return Hashes(np.add.reduceat(mix(hashes), first), below(numbers.take(first), terms.bounds))


def occasion(lines: str) -> str:
    """Return the words of the first of the short *lines* that has hours from and to; empty if none has.

    They tell one performance of a play from the next. Hours alone go with the line before them.
    """
    for before, line in pairwise(("", *fold_letters(lines).split("\n"))):
        if found := _HOURS.search(line):
            alone = not _TOKENS.search(line.replace(found[1] + found[0], ""))
            return " ".join(_TOKENS.findall(f"{before} {line}" if alone else line))
    return ""


def titles(terms: Terms, lines: Sequence[str], seed: int) -> Hashes:
    """Hash what tells pages from others of a site: words and figures of titles, occasions in short *lines*.

    1.2 is not 2.1. Of scripts without spaces each two neighbours make a word.
    """
    hashes = joined(_words(terms, HAN, numbers=True), figures(terms))
    told, key = [*map(occasion, lines)], seed.to_bytes(4, "little")
    if not any(told):
        return hashes
    rows = (blake2b(each.encode(), digest_size=8, key=key).digest() if each else b"" for each in told)
    return joined(hashes, Hashes.of([np.frombuffer(row, np.uint64) for row in rows]))


def words(short: Terms, main: Terms, counts: list[int]) -> list[bytes]:
    """Sketch the words of *short* lines, twice each, and of *main* texts of low *counts*, and count both."""
    found = _words(short, SYLLABLE)
    found = joined(found, Hashes(mix(found.values), found.bounds))
    if min(counts) <= FEW:
        few = zip(_words(main, SYLLABLE).each(), counts, strict=True)
        found = joined(found, Hashes.of([each if count <= FEW else each[:0] for each, count in few]))
    values, bounds = distinct_each(found)[0]
    bits = by_text((values % _MODULUS).view(np.int64), bounds, _BITS)
    odd = np.packbits(np.bincount(bits, minlength=len(counts) * _BITS).reshape(-1, _BITS) & 1 > 0, axis=1)
    sizes = (min(stop - start, _RANGE - 1) for start, stop in pairwise(bounds))
    return [each.tobytes() + struct.pack("<H", size) for each, size in zip(odd, sizes, strict=True)]


def compare_words(new: Any, stored: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many words of short lines one text of each pair has that the other lacks, new ones first.

    It has so many at least: two standard errors below the estimate; float64[n] each. See `compare`. A word of
    the main text of a note is half of one: writers change them.
    """
    mine, theirs = new["words"], stored["words"]
    differing = np.bitwise_count(mine[..., :-1] ^ theirs[..., :-1]).sum(axis=-1, dtype=np.int64)
    apart = _APART.take(differing, mode="clip")
    more = mine[..., -1].astype(np.float64) - theirs[..., -1]
    return np.maximum(apart + more, 0) / 4, np.maximum(apart - more, 0) / 4


def _words(terms: Terms, least: int, *, numbers: bool = False) -> Hashes:
    """Hash all words of each text, also *numbers* or not; of kinds from *least* on, each two neighbours."""
    if not terms.mixed:
        return terms.those(numbers | ~terms.tokens.numbers, terms.hashes)
    values, pairs, kept = terms.paired(least)
    return terms.those(kept & (numbers | pairs | ~terms.tokens.numbers), values)


def joined(some: Hashes, more: Hashes) -> Hashes:
    """Put the hashes of each text in *some* and in *more* together."""
    return Hashes.of([np.concatenate(pair) for pair in zip(some.each(), more.each(), strict=True)])
