"""Two texts side by side: whether one repeats the other, and why."""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from scrapy_neardup.fingerprint.filters import NUMBERS
from scrapy_neardup.matching.records import entries
from scrapy_neardup.matching.sites import UNKNOWN
from scrapy_neardup.matching.variety import beyond_chance, counts

from .pairs.judge import PairJudge
from .thresholds import apart, asked

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

    verdict: Literal["exact", "near", "fuller", "template", "different", "too_short", "wall"]
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
    why = [*_candidates(facts, shared, settings), *_evidence(facts, records, shared, settings)]
    if found.near[0]:
        return facts._replace(verdict="near", why=why)
    if found.fuller[0]:
        return facts._replace(
            verdict="fuller", why=[*why, "The first has most of the second, and too much else to repeat it."]
        )
    if found.template[0]:
        return facts._replace(
            verdict="template", why=[*why, "So they are pages of one template, filled with other values."]
        )
    if settings.verified and (said := apart(judge.told(0, 1))):
        why.append(f"The first is {said}.")
    return facts._replace(why=why)


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


def _evidence(facts: Explanation, records: Any, shared: int, settings: AuditOptions) -> Iterator[str]:
    if not settings.verified:
        return
    tokens = min(facts.tokens)
    sites = records["site"].tolist()
    known = UNKNOWN not in sites
    elsewhere = known and sites[0] != sites[1]
    place = " on two sites" if elsewhere else ""
    yield (
        f"Their similarity is {facts.similarity:.2f}; of texts of {tokens} tokens{place} "
        f"{float(asked(tokens, elsewhere=elsewhere)):.2f} is asked as a rule, "
        f"less where one contains the other, which it does by {facts.containment:.2f}."
    )
    one, other = map(counts, records)
    same_runs = settings.loaded_scheme.has_same_runs(np.array(shared))
    if not beyond_chance(one, other, np.array(facts.similarity), same_runs):
        yield "A text that says the same few words again and again is compared for equality only."
    if facts.numbers:
        yield f"About {facts.substituted:.0f} of {facts.numbers:.0f} numbers were replaced by others."
    if known:
        where = "two sites, where less is asked" if elsewhere else "one site, where templates are"
        yield f"They are from {where}."


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
