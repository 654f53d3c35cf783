"""The rules: how alike texts must be, what allows less, what is a template, and what brings nothing new."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.matching.rules import (
    KNOWN,
    KNOWN_OF_ONE_SITE,
    LENGTHS,
    SHORTER,
    SHORTER_TITLED,
    TITLED,
    TOKENS_A_NUMBER,
    TOKENS_A_VALUE,
    VALUES,
    Evidence,
    Findings,
    likenesses,
    verify,
)

#: Two texts of 600 words that have everything in common; the new one is all in the stored one, and as long.
SAME: dict[str, Any] = {
    **dict.fromkeys(("jaccard", "containment", "known", "length"), 1.0),
    **dict.fromkeys(("substituted", "title", "titled", "retitled", "values"), 0),
    "tokens": 600,
    "numbers": 10,
    "varied": True,
}
SITES = {"one": (True, False), "two": (False, True), "": (False, False)}
SHARE = st.floats(0, 1, width=32)
PAIRS = st.fixed_dictionaries(
    {
        **dict.fromkeys(("jaccard", "containment", "known"), SHARE),
        **dict.fromkeys(("substituted", "title", "titled", "retitled", "values"), st.integers(0, 6)),
        "length": st.floats(0.25, 4, width=32),
        "tokens": st.integers(40, 3000),
        "numbers": st.integers(6, 30),
        "varied": st.booleans(),
        "sites": st.sampled_from([*SITES]),
    }
)


def evidence(*pairs: dict[str, Any]) -> Evidence:
    rows = []
    for pair in pairs:
        one_site, two_sites = SITES[pair.get("sites", "")]
        row = {**SAME, **pair, "one_site": one_site, "two_sites": two_sites}
        rows.append([row[name] for name in Evidence._fields])
    return Evidence(*(np.array(column) for column in zip(*rows, strict=True)))


def one(**pair: Any) -> str:
    found = verify(evidence(pair))
    assert {(each.dtype, each.shape) for each in found} == {(np.dtype(bool), (1,))}
    return " ".join(name for name, each in zip(Findings._fields, found, strict=True) if each[0]) or "other"


def decided_by(**pair: Any) -> str:
    told: dict[str, Any] = {}
    verify(evidence(pair), told)
    return str(told["decided_by"][0])


def below(value: float) -> float:
    return float(np.nextafter(value, -1))


@given(st.lists(PAIRS, min_size=1, max_size=20))
def test_many_are_judged_as_one_by_one_and_none_is_two_things(pairs: list[dict[str, Any]]) -> None:
    found = verify(evidence(*pairs))
    assert (np.sum(found[:3], axis=0) <= 1).all()
    assert not (found.text_only & ~found.template).any()
    for row, pair in enumerate(pairs):
        assert [each[0] for each in verify(evidence(pair))] == [each[row] for each in found]


@given(PAIRS, SHARE, SHARE, SHARE, st.integers(0, 6), st.integers(0, 3000))
def test_more_evidence_never_makes_a_copy_less_of_one(
    pair: dict[str, Any], jaccard: float, containment: float, known: float, fewer: int, longer: int
) -> None:
    """That is: more in common, fewer numbers and values substituted, longer texts."""
    if pair["tokens"] < LENGTHS[0]:  # notes, of which every word is known
        longer = min(longer, LENGTHS[0] - 1)
    better = pair | {
        "jaccard": max(pair["jaccard"], jaccard),
        "containment": max(pair["containment"], containment),
        "known": max(pair["known"], known),
        "substituted": min(pair["substituted"], fewer),
        "values": min(pair["values"], fewer),
        "tokens": max(pair["tokens"], longer),
    }
    assert one(**pair) != "near" or one(**better) == "near"


@given(PAIRS)
def test_what_has_decided_is_told_by_its_name(pair: dict[str, Any]) -> None:
    told: dict[str, Any] = {}
    verify(evidence(pair), told)
    decided = str(told["decided_by"][0])
    near = one(**pair) == "near"
    assert near == (decided in {rule.name for rule in likenesses(evidence(pair))})
    assert decided in ("similarity", "variety", "numbers") or f"{decided}_asked" in told
    assert not near or told[decided][0]


def test_so_many_numbers_may_be_substituted() -> None:
    for jaccard, containment, tokens, most, sites in (
        (0.7, 0, 2 * TOKENS_A_NUMBER, 2, ""),
        (0.7, 0, TOKENS_A_NUMBER, 1, ""),
        (0.5, 0.95, 2 * TOKENS_A_NUMBER, 4, ""),
        (0.5, 0.9, 2 * TOKENS_A_NUMBER, 0, ""),
        (0.5, 0.9, 100, 0, ""),
        (0.58, 0, 600, 5, "two"),  # half of ten, and half of one
    ):
        pair = {"jaccard": jaccard, "containment": containment, "tokens": tokens, "sites": sites}
        assert one(substituted=most, **pair) == "near"
        assert one(substituted=most + 1, **pair) == "template"
        assert decided_by(substituted=most + 1, **pair) == "numbers"


def test_on_one_site_title_short_lines_and_text_are_those_of_the_page() -> None:
    for other, kind in (
        ({"title": 1, "titled": 5}, "template text_only"),
        ({"retitled": 1, "titled": 5, "jaccard": 0.95}, "template text_only"),
        ({"values": VALUES + 600 // TOKENS_A_VALUE + 1}, "template"),
    ):
        assert one(sites="one", **other) == kind  # type: ignore[arg-type]
        assert one(sites="two", **other) == "near"  # type: ignore[arg-type]
        assert one(**other) == "near"  # type: ignore[arg-type]
    # The name of the site may stand behind the title of the same text; what has no title may be another form.
    assert one(sites="one", retitled=3, titled=5) == "near"
    assert one(sites="one", retitled=3, titled=0, jaccard=0.9) == "near"
    assert one(sites="one", values=VALUES + 600 // TOKENS_A_VALUE) == "near"


def test_a_copy_brings_next_to_nothing_new_and_is_not_one_of_several() -> None:
    for sites in SITES:
        known = KNOWN_OF_ONE_SITE if sites == "one" else KNOWN
        assert one(known=known, length=1.2, sites=sites) == "near"
        assert one(known=below(known), length=1.2, sites=sites) == "fuller"
        # What is new in a text that is not longer stands in place of something else.
        assert one(known=below(known), length=1, sites=sites) == "other"
        assert one(length=SHORTER, sites=sites) == "near"
        assert one(length=below(SHORTER), sites=sites) == "other"
        assert one(varied=False, sites=sites) == "other"
    assert one(length=SHORTER_TITLED, titled=TITLED, sites="two") == "near"
    assert one(length=below(SHORTER_TITLED), titled=TITLED, sites="two") == "other"
