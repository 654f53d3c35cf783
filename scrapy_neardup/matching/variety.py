"""Whether texts resemble each other by more than chance: lists of a few values have the same runs of words.

A run is a shingle of five words. Lists of wins and losses have all in common that can be made of two words,
whatever they say, so they are compared for equality only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .records import HALVES, QUARTERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = tuple[NDArray[np.integer], NDArray[np.integer]]

#: Words of a run, see `varied`.
RUN = 5
#: What share of the runs of a text must be distinct, by how many distinct ones there are; in between,
#: straight lines. Lists of a few values, such as wins and losses, repeat the same runs, and so resemble each
#: other. An article that the extractor took twice has half of its runs distinct.
DISTINCT = (30, 60, 900, 1100)
VARIETIES = (0.8, 0.6, 0.6, 0.45)

#: Where in one of two texts less than this share of the runs is distinct, they may be lists of a few values.
#: The other one may have been made so that each run is another one, to resemble all such lists. J has to be
#: above that of two such lists by the first of these numbers, which is five times the error of its estimate,
#: and by the second one divided by the distinct runs, since short lists vary.
LISTS, BEYOND = 0.85, (0.15, 20)
#: What share of the runs that its values allow a list of random values has, and what share of its own runs is
#: distinct then.
_HELD = np.linspace(0.001, 0.999, 999)
_SHARES = -_HELD / np.log1p(-_HELD)

#: A reference says the same of several methods, so fewer of its runs are distinct: at least this share, and
#: at least so many. Such texts are no lists of few values if they have nearly all long runs in common, too.
REPEATED, REPEATED_RUNS = 1 / 3, 60


def counts(records: NDArray[Any]) -> Counts:
    """Return the counts of the texts of *records* that the functions below ask for: int[n] each.

    The first is that of their tokens. But each character of a script without spaces begins a shingle, and two
    or four of them are one token, so in such a text the characters are counted.
    """
    return np.asarray(records["tokens"], np.int64) * characters(records), records["shingles"]


def characters(records: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many characters are a token in the texts of *records*, and so how many shingles; int[n]."""
    kinds = records["flags"]
    return np.asarray(1 + (kinds & HALVES != 0) + 3 * (kinds & QUARTERS != 0), np.int64)


def varied(tokens: NDArray[np.integer], shingles: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which texts are varied enough to resemble others by more than chance; bool[n].

    *tokens* and the distinct *shingles* are counts, int[n].
    """
    return np.asarray(shingles >= _runs(tokens) * np.interp(shingles, DISTINCT, VARIETIES))


def repeated(tokens: NDArray[np.integer], shingles: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which texts may say the same more than once, as they have much to say; bool[n].

    They resemble each other by more than chance if nearly all of their long runs agree. *tokens* and the
    distinct *shingles* are counts, int[n].
    """
    return np.asarray((shingles >= REPEATED_RUNS) & (shingles >= _runs(tokens) * REPEATED))


def beyond_chance(
    one: Counts, other: Counts, jaccard: NDArray[np.floating], same_runs: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which pairs of texts resemble each other by more than chance, if they do; bool[n].

    *one* and *other* are the counts of the tokens and of the distinct shingles of each, *jaccard* is the
    estimate of J (float[n]). *same_runs* says which pairs have nearly all long runs in common (bool[n]).
    """
    found = varied(*one) & varied(*other)
    lists = found & (np.minimum(_share(*one), _share(*other)) < LISTS)
    if lists.any():
        fewer = np.minimum(one[1], other[1])
        asked = by_chance(one, other) + BEYOND[0] + BEYOND[1] / np.maximum(fewer, 1)
        found &= ~lists | (jaccard >= asked)
    return found | same_runs & repeated(*one) & repeated(*other) if same_runs.any() else found


def by_chance(one: Counts, other: Counts) -> NDArray[np.float64]:
    """Return the J of two lists of the same values, each drawn at random; float[n].

    *one* and *other* are the counts of their tokens and of their distinct shingles. How many runs the values
    allow is told by the list that repeats its runs more.
    """
    allowed = np.minimum(_allowed(*one), _allowed(*other))
    held, also = (np.minimum(shingles / allowed, 1) for _, shingles in (one, other))
    return np.asarray(held * also / (held + also - held * also))


def _allowed(tokens: NDArray[np.integer], shingles: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return how many distinct runs the values of a list allow, by how often it repeats some; float[n]."""
    return np.asarray(shingles / np.interp(-_share(tokens, shingles), -_SHARES, _HELD))


def _share(tokens: NDArray[np.integer], shingles: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return what share of the runs is distinct; float[n]."""
    return np.asarray(shingles / _runs(tokens))


def _runs(tokens: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.maximum(np.asarray(tokens, np.int64) - (RUN - 1), 1)
