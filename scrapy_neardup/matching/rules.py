"""Which candidates are near-duplicates, from what two signatures say of each other: docs/quality.md has the evidence.

Two steps: whether two texts are alike, whichever came first; and whether the new one brings next to nothing that the
stored one lacks. Only then it is a near-duplicate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Length of the shorter text, in tokens, and the Jaccard similarity asked of it; in between, a straight line. Pages
#: of one template whose names differ are short, and as similar as copies are.
LENGTHS = (120, 320)
JACCARDS = (0.85, 0.62)
#: One substituted number is forgiven for so many tokens, fewer on one site, which is where templates are. Half a
#: number is the error of the estimate.
TOKENS_A_NUMBER = 300
TOKENS_A_NUMBER_OF_ONE_SITE = 1000
ROUNDING = 0.5
#: Or so much of the shorter text is in the other, as when a paragraph was cut or added, and J is at least this ...
CONTAINED = (0.94, 0.3)
#: ... or somewhat less of it, and no number was substituted.
MOSTLY_CONTAINED = (0.88, 0.4)
#: On different sites copies bring boilerplate along, and templates are not shared: J, or containment and J ...
ELSEWHERE = 0.5
ELSEWHERE_CONTAINED = (0.75, 0.25)
#: ... while J is asked at most this much less of a short text, and this share of the numbers is in both.
ELSEWHERE_REBATE = 0.1
ELSEWHERE_NUMBERS = 0.5
#: Values in short lines, and with more than how many substituted ones it is another page of one site; in between, a
#: straight line. Dates, counts of comments and the like change on one page, too. A word of the title does not.
VALUED, VALUES = (20, 60), (1.5, 2.7)
#: Tokens from which on the headings of a text change with it: for every thousand beyond another one is forgiven.
VALUES_LONG = 2000
#: On one site, so many shingles may stand in the place of others, and for each token this many more: some words that
#: were edited here and there. A note of a few sentences under an introduction that all pages have is more.
REPLACED = (20, 0.02)
#: Of notes of less than `LENGTHS[0]` tokens: containment and J, where no number and at most so many other words were substituted.
BRIEF, BRIEF_VALUES = (0.86, 0.45), 1.5
#: On different sites, under a title of the same words, of which there are so many at least: containment and J.
TITLED, SAME_TITLE = 4, (0.6, 0.3)
#: This share of the new text is in the stored one at least: the rest is boilerplate, or it is a fuller text. And the
#: new text is at least this share of the stored one: a page that holds several others does not stand for them.
KNOWN, KNOWN_OF_ONE_SITE = 0.6, 0.7
SHORTER, SHORTER_OF_ONE_SITE = 0.55, 0.7
SHORTER_BRIEF, SHORTER_TITLED = 0.52, 0.4
#: Distinct shingles of a text, and how many of its runs of so many words are distinct at least; in between, straight
#: lines. Lists of a few values, such as wins and losses, have all that can be made of them in common. An extractor
#: that took an article twice leaves half.
RUN = 5
DISTINCT = (30, 60, 900, 1100)
VARIETIES = (0.8, 0.6, 0.6, 0.45)

#: The containment and J that the rules ask for which look at containment, by the names that `verify` tells them by.
CONTAINMENTS = {"within": CONTAINED, "mostly_within": MOSTLY_CONTAINED, "elsewhere": ELSEWHERE_CONTAINED}


_NONE = np.zeros(())


class Evidence(NamedTuple):
    """What is known of n pairs of texts; arrays of n, or single values for all."""

    #: Jaccard similarity and containment, see `sketch.similarity`.
    jaccard: NDArray[np.floating]
    containment: NDArray[np.floating]
    #: How many numbers were substituted, of how many, see `numbers.substituted`.
    substituted: NDArray[np.floating]
    numbers: NDArray[np.floating]
    #: Tokens of the shorter text.
    tokens: NDArray[np.integer]
    #: Share of the new text that is in the stored one; length of the new one as a multiple of the stored one's.
    known: NDArray[np.floating]
    length: NDArray[np.floating]
    #: Whether both are `varied`.
    varied: NDArray[np.bool_]
    #: Whether the texts are known to be of one site, and known to be of two.
    one_site: NDArray[np.bool_]
    two_sites: NDArray[np.bool_]
    #: How many words of the title were substituted, of how many.
    title: NDArray[np.floating] = _NONE
    titled: NDArray[np.floating] = _NONE
    #: How many values of the short lines, numbers and words, of how many.
    values: NDArray[np.floating] = _NONE
    valued: NDArray[np.floating] = _NONE
    #: How many shingles of each text stand in the place of others.
    replaced: NDArray[np.floating] = _NONE


class Findings(NamedTuple):
    """What n pairs are, at most one of these: bool[n] each."""

    #: Near-duplicates.
    near: NDArray[np.bool_]
    #: The new text has most of the stored one, and more.
    fuller: NDArray[np.bool_]
    #: Pages of one template: the sentences of near-duplicates, but not their title, numbers or other values.
    template: NDArray[np.bool_]
    #: Those among them that would be near-duplicates but for title and short lines: the text may be the site's.
    text_only: NDArray[np.bool_]


def varied(tokens: NDArray[np.integer], shingles: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which texts are varied enough to resemble others by more than chance; bool[n], counts int[n]."""
    runs = np.maximum(np.asarray(tokens, np.int64) - (RUN - 1), 1)
    return np.asarray(shingles >= runs * np.interp(shingles, DISTINCT, VARIETIES))


def verify(pairs: Evidence, told: dict[str, Any] | None = None) -> Findings:
    """Judge candidates.

    What has decided is added to *told*, by the names under which docs/scrapy.md explains it: arrays of n.
    """
    jaccard, contained = pairs.jaccard, pairs.containment
    asked = np.interp(pairs.tokens, LENGTHS, JACCARDS)
    forgiven = pairs.tokens / np.where(pairs.one_site, TOKENS_A_NUMBER_OF_ONE_SITE, TOKENS_A_NUMBER)
    alike = jaccard >= asked
    # In a note of a few lines the date may be all that differs, and it is not contained in the other.
    long = pairs.tokens >= LENGTHS[0]
    within = long & (contained >= CONTAINED[0]) & (jaccard >= CONTAINED[1])
    mostly = long & (contained >= MOSTLY_CONTAINED[0]) & (jaccard >= MOSTLY_CONTAINED[1])
    # Where no number was substituted, and hardly a word, the note says the same.
    brief = (
        ~long & (contained >= BRIEF[0]) & (jaccard >= BRIEF[1])
        & (pairs.substituted <= ROUNDING) & (pairs.values <= BRIEF_VALUES)
    )  # fmt: skip
    titled = pairs.two_sites & (pairs.titled >= TITLED) & (pairs.title == 0)
    elsewhere = pairs.two_sites & (
        (jaccard >= np.minimum(asked, np.maximum(ELSEWHERE, asked - ELSEWHERE_REBATE)))
        | (contained >= ELSEWHERE_CONTAINED[0]) & (jaccard >= ELSEWHERE_CONTAINED[1])
        | titled & (contained >= SAME_TITLE[0]) & (jaccard >= SAME_TITLE[1])
    )
    shared_numbers = (pairs.numbers - pairs.substituted + 1) / (pairs.numbers + 1)
    copies = (
        (alike & (pairs.substituted <= ROUNDING + forgiven))
        | (within & (pairs.substituted <= ROUNDING + 2 * forgiven))
        | (mostly & (pairs.substituted <= ROUNDING))
        | brief
        | (elsewhere & (shared_numbers >= ELSEWHERE_NUMBERS))
    )
    beyond = np.maximum(pairs.tokens, VALUES_LONG) - VALUES_LONG  # unsigned
    values_forgiven = np.interp(pairs.valued, VALUED, VALUES) + beyond / TOKENS_A_NUMBER_OF_ONE_SITE
    replaced_forgiven = REPLACED[0] + REPLACED[1] * pairs.tokens
    other_page = pairs.one_site & (
        (pairs.title > 0) | (pairs.values > values_forgiven) | (pairs.replaced > replaced_forgiven)
    )
    template = (brief | alike | within | mostly | elsewhere) & ~(copies & ~other_page)
    known = pairs.known >= np.where(pairs.one_site, KNOWN_OF_ONE_SITE, KNOWN)
    least = np.where(pairs.one_site, SHORTER_OF_ONE_SITE, SHORTER)
    least = np.where(brief, SHORTER_BRIEF, np.where(titled, SHORTER_TITLED, least))
    whole = copies & known & (pairs.length >= least) & pairs.varied
    if told is not None:
        told.update(
            jaccard_asked=asked,
            substituted_forgiven=ROUNDING + forgiven,
            values_forgiven=values_forgiven,
            replaced_forgiven=replaced_forgiven,
            known_asked=np.where(pairs.one_site, KNOWN_OF_ONE_SITE, KNOWN),
            length_asked=least,
            alike=alike,
            within=within,
            mostly_within=mostly,
            brief=brief,
            elsewhere=elsewhere,
        )
    return Findings(
        whole & ~other_page,
        copies & ~other_page & ~known & (pairs.length > 1) & pairs.varied,
        template & pairs.varied,
        whole & pairs.one_site & (pairs.title > 0),
    )
