"""The values in the short lines of a page: figures such as 19.99, 08:15 or 2031-05-07, and words.

The line that says when something takes place counts as several of them: it is all that tells one performance
of a play, or one meeting of a club, from the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import regex

from .murmur import constant, hash_slices, mix
from .tokens import tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .terms import Terms

#: The words of a main text of at most so many tokens count as those of short lines do: notes differ in them.
FEW = 120
#: A number of at most so many bytes that stands alone says little, as in "5 minutes ago" and "12 comments".
_SMALL = 2
_SPACE = 32
#: Each other figure makes so many entries.
WEIGHT = 3
#: The line about an occasion counts as so many figures.
OCCASION = 5
#: Hours from and to, as of no date of publication: 15:00 - 19:00.
_HOURS = regex.compile(
    r"(?<![\d:.])(?:[01]?\d|2[0-4]):[0-5]\d ?[-\u2010-\u2015~\u301C] ?(?:[01]?\d|2[0-4]):[0-5]\d(?![\d:])"
)
_MORE = np.arange(1, WEIGHT, dtype=np.uint64)[:, np.newaxis]
_PARTS = np.arange(OCCASION * WEIGHT, dtype=np.uint64)[:, np.newaxis]
_ONE = constant(1)


def figures(terms: Terms) -> NDArray[np.uint64]:
    """Hash the figures of *terms*; uint64[n].

    A figure is a run of numbers with a single sign between them. Each makes `WEIGHT` values, but a small
    number that stands alone makes only one.
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
    hashes = np.add.reduceat(mix(hashes + (before << _ONE)), first)
    small = ~joined[1:].take(first) & ((ends - starts).take(first) <= _SMALL)
    more = hashes[~small] + _MORE
    return np.concatenate((hashes, mix(more.ravel())))


def occasion(text: str, seed: int) -> NDArray[np.uint64]:
    """Hash the first of the short lines that has hours from and to, as they are of one occasion; uint64[n].

    *text* are the normalised short lines. A line of hours alone goes with the one before it. There are
    `OCCASION` × `WEIGHT` hashes, or none if no line has hours.
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
    whole = hash_slices(data, np.array([0]), np.array([len(data)]), seed)
    parts = whole + _PARTS
    return mix(parts.ravel())


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
