"""What a page says in numbers, in its title and in its short lines: values that are compared one by one.

Pages of one template share their sentences, not these. Short hashes of them are kept: all of most pages, and
of a page with more the same sample as of every other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import regex

from .hashing import unique
from .murmur import constant, hash_slices, mix
from .tokens import tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .terms import Terms

#: How many values are kept of the numbers in the text, of the title's words, and of the figures and words in
#: short lines; each takes 2 bytes.
NUMBERS, TITLE, FIGURES, WORDS = 24, 12, 24, 36
#: The words of a main text of at most so many tokens count as those of short lines do: notes differ in them.
FEW = 120
_SPACE = 32
#: Hours from and to, as of no date of publication: 15:00 - 19:00.
_HOURS = regex.compile(
    r"(?<![\d:.])(?:[01]?\d|2[0-4]):[0-5]\d ?[-\u2010-\u2015~\u301C] ?(?:[01]?\d|2[0-4]):[0-5]\d(?![\d:])"
)
_SHORT, _ONE = constant(48), constant(1)


class Others(NamedTuple):
    """How the values of n pairs of texts compare: int[n] each."""

    #: Values of the new text that the stored one lacks, and those of the stored one that the new one lacks.
    added: NDArray[np.int64]
    lacking: NDArray[np.int64]
    #: Values of the text that has fewer.
    fewer: NDArray[np.int64]

    @property
    def substituted(self) -> NDArray[np.int64]:
        """How many values stand in the place of others.

        A copy that is cut, or that brings boilerplate along, lacks values or has more, hardly both. A
        template filled with other values does both.
        """
        return np.minimum(self.added, self.lacking)


def pack(hashes: NDArray[np.uint64], most: int) -> bytes:
    """Pack the hashes of a text's values (uint64[n]): the greatest *most* of their upper halves' halves."""
    short = unique(hashes >> _SHORT)[::-1][:most].astype("<u2").tobytes()
    return short + bytes(2 * most - len(short))  # zero stands for none


def compare(new: NDArray[np.uint16], stored: NDArray[np.uint16]) -> Others:
    """Compare the values of texts pair by pair: uint16[n, most], or uint16[most] for one text in all pairs.

    Where one of the two has more than are kept, only those in the range that both have kept are compared.
    """
    new, stored = np.broadcast_arrays(new, stored)
    least = np.maximum(np.maximum(new[..., -1:], stored[..., -1:]), 1)
    both = np.sort(np.concatenate((new, stored), axis=-1), axis=-1)
    shared = ((both[..., 1:] == both[..., :-1]) & (both[..., 1:] >= least)).sum(axis=-1)
    mine, theirs = ((each >= least).sum(axis=-1) for each in (new, stored))
    return Others(mine - shared, theirs - shared, np.minimum(mine, theirs))


def figures(terms: Terms) -> NDArray[np.uint64]:
    """Hash the figures of short lines, such as 19.99, 08:15 or 2031-05-07; uint64[n].

    A figure is a run of numbers with a single sign between them.
    """
    tokens = terms.tokens
    places = tokens.numbers.nonzero()[0]
    if not len(places):
        return np.empty(0, np.uint64)
    starts, ends = tokens.starts.take(places), tokens.ends.take(places)
    data = np.frombuffer(tokens.data, np.uint8)
    joined = np.zeros(len(places) + 1, np.bool_)
    joined[1:-1] = (starts[1:] - ends[:-1] == 1) & (data.take(ends[:-1]) > _SPACE)
    first = (~joined[:-1]).nonzero()[0]
    hashes = terms.hashes.take(places)
    # Each number of a figure is hashed with the one before it, because their order matters.
    before = np.zeros(len(places), np.uint64)
    before[1:] = hashes[:-1] * joined[1:-1]
    return np.add.reduceat(mix(hashes + (before << _ONE)), first)


def occasion(text: str, seed: int) -> NDArray[np.uint64]:
    """Hash the first of the short lines that has hours from and to, if any; uint64[n].

    As the title does, it tells one performance of a play, or one meeting of a club, from the next. *text* are
    the normalised short lines. A line of hours alone goes with the one before it.
    """
    found = _HOURS.search(text) if ":" in text else None
    if found is None:
        return np.empty(0, np.uint64)
    begin = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    line = text[begin : end if end >= 0 else None]
    if not len(tokenise(line.replace(found[0], ""))):
        line = text[text.rfind("\n", 0, max(begin - 1, 0)) + 1 : begin] + line
    data = " ".join(tokenise(line).words).encode("utf-8", "surrogatepass")
    return hash_slices(data, np.array([0]), np.array([len(data)]), seed)


def words(terms: Terms, short: Terms) -> NDArray[np.uint64]:
    """Hash the words of *short* lines, and of the main text, *terms*, if that has few; uint64[n]."""
    return np.concatenate((_words(short), _words(terms))) if terms.count <= FEW else _words(short)


def _words(terms: Terms) -> NDArray[np.uint64]:
    """Hash all words that are no numbers; of syllables without spaces between them, each two neighbours."""
    tokens = terms.tokens
    if not np.count_nonzero(tokens.syllables):
        return terms.hashes[~tokens.numbers]
    pairs = tokens.syllables[:-1] & tokens.syllables[1:]
    return np.concatenate((terms.hashes[~tokens.numbers & ~tokens.syllables], terms.shingles(2)[pairs]))
