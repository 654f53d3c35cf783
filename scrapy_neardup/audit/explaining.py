"""Two texts side by side: whether one repeats the other, and why."""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.fingerprint.filters import NUMBERS
from scrapy_neardup.matching.records import entries
from scrapy_neardup.matching.rules import BRIEF, CONTAINMENTS, enough_elsewhere

from .pairs import PairJudge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .documents import Document
    from .settings import AuditOptions

_WORD = re.compile(r"\w+")
#: Words of both texts up to which frequent ones are matched, too, and words of each that are compared at all:
#: the time grows with the square.
_THOROUGH, _LONGEST = 4_000, 20_000


class Explanation(NamedTuple):
    """What is known of two texts."""

    #: "exact", "near", "fuller", "template", "different", "too_short" or "wall".
    verdict: str
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
    found, records = judge.judge(a, b), documents.records
    missing, numbers = NUMBERS.substituted(records["numbers"][a], records["numbers"][b])
    shorter, tokens = int(records["tokens"].min()), (int(records["tokens"][0]), int(records["tokens"][1]))
    kinds = ("exact", "near", "fuller", "template")
    verdict = next((kind for kind in kinds if getattr(found, kind)[0]), "different")
    if shorter < settings.min_tokens:
        verdict, why = "too_short", [f"A text of less than {settings.min_tokens} tokens is not judged."]
    elif any(each.wall for each in signatures):
        verdict, why = "wall", ["It reads like a captcha, a cookie notice, a log-in form or an error page."]
    elif verdict == "exact":
        why = ["The normalised texts are equal."]
    else:
        why = [*_reasons(judge, int(found.distance[0]))]
    return Explanation(
        verdict, why, int(found.distance[0]), float(found.similarity[0]), float(found.containment[0]),
        float(missing[0]), float(numbers[0]), tokens,
    )  # fmt: skip


def _reasons(judge: PairJudge, distance: int) -> Iterator[str]:
    scheme, verified = judge.matcher.scheme, judge.matcher.verified
    if scheme.simhash:
        within = "within" if distance <= scheme.distance else "beyond"
        yield f"The fingerprints differ in {distance} of 64 bits, {within} the {scheme.distance} looked up."
    if scheme.keys:
        shared = judge.shared(np.array([0]), np.array([1]))[0]
        yield f"They share {shared} of {scheme.keys} {'long shingles' if scheme.simhash else 'bands'}."
    if told := judge.told(0, 1):
        yield (
            f"The first is {reason(told)}."
            if verified
            else "That is enough where candidates are not verified."
        )
        if verified and told["one_site"]:
            yield "They are from one site, where templates are."
        elif verified and told["two_sites"]:
            yield "They are from two sites, where less is asked."


def reason(told: dict[str, Any]) -> str:
    """Say what decided about two texts, by what `Matcher.explain` has *told* of them."""
    by, jaccard, asked = told["decided_by"], told["jaccard"], told["jaccard_asked"]
    rule = float(enough_elsewhere(asked) if told["two_sites"] else asked)
    alike = f"similarity {jaccard:.2f}, containment {told['containment']:.2f}"
    enough = "{}, where {:.2f} and {:.2f} are enough".format(alike, *CONTAINMENTS.get(by, BRIEF)[1::-1])
    lines = f"of {told['valued']:.0f} values of them about {told['values']:.0f} are others"
    if told["values"] <= told["values_forgiven"]:
        lines = f"about {told['added']:.0f} values are new, where {told['added_forgiven']:.0f} may be"
    said = {
        "similarity": f"not alike enough: {alike}, where {rule:.2f} is asked as a rule",
        "variety": "not alike beyond chance: a text of the same few words is compared for equality only",
        "numbers": f"alike but for other numbers, as pages of a template: {max(told['substituted'], 1):.0f} "
        f"of {told['numbers']:.0f} substituted",
        "title": f"alike but for the title, as pages of a template: of {told['titled']:.0f} words of it "
        f"about {told['title']:.0f} are others, and one title has {told['retitled']:.0f} more",
        "short_lines": f"alike but for the short lines, as pages of a template: {lines}",
        "other_text": f"another page of the site: about {told['replaced']:.0f} of its runs of words stand in "
        f"the place of others, where {told['replaced_forgiven']:.0f} may",
        "known": f"{'fuller' if told['length'] > 1 else 'more than a copy'}: {told['known']:.0%} of it is in "
        f"the stored one, where {told['known_asked']:.0%} is asked",
        "length": f"a part: {told['length']:.0%} as long as the stored one, where {told['length_asked']:.0%} "
        "is asked",
        "alike": f"alike enough: similarity {jaccard:.2f}, where {asked:.2f} is asked",
        "within": f"contained in the other: {enough}",
        "mostly_within": f"mostly contained in the other: {enough} if no number is another",
        "brief": f"a note that was cut or extended: {enough} if no number is another",
        "elsewhere": f"alike enough for two sites: {alike}",
    }
    return said[by]


def differences(one: str, other: str) -> Iterator[str]:
    """Yield what is in *one* alone (- …) and in *other* alone (+ …), in their order.

    Words are compared, whatever their case. Of long texts the beginning is compared.
    """
    a, b = ([*islice(_WORD.finditer(text), _LONGEST)] for text in (one, other))
    words, others = ([match[0].casefold() for match in matches] for matches in (a, b))
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=len(a) + len(b) > _THOROUGH)
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        sides = (("-", one, a[start:stop]), ("+", other, b[other_start:other_stop]))
        for mark, text, changed in sides if kind != "equal" else ():
            if changed:
                yield f"{mark} {' '.join(text[changed[0].start() : changed[-1].end()].split())}"
