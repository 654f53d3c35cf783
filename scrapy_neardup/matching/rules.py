"""The rules: two texts are alike by one of `likenesses`, and the new one repeats the stored by all `demands`.

Each number (J: a Jaccard similarity) names what it is for: a set and a label of docs/quality.md, or a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Of n pairs float[n], int[n] or bool[n].
Figures: TypeAlias = NDArray[np.floating[Any]]
Counts: TypeAlias = NDArray[np.integer[Any]]
Truths: TypeAlias = NDArray[np.bool_]

#: J that is asked of a pair, by the tokens of the shorter text; between the two lengths it falls in a
#: straight line. Pages of one template that differ in names are short (short_texts, 0; senate_press, 2).
LENGTHS = (120, 320)
JACCARDS = (0.85, 0.62)
#: Or, in a longer text, so much of the shorter one is in the other, as when a paragraph was cut or added
#: (senate_press, 3); less is enough if no number differs and they are not of one site (consent_comments, 3).
CONTAINED, MOSTLY_CONTAINED = 0.94, 0.88
#: Containment that is asked of a shorter text, a note, in which no number differs (short_texts, 3).
BRIEF = 0.86
#: Pages of two sites are of no common template, and copies bring the boilerplate of their site along: this
#: containment is enough; less if so many words of titles are equal (derived_syndication_multi, 2).
ELSEWHERE, TITLED_CONTAINED, TITLED = 0.75, 0.6, 4
#: The J that is asked of texts of which one contains the other, which so has not much else besides.
CONTAINED_JACCARD = 0.3
#: A text of so many tokens may have one number substituted, rounded, and twice as many if it is contained
#: (senate_press, 2); on two sites half of its numbers may be others (derived_syndication, 2).
TOKENS_A_NUMBER, ELSEWHERE_NUMBERS = 300, 0.5
#: If they are not known to be of one site, so many numbers count as one text's, of more the share
#: (wiki_versions, j5 .6 to .7).
MANY_NUMBERS = 24
#: So many words and figures of the short lines may be substituted on one site, dates and counts, and one more
#: for so many tokens (short_texts, 3; ota_recrawl_html, 2).
VALUES, TOKENS_A_VALUE = 1, 500
#: At least this share of the new text is in the stored one; if less is, the new one is fuller. Copies bring
#: boilerplate of their site along (derived_syndication, 2); on one site what is new is new (SECURITY.md), and
#: a note under an introduction that all pages have is another page (hard_wrapped, 0). However long the text
#: is, it adds so many tokens at most: a sentence (a page of documentation, one release later).
KNOWN, KNOWN_OF_ONE_SITE, ADDED = 0.6, 0.85, 20
#: The new text has at least this share of the length of the stored one: a page that holds several others
#: does not stand for them (short_texts, 2). With the same title it may be shorter (derived_syndication, 3).
SHORTER, SHORTER_TITLED = 0.52, 0.4
#: Of texts of which less contains each other, none of the rules holds that makes them anything.
LEAST_CONTAINED = min(TITLED_CONTAINED, KNOWN)
#: Where less than this share of the runs of a text is distinct, it may be a list of a few values, such as
#: wins. J has to be above that of two lists drawn at random by BEYOND_CHANCE, five times the error
#: of its estimate, and by BEYOND_CHANCE_RUNS divided by the distinct runs (tests/matching/test_rules.py).
LISTS, BEYOND_CHANCE, BEYOND_CHANCE_RUNS = 0.85, 0.15, 20
#: For random lists: which share of all possible runs they hold, and which share of their own is distinct.
_HELD = np.linspace(0.001, 0.999, 999)
_SHARES = -_HELD / np.log1p(-_HELD)


class Evidence(NamedTuple):
    """What is known of n pairs of texts: arrays of n, or single values for all."""

    #: Estimated J, and share of the shorter text that is in the longer one.
    jaccard: Figures
    containment: Figures
    #: Tokens of the shorter text.
    tokens: Counts
    #: Share of the new text that is in the stored one; its length as a multiple of the stored one's; how many
    #: tokens, or words of short lines, it has that the stored one lacks, at least, by lengths and samples.
    known: Figures
    length: Figures
    added: Figures
    #: Whether the texts are alike `beyond_chance`, and known to be of one site, or of two.
    varied: Truths
    one_site: Truths
    two_sites: Truths
    #: How many numbers of the text were substituted, and how many there are in the one with fewer.
    substituted: Figures
    numbers: Figures
    #: Words of the title that has fewer; whether each has words that the other lacks, and whether any has.
    titled: Counts
    title: Truths
    retitled: Truths
    #: How many figures and words of the short lines were substituted; halves for words of a note.
    values: Figures

    @property
    def same_title(self) -> Truths:
        """Whether the pages of two sites have the same words for a title."""
        same: Truths = (self.titled >= TITLED) & ~self.title
        return self.two_sites & same


class Rule(NamedTuple):
    """What a rule says of n pairs of candidates."""

    name: str
    #: What it asks of each pair: float[n], or one for all.
    asked: Any
    #: Which pairs keep it: bool[n].
    holds: Truths
    #: How many numbers may be substituted in texts that are alike by it: float[n], or one for all.
    numbers: Any = np.inf


def jaccard_asked(tokens: Counts) -> Figures:
    """Return the J that is asked of pairs, by the tokens of the shorter text; float64[n]."""
    return np.interp(tokens, LENGTHS, JACCARDS)


def likenesses(pairs: Evidence) -> tuple[Rule, ...]:
    """Return the rules by any of which two texts are alike, if no more numbers are substituted."""
    jaccard, contained = pairs.jaccard, pairs.containment
    # The date may be all that tells one note from another.
    long = pairs.tokens >= LENGTHS[0]
    usual = jaccard_asked(pairs.tokens)
    elsewhere = np.where(pairs.same_title, TITLED_CONTAINED, ELSEWHERE)
    few, half = pairs.tokens / TOKENS_A_NUMBER, (pairs.numbers + 1) * ELSEWHERE_NUMBERS
    few = few * np.where(pairs.one_site, 1, np.maximum(pairs.numbers / MANY_NUMBERS, 1))
    part = jaccard >= CONTAINED_JACCARD
    mostly = part & long & ~pairs.one_site & (contained >= MOSTLY_CONTAINED)
    brief = part & ~long & (pairs.values <= VALUES)
    return (
        Rule("alike", usual, jaccard >= usual, 0.5 + few),
        Rule("within", CONTAINED, part & long & (contained >= CONTAINED), 0.5 + 2 * few),
        Rule("mostly_within", MOSTLY_CONTAINED, mostly, 0),
        Rule("brief", BRIEF, brief & (contained >= BRIEF), 0),
        Rule("elsewhere", elsewhere, part & pairs.two_sites & (contained >= elsewhere), half),
    )


def demands(pairs: Evidence) -> tuple[Rule, ...]:
    """Return the rules that are asked of a copy besides, all of them."""
    # A title may have grown over the very same text, by the name of the site.
    grown = pairs.retitled & (pairs.jaccard < 1)
    other_title = pairs.one_site & (pairs.titled > 0) & (pairs.title | grown)
    values = VALUES + pairs.tokens // TOKENS_A_VALUE
    known = np.where(pairs.one_site, KNOWN_OF_ONE_SITE, KNOWN)
    length = np.where(pairs.same_title, SHORTER_TITLED, SHORTER)
    return (
        Rule("title", 0, ~other_title),
        Rule("short_lines", values, ~pairs.one_site | (pairs.values <= values)),
        Rule("known", known, pairs.known >= known),
        Rule("length", length, pairs.length >= length),
        Rule("added", ADDED, ~pairs.one_site | (pairs.added <= ADDED)),
    )


class Findings(NamedTuple):
    """What n pairs are: bool[n] each. A pair is at most one of the first three."""

    #: Near-duplicates; new texts that have most of the stored one, and more.
    near: Truths
    fuller: Truths
    #: Pages of one template: the sentences of near-duplicates, but not their title, numbers or other values.
    template: Truths
    #: Those of them that differ in nothing but their titles: such a text may be boilerplate of the site.
    text_only: Truths


def verify(pairs: Evidence, told: dict[str, Any] | None = None) -> Findings:
    """Judge n pairs; what rules ask, and which has decided, is added to *told* as docs/scrapy.md names it."""
    any_of, all_of = likenesses(pairs), demands(pairs)
    copies = [rule.holds & (pairs.substituted <= rule.numbers) for rule in any_of]
    similar = reduce(or_, [rule.holds for rule in any_of])
    copy = reduce(or_, copies) & pairs.varied
    title, short_lines, known, length, added = (rule.holds for rule in all_of)
    page = copy & title & short_lines
    if told is not None:
        told.update({f"{rule.name}_asked": np.round(rule.asked, 6) for rule in (*any_of, *all_of)})
        told.update({rule.name: rule.holds for rule in any_of})
        names = ("similarity", "variety", "numbers", *(rule.name for rule in (*all_of, *any_of)))
        refused = [~similar, ~pairs.varied, ~copy, *(~rule.holds for rule in all_of)]
        told["decided_by"] = np.select([*refused, *copies], names, "")
    return Findings(
        page & known & length & added,
        page & ~(known & added) & (pairs.length > 1) & (pairs.containment >= all_of[2].asked),
        similar & pairs.varied & ~page,
        copy & known & length & ~title,
    )


def beyond_chance(runs: Sequence[Counts], shingles: Sequence[Counts], jaccard: Figures) -> Truths:
    """Tell which pairs of texts resemble each other by more than chance, if they do.

    *runs* count the shingles of both texts, *shingles* the distinct ones. Two lists of the same few values,
    drawn at random, share all that can be made of these: how much that is tells the list that repeats more.
    """
    shares = [own / of for own, of in zip(shingles, runs, strict=True)]
    enough: Truths = np.minimum(*shares) >= LISTS
    allowed = np.minimum(
        *(own / np.interp(-share, -_SHARES, _HELD) for own, share in zip(shingles, shares, strict=True))
    )
    one, other = (np.minimum(own / allowed, 1) for own in shingles)
    by_chance = one * other / (one + other - one * other)
    asked: Figures = by_chance + BEYOND_CHANCE + BEYOND_CHANCE_RUNS / np.maximum(np.minimum(*shingles), 1)
    return enough | (jaccard >= asked)
