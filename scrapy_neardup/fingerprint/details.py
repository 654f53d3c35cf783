"""The values in the short lines of a page: figures such as 19.99, 08:15 or 2031-05-07, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .murmur import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .terms import Terms

#: Tokens of a main text up to which its words count as those of short lines do: a note is made of values.
FEW = 120
#: Bytes of the tokens of which a figure that stands alone says little, as in "5 minutes ago" and "12 comments".
_SMALL = 2
_SPACE = 32
#: As how many values any other figure is entered.
WEIGHT = 3


def figures(terms: Terms) -> NDArray[np.uint64]:
    """Hash the figures of *terms*: uint64[n]. Each makes `WEIGHT` values, a small number that stands alone only one.

    Numbers with a single sign between them are one figure.
    """
    tokens = terms.tokens
    places = np.flatnonzero(tokens.numbers)
    if not len(places):
        return np.empty(0, np.uint64)
    starts, ends = tokens.starts[places], tokens.ends[places]
    data = np.frombuffer(tokens.data, np.uint8)
    joined = np.zeros(len(places), np.bool_)
    joined[1:] = (starts[1:] - ends[:-1] == 1) & (data[ends[:-1]] > _SPACE)
    first = np.flatnonzero(~joined)
    # Which number of its figure each is, for their order counts.
    rank = np.arange(len(places)) - np.repeat(first, np.diff(first, append=len(places)))
    hashes = np.add.reduceat(mix(terms.hashes[places] + rank.astype(np.uint64)), first)
    alone = np.diff(first, append=len(places)) == 1
    small = alone & ((ends - starts)[first] <= _SMALL)
    more = [mix(hashes[~small] + np.uint64(number)) for number in range(1, WEIGHT)]
    return np.concatenate((hashes, *more))


def words(terms: Terms, short: Terms) -> NDArray[np.uint64]:
    """Return the hashes of the words in *short* lines, and of those in main *terms* that are few: uint64[n]."""
    few = [short, terms] if terms.count <= FEW else [short]
    return np.concatenate([_words(each) for each in few])


def _words(terms: Terms) -> NDArray[np.uint64]:
    """Hash all words, and of syllables without spaces between them each two neighbours."""
    tokens = terms.tokens
    if not tokens.syllables.any():
        return terms.hashes[~tokens.numbers]
    pairs = tokens.syllables[:-1] & tokens.syllables[1:]
    return np.concatenate((terms.hashes[~tokens.numbers & ~tokens.syllables], terms.shingles(2)[pairs]))
