"""The rules: which candidates are near-duplicates, by what their two signatures say of each other.

There are two steps. First: are the two texts alike, whichever came first? Second: does the new one bring next
to nothing that the stored one lacks? Only then it is a near-duplicate. docs/quality.md has the evidence for
the thresholds. J is the Jaccard similarity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: J that is asked of a pair, by the tokens of the shorter text; between the two lengths it falls in a
#: straight line. Pages of one template that differ in their names are short, and as similar as copies are.
LENGTHS = (120, 320)
JACCARDS = (0.85, 0.62)
#: A text of so many tokens may have one number substituted, one of twice as many two, and so on. On one site,
#: which is where templates are, it takes more tokens.
TOKENS_A_NUMBER = 300
TOKENS_A_NUMBER_OF_ONE_SITE = 1000
#: Counts of substituted numbers are estimates; this much is their error.
ROUNDING = 0.5
#: Instead of the J above: so much of the shorter text is in the other, as when a paragraph was cut or added,
#: and J is at least this.
CONTAINED = (0.94, 0.3)
#: Or somewhat less of it is in the other, and no number was substituted: containment and J.
MOSTLY_CONTAINED = (0.88, 0.4)
#: Pages of two sites are of no common template, and copies bring the boilerplate of their site along. So one
#: of these is enough for a pair of two sites: this J, or this containment with this J.
ELSEWHERE = 0.5
ELSEWHERE_CONTAINED = (0.75, 0.25)
#: But of a short text J is asked at most this much less than on one site.
ELSEWHERE_REBATE = 0.1
#: And this share of the numbers must be in both.
ELSEWHERE_NUMBERS = 0.5
#: Of a story that was updated under its title it may be less, if few were substituted: one in so many
#: tokens, and so many in all. Forecasts, draws and prices of two sites, under one title, have more of them.
UPDATED_NUMBERS, TOKENS_AN_UPDATED_NUMBER, MOST_UPDATED_NUMBERS = 0.35, 70, 5
#: How many values of the short lines may be substituted on one site before it is another page, by how many
#: values there are; in between, a straight line. Dates, counts of comments and the like change on one page,
#: too. Of the words of a title none may be substituted.
VALUED, VALUES = (20, 60), (1.5, 2.7)
#: So many words may one title have that the other lacks, such as the name of the site; and if there are more,
#: so many shingles may stand in the place of others: those with one edited word.
RETITLED, EDITED = 2.5, 5
#: Longer texts have more short lines. For each thousand tokens above this one more value may be substituted.
VALUES_LONG = 2000
#: On one site so many shingles may stand in the place of others, and this many more for each token: some
#: words that were edited here and there. A note under an introduction that all pages have is more than that.
REPLACED = (20, 0.02)
#: Where nothing else than that tells two texts from each other, the new one is no page of a template, but an
#: edition: it has sentences of its own, which the next edition may repeat. It has at least so many tokens for
#: each number: the cells of timetables are in another order, too.
TOKENS_A_NUMBER_OF_AN_EDITION = 20
#: On one site its short lines may have so many values that those of the stored page lack, and this many more
#: for each token: counts, dates, a menu. The entries of a list, below a text that all lists have, are more.
ADDED = (20, 0.2)
#: A note that is shorter than the lengths above: containment and J, where no number was substituted, and at
#: most so many values of short lines.
BRIEF, BRIEF_VALUES = (0.86, 0.45), 1.5
#: Of pairs of two sites whose titles have the same words, at least so many, this containment is enough.
TITLED, TITLED_CONTAINED = 4, 0.6
#: Second step: at least this share of the new text is in the stored one. If less is, the new one is fuller.
#: On one site it is by the tokens of the shorter text: a sentence more is much of a note, and a fifth of an
#: article is more than that. In between, a straight line.
KNOWN, KNOWN_LENGTHS, KNOWN_OF_ONE_SITE = 0.6, (120, 320), (0.7, 0.85)
#: And the new text is at least so long, as a share of the stored one: a page that holds several others does
#: not stand for them.
SHORTER, SHORTER_OF_ONE_SITE = 0.55, 0.7
SHORTER_BRIEF, SHORTER_TITLED = 0.52, 0.4
#: The containment and J asked by each rule that looks at containment, by the name that `verify` gives the
#: rule.
CONTAINMENTS = {"within": CONTAINED, "mostly_within": MOSTLY_CONTAINED, "elsewhere": ELSEWHERE_CONTAINED}
#: What can decide about a pair of candidates, in the order in which it is asked: what keeps two texts apart,
#: then the rules by which one repeats the other.
DECIDING = (
    "similarity", "variety", "numbers", "title", "short_lines", "other_text", "known", "length",
    "alike", "within", "mostly_within", "brief", "elsewhere",
)  # fmt: skip


_NONE = np.zeros(())


class Evidence(NamedTuple):
    """What is known of n pairs of texts: arrays of n, or single values for all."""

    #: Estimated Jaccard similarity, and share of the shorter text that is in the longer one.
    jaccard: NDArray[np.floating]
    containment: NDArray[np.floating]
    #: How many numbers of the text were substituted, and how many there could be, see `Filter.substituted`.
    substituted: NDArray[np.floating]
    numbers: NDArray[np.floating]
    #: Tokens of the shorter text.
    tokens: NDArray[np.integer]
    #: Share of the new text that is in the stored one; length of the new one as a multiple of the stored
    #: one's.
    known: NDArray[np.floating]
    length: NDArray[np.floating]
    #: Whether the texts are alike `beyond_chance`.
    varied: NDArray[np.bool_]
    #: Whether the texts are known to be of one site, and known to be of two.
    one_site: NDArray[np.bool_]
    two_sites: NDArray[np.bool_]
    #: How many words of the title were substituted, and how many there could be.
    title: NDArray[np.floating] = _NONE
    titled: NDArray[np.floating] = _NONE
    #: How many words the one title has that the other lacks; of the two numbers the greater.
    retitled: NDArray[np.floating] = _NONE
    #: How many values of the short lines, numbers and words, were substituted, and how many there could be.
    values: NDArray[np.floating] = _NONE
    valued: NDArray[np.floating] = _NONE
    #: How many values of its short lines the new page has that the stored one lacks.
    added: NDArray[np.floating] = _NONE
    #: How many shingles of each text stand in the place of others, as if all were of words.
    replaced: NDArray[np.floating] = _NONE


class Findings(NamedTuple):
    """What n pairs are: bool[n] each. A pair is at most one of the first three."""

    #: Near-duplicates.
    near: NDArray[np.bool_]
    #: The new text has most of the stored one, and more.
    fuller: NDArray[np.bool_]
    #: Pages of one template: the sentences of near-duplicates, but not their title, numbers or other values.
    template: NDArray[np.bool_]
    #: Those pages of a template that would be near-duplicates if it were not for their titles. Such a text
    #: may be boilerplate of the site.
    text_only: NDArray[np.bool_]


def jaccard_asked(tokens: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the J that is asked of pairs, by the tokens of the shorter text: int[n] to float64[n]."""
    asked: NDArray[np.float64] = np.interp(tokens, LENGTHS, JACCARDS)
    return asked


def enough_elsewhere(asked: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the J that is enough of pairs of two sites, where this is *asked* on one; float64[n]."""
    enough: NDArray[np.float64] = np.minimum(asked, np.maximum(ELSEWHERE, asked - ELSEWHERE_REBATE))
    return enough


def verify(pairs: Evidence, told: dict[str, Any] | None = None) -> Findings:
    """Judge n pairs of candidates.

    The thresholds that apply to each pair, and the rules that it meets, are added to *told*: arrays of n, by
    the names that docs/scrapy.md explains.
    """
    jaccard, contained = pairs.jaccard, pairs.containment
    asked = jaccard_asked(pairs.tokens)
    forgiven = pairs.tokens / np.where(pairs.one_site, TOKENS_A_NUMBER_OF_ONE_SITE, TOKENS_A_NUMBER)
    alike = jaccard >= asked
    # Not in short texts: the date may be all that tells two notes from each other, and is little of them.
    long = pairs.tokens >= LENGTHS[0]
    within = long & (contained >= CONTAINED[0]) & (jaccard >= CONTAINED[1])
    mostly = long & (contained >= MOSTLY_CONTAINED[0]) & (jaccard >= MOSTLY_CONTAINED[1])
    # Two notes say the same if no number was substituted, and hardly a word.
    brief = (
        ~long & (contained >= BRIEF[0]) & (jaccard >= BRIEF[1])
        & (pairs.substituted <= ROUNDING) & (pairs.values <= BRIEF_VALUES)
    )  # fmt: skip
    titled = pairs.two_sites & (pairs.titled >= TITLED) & (pairs.title == 0)
    contained_asked = np.where(titled, TITLED_CONTAINED, ELSEWHERE_CONTAINED[0])
    elsewhere = pairs.two_sites & (
        (jaccard >= enough_elsewhere(asked))
        | (contained >= contained_asked) & (jaccard >= ELSEWHERE_CONTAINED[1])
    )
    shared_numbers = (pairs.numbers - pairs.substituted + 1) / (pairs.numbers + 1)
    few = np.minimum(pairs.tokens / TOKENS_AN_UPDATED_NUMBER, MOST_UPDATED_NUMBERS)
    updated = titled & (pairs.substituted <= ROUNDING + few)
    numbers_asked = np.where(updated, UPDATED_NUMBERS, ELSEWHERE_NUMBERS)
    copies = (
        (alike & (pairs.substituted <= ROUNDING + forgiven))
        | (within & (pairs.substituted <= ROUNDING + 2 * forgiven))
        | (mostly & (pairs.substituted <= ROUNDING))
        | brief
        | (elsewhere & (shared_numbers >= numbers_asked))
    )
    beyond = np.maximum(pairs.tokens, VALUES_LONG) - VALUES_LONG  # not below 0: tokens are unsigned
    values_forgiven = np.interp(pairs.valued, VALUED, VALUES) + beyond / TOKENS_A_NUMBER_OF_ONE_SITE
    replaced_forgiven = REPLACED[0] + REPLACED[1] * pairs.tokens
    added_forgiven = ADDED[0] + ADDED[1] * pairs.tokens
    # A print version has another title over the same text, a page of a template another title and text.
    retitled = (pairs.title > 0) | (
        (pairs.titled > 0) & (pairs.retitled > RETITLED) & (pairs.replaced > EDITED)
    )
    other_text = pairs.one_site & (pairs.replaced > replaced_forgiven)
    filled = pairs.one_site & (retitled | (pairs.values > values_forgiven) | (pairs.added > added_forgiven))
    other_page = filled | other_text
    worded = pairs.numbers * TOKENS_A_NUMBER_OF_AN_EDITION <= pairs.tokens
    edition = copies & other_text & worded & ~filled
    template = (brief | alike | within | mostly | elsewhere) & ~(copies & ~other_page) & ~edition
    known_asked = np.where(pairs.one_site, np.interp(pairs.tokens, KNOWN_LENGTHS, KNOWN_OF_ONE_SITE), KNOWN)
    known = pairs.known >= known_asked
    least = np.where(pairs.one_site, SHORTER_OF_ONE_SITE, SHORTER)
    least = np.where(brief, SHORTER_BRIEF, np.where(titled, SHORTER_TITLED, least))
    whole = copies & known & (pairs.length >= least) & pairs.varied
    if told is not None:
        told.update(
            jaccard_asked=asked,
            substituted_forgiven=ROUNDING + forgiven,
            values_forgiven=values_forgiven,
            added_forgiven=added_forgiven,
            replaced_forgiven=replaced_forgiven,
            known_asked=known_asked,
            length_asked=least,
            alike=alike,
            within=within,
            mostly_within=mostly,
            brief=brief,
            elsewhere=elsewhere,
            decided_by=np.select(
                [
                    ~(brief | alike | within | mostly | elsewhere), ~pairs.varied, ~copies,
                    pairs.one_site & retitled, filled, other_text, ~known, pairs.length < least,
                    alike & (pairs.substituted <= ROUNDING + forgiven),
                    within & (pairs.substituted <= ROUNDING + 2 * forgiven),
                    mostly & (pairs.substituted <= ROUNDING), brief,
                ],
                DECIDING[:-1], DECIDING[-1],
            ),
        )  # fmt: skip
    return Findings(
        whole & ~other_page,
        copies & ~other_page & ~known & (pairs.length > 1) & pairs.varied,
        template & pairs.varied,
        whole & pairs.one_site & retitled,
    )
