"""Two texts side by side: whether one repeats the other, and why."""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from scrapy_neardup.fingerprint.filters import NUMBERS
from scrapy_neardup.matching.records import entries
from scrapy_neardup.matching.rules import BRIEF, CONTAINMENTS, enough_elsewhere

from .pairs import PairJudge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.matching.candidates import Judgement

    from .documents import Document
    from .settings import AuditOptions

_WORD = re.compile(r"\w+")
#: Words of both texts up to which frequent ones are matched, too, and words of each that are compared at all:
#: the time grows with the square.
_THOROUGH, _LONGEST = 4_000, 20_000


_Verdict = Literal["exact", "near", "fuller", "template", "different", "too_short", "wall"]


class Explanation(NamedTuple):
    """What is known of two texts."""

    verdict: _Verdict
    #: Why, in sentences.
    why: list[str]
    #: Bits between the fingerprints.
    distance: int
    #: Estimated Jaccard similarity and containment, 0 to 1.
    similarity: float
    containment: float
    #: Numbers that each text has in place of others, about, and the numbers of the text that has fewer.
    substituted: float
    numbers: float
    #: Length of each.
    tokens: tuple[int, int]


def explain(one: Document, other: Document, settings: AuditOptions) -> Explanation:
    """Compare two documents as a crawl would, with *other* stored."""
    signatures = [settings.fingerprinter.signature(each.main) for each in (one, other)]
    documents = entries(signatures, [one.url, other.url], settings.header)
    judge = PairJudge(documents, np.ones(2, bool), settings.matcher)
    a, b = np.array([0]), np.array([1])
    found = judge.judge(a, b)
    records = documents.records
    missing, numbers = NUMBERS.substituted(records["numbers"][a], records["numbers"][b])
    tokens = (int(records["tokens"][0]), int(records["tokens"][1]))
    facts = Explanation(
        "different",
        [],
        int(found.distance[0]),
        float(found.similarity[0]),
        float(found.containment[0]),
        float(missing[0]),
        float(numbers[0]),
        tokens,
    )
    if min(tokens) < settings.min_tokens:
        return facts._replace(
            verdict="too_short", why=[f"A text of less than {settings.min_tokens} tokens is not judged."]
        )
    if signatures[0].wall or signatures[1].wall:
        return facts._replace(
            verdict="wall", why=["It reads like a captcha, a cookie notice, a log-in form or an error page."]
        )
    if found.exact[0]:
        return facts._replace(verdict="exact", why=["The normalised texts are equal."])
    shared = int(judge.shared(a, b)[0])
    told = judge.told(0, 1)
    why = [*_candidates(facts, shared, settings)]
    if told and settings.verified:
        why += [f"The first is {reason(told)}.", _place(told)]
    elif told:
        why.append("That is enough where candidates are not verified.")
    return facts._replace(verdict=_verdict(found), why=[*filter(None, why)])


def _verdict(found: Judgement) -> _Verdict:
    if found.near[0]:
        return "near"
    return "fuller" if found.fuller[0] else "template" if found.template[0] else "different"


def _candidates(facts: Explanation, shared: int, settings: AuditOptions) -> Iterator[str]:
    scheme = settings.loaded_scheme
    if scheme.simhash:
        within = "within" if facts.distance <= scheme.distance else "beyond"
        yield (
            f"The fingerprints differ in {facts.distance} of 64 bits, {within} the {scheme.distance} looked "
            "up."
        )
    if scheme.keys:
        kind = "long shingles" if scheme.simhash else "bands"
        yield f"They share {shared} of {scheme.keys} {kind}."


def _place(told: dict[str, Any]) -> str:
    if told["one_site"]:
        return "They are from one site, where templates are."
    return "They are from two sites, where less is asked." if told["two_sites"] else ""


def reason(told: dict[str, Any]) -> str:
    """Say what decided about two texts, by what `Matcher.explain` has *told* of them."""
    jaccard, containment = told["jaccard"], f"containment {told['containment']:.2f}"
    asked = float(enough_elsewhere(told["jaccard_asked"]) if told["two_sites"] else told["jaccard_asked"])
    contained = CONTAINMENTS.get(told["decided_by"], BRIEF)
    enough = (
        f"{containment} and similarity {jaccard:.2f}, where {contained[0]:.2f} and {contained[1]:.2f} are"
    )
    short_lines = f"of {told['valued']:.0f} values of the short lines about {told['values']:.0f} are others"
    if told["values"] <= told["values_forgiven"]:
        short_lines = (
            f"the short lines have about {told['added']:.0f} values that those of the stored page lack, "
            f"where {told['added_forgiven']:.0f} may be"
        )
    said = {
        "similarity": (
            f"not alike enough: similarity {jaccard:.2f}, where {asked:.2f} is asked as a rule; {containment}"
        ),
        "variety": "not alike beyond chance: a text that says the same few words again and again is compared "
        "for equality only",
        "numbers": (
            f"alike but for other numbers, as pages of a template: {max(told['substituted'], 1):.0f} of "
            f"{told['numbers']:.0f} substituted"
        ),
        "title": f"alike but for the title, as pages of a template: of {told['titled']:.0f} words of it "
        f"about {told['title']:.0f} are others, and one title has {told['retitled']:.0f} more",
        "short_lines": f"alike but for the short lines, as pages of a template: {short_lines}",
        "other_text": (
            f"another page of the site: of its runs of words about {told['replaced']:.0f} stand in the place "
            f"of others, where {told['replaced_forgiven']:.0f} may"
        ),
        "known": (
            f"{'fuller' if told['length'] > 1 else 'more than a copy'}: {told['known']:.0%} of it is in the "
            f"stored one, where {told['known_asked']:.0%} is asked"
        ),
        "length": (
            f"a part: {told['length']:.0%} as long as the stored one, where {told['length_asked']:.0%} is "
            "asked"
        ),
        "alike": f"alike enough: similarity {jaccard:.2f}, where {told['jaccard_asked']:.2f} is asked",
        "within": f"contained in the other: {enough} enough",
        "mostly_within": f"mostly contained in the other: {enough} enough where no number is another",
        "brief": f"a note that was cut or extended: {enough} enough where no number is another",
        "elsewhere": f"alike enough for two sites: similarity {jaccard:.2f}, {containment}",
    }
    return said[told["decided_by"]]


def differences(one: str, other: str) -> Iterator[str]:
    """Yield what is in *one* alone (- …) and in *other* alone (+ …), in their order.

    Words are compared, whatever their case. Of long texts the beginning is compared.
    """
    a, b = ([*islice(_WORD.finditer(text), _LONGEST)] for text in (one, other))
    words, others = ([match[0].casefold() for match in matches] for matches in (a, b))
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=len(a) + len(b) > _THOROUGH)
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        if kind != "equal":
            yield from _lines("-", one, a[start:stop])
            yield from _lines("+", other, b[other_start:other_stop])


def _lines(mark: str, text: str, words: list[re.Match[str]]) -> Iterator[str]:
    if words:
        yield f"{mark} {' '.join(text[words[0].start() : words[-1].end()].split())}"
