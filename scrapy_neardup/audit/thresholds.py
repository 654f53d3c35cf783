"""What is asked of two texts to be near-duplicates, in figures and in words; which ones are only parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.matching.rules import (
    ELSEWHERE,
    ELSEWHERE_CONTAINED,
    ELSEWHERE_REBATE,
    JACCARDS,
    LENGTHS,
    enough_elsewhere,
    jaccard_asked,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.matching.candidates import Judgement

    from .pairs.compare import PairJudge

#: A text that is less alike than is asked as a rule, but has this share of its own in the other, is a part.
#: It is at most this long, as a share of the other: that is much else.
PART, LENGTH = ELSEWHERE_CONTAINED[0], 0.8


def asked(tokens: NDArray[np.integer] | int, *, elsewhere: bool = False) -> NDArray[np.float64]:
    """Return the Jaccard similarity asked as a rule, of texts of which the shorter has so many *tokens*.

    Less is asked of texts that are known to be *elsewhere*, on two sites.
    """
    usual = jaccard_asked(np.asarray(tokens))
    return enough_elsewhere(usual) if elsewhere else usual


def parts(
    judge: PairJudge, pages: NDArray[np.int64], kept: NDArray[np.int64], judgement: Judgement
) -> NDArray[np.bool_]:
    """Tell which of *pages* are contained in a page that is *kept* and has much else around it.

    Both are rows, int64[m] each, and *judgement* is what *judge* said of them. Returns bool[m].
    """
    if not judge.matcher.verified:
        return np.zeros(len(pages), bool)
    tokens = judge.documents.records["tokens"]
    shorter = tokens[pages] <= LENGTH * tokens[kept]
    contained = (judgement.similarity < asked(tokens[pages])) & (judgement.containment >= PART)
    found: NDArray[np.bool_] = judgement.near & ~judgement.exact & shorter & contained
    return found


def in_words(least: float) -> str:
    """Say what is asked of near-duplicates, beside the *least* similarity that the user asks for."""
    rules = (
        f"similarity {JACCARDS[1]:.0%} of texts of {LENGTHS[1]} tokens or more, up to {JACCARDS[0]:.0%} of "
        f"those of {LENGTHS[0]}; between sites {ELSEWHERE_REBATE:.0%} less, {ELSEWHERE:.0%} at least; "
        f"also less of a text that is contained in the other"
    )
    return f"{rules}; {least:.0%} of all" if least else rules
