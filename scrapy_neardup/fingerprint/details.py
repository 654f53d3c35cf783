"""The values in the short lines of a page: figures such as 19.99, 08:15 or 2031-05-07, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .murmur import mix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .terms import Terms

#: Tokens of a main text up to which its words count as those of short lines do: a note is made of values.
FEW = 200
#: Bytes of the tokens of which a figure that stands alone says little, as in "5 minutes ago" and "12 comments".
_SMALL = 2
_SPACE = 32
_TWICE = np.uint64(0x5BD1E9955BD1E995)


def figures(terms: Terms) -> NDArray[np.uint64]:
    """Hash the figures of *terms*: uint64[n]. Each comes as two values, a small number that stands alone as one.

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
    return np.concatenate((hashes, mix(hashes[~small] ^ _TWICE)))


def words(terms: Terms, short: Terms) -> NDArray[np.uint64]:
    """Return the hashes of the words in *short* lines, and of those in main *terms* that are few: uint64[n]."""
    hashes = short.hashes[~short.tokens.numbers]
    if terms.count > FEW:
        return hashes
    return np.concatenate((hashes, terms.hashes[~terms.tokens.numbers]))
