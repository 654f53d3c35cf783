"""What a page says in numbers, title and short lines: values that are compared as such.

Pages of one template share their sentences, not these. They are kept in odd sketches, which tell how many are
in one of two pages alone (Mitzenmacher, Pagh and Pham, WWW 2014), those of titles in a Bloom filter.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from .hashing import Hashes, Terms, below, by_text, constant, distinct_each, mix
from .normalise import fold_letters
from .tokens import HAN, SYLLABLE

#: Units of 2 bytes of the odd sketches, the last of which counts the values, by kinds.
UNITS = {"numbers": 36, "figures": 24, "words": 36}
#: Bytes of the bits of a title, and how many of the bits a word sets.
TITLE, BITS_OF_WORD = 32, 4
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
_BEFORE, _MOST = constant(3), (1 << 16) - 1


class Apart(NamedTuple):
    """How the values of n pairs of texts compare: float64[n] each. Of a note's words two count as one."""

    #: How many values the new text has at least that the stored one lacks.
    added: NDArray[np.float64]
    #: How many stand in the place of others: a cut copy lacks values or has more, hardly both. Whole or half.
    substituted: NDArray[np.float64]
    #: How many there are in the text that has fewer.
    fewer: NDArray[np.float64]


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
    lines = fold_letters(lines)
    if not (found := _HOURS.search(lines)):
        return ""
    number = lines.count("\n", 0, found.start())
    before, line = ["", *lines.split("\n")][number : number + 2]
    alone = not _TOKENS.search(line.replace(found[1] + found[0], ""))
    return " ".join(_TOKENS.findall(f"{before} {line}" if alone else line))


def titles(terms: Terms, lines: Sequence[str], seed: int) -> list[bytes]:
    """Return what tells pages from others of a site: words and figures of titles, occasions in short *lines*.

    1.2 is not 2.1. Of scripts without spaces each two neighbours make a word. Each sets the bits of its hash
    (Bloom, CACM 1970): a title that contains another has all of its bits.
    """
    found = []
    hashes = joined(_words(terms, HAN, numbers=True), figures(terms))
    for values, told in zip(hashes.each(), map(occasion, lines), strict=True):
        said = values.astype("<u8").tobytes()
        if told:
            said += blake2b(told.encode(), digest_size=8, key=seed.to_bytes(4, "little")).digest()
        bits = np.zeros(8 * TITLE, np.bool_)
        bits[np.frombuffer(said, np.uint8).reshape(-1, 8)[:, :BITS_OF_WORD]] = True
        found.append(np.packbits(bits).tobytes())
    return found


def words(short: Terms, main: Terms, counts: list[int]) -> tuple[Hashes, Hashes | None]:
    """Hash the words of *short* lines, and of *main* texts of low *counts*, None if there are none."""
    if min(counts) > FEW:
        return _words(short, SYLLABLE), None
    few = zip(_words(main, SYLLABLE).each(), counts, strict=True)
    return _words(short, SYLLABLE), Hashes.of([each if count <= FEW else each[:0] for each, count in few])


def sketch_values(kind: str, whole: Hashes, half: Hashes | None = None) -> list[bytes]:
    """Sketch the values of texts: twice each those that count as one, once those that are a *half*."""
    found = joined(whole, Hashes(mix(whole.values), whole.bounds))
    if half is not None:
        found = joined(found, half)
    values, bounds = distinct_each(found)[0]
    size = 16 * (UNITS[kind] - 1)
    bits = by_text((values % constant(size)).view(np.int64), bounds, size)
    odd = np.packbits(np.bincount(bits, minlength=(len(bounds) - 1) * size).reshape(-1, size) & 1 > 0, axis=1)
    sizes = (min(stop - start, _MOST) for start, stop in pairwise(bounds))
    return [each.tobytes() + struct.pack("<H", count) for each, count in zip(odd, sizes, strict=True)]


@cache
def _likely(size: int) -> NDArray[np.float64]:
    """Return how many values make 0 to half of *size* bits odd at least: two standard errors below it."""
    odd = np.arange(size // 2)
    likely = np.log1p(-2 * odd / size) / np.log1p(-2 / size)
    once, twice = ((1 - each / size) ** likely for each in (2, 4))
    variance = size / 4 * (1 + (size - 1) * twice - size * once * once)
    least: NDArray[np.float64] = np.interp(odd - 2 * np.sqrt(np.maximum(variance, 0)), odd, likely)
    return least


def compare(new: Any, stored: Any) -> list[Apart]:
    """Compare values of texts pair by pair, by their records: [n], or one []; of each kind of `UNITS`.

    What differs is counted two standard errors below the estimate.
    """
    found = list[Apart]()
    for kind, units in UNITS.items():
        mine, theirs = new[kind], stored[kind]
        differing = np.bitwise_count(mine[..., :-1] ^ theirs[..., :-1]).sum(axis=-1, dtype=np.int64)
        apart = _likely(16 * (units - 1)).take(differing, mode="clip")
        counts = mine[..., -1].astype(np.float64), theirs[..., -1].astype(np.float64)
        more = counts[0] - counts[1]
        both = np.maximum(apart - np.abs(more), 0)
        found.append(Apart(np.maximum(apart + more, 0) / 4, np.rint(both / 2) / 2, np.minimum(*counts) / 2))
    return found


def _words(terms: Terms, least: int, *, numbers: bool = False) -> Hashes:
    """Hash all words of each text, also *numbers* or not; of kinds from *least* on, each two neighbours."""
    if not terms.mixed:
        return terms.those(numbers | ~terms.tokens.numbers, terms.hashes)
    values, pairs, kept = terms.paired(least)
    return terms.those(kept & (numbers | pairs | ~terms.tokens.numbers), values)


def joined(some: Hashes, more: Hashes) -> Hashes:
    """Put the hashes of each text in *some* and in *more* together."""
    return Hashes.of([np.concatenate(pair) for pair in zip(some.each(), more.each(), strict=True)])
