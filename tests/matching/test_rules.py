"""The rules: how alike texts must be, what allows less, what is a template, and what brings nothing new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.matching.rules import (
    JACCARDS,
    KNOWN,
    KNOWN_OF_ONE_SITE,
    LENGTHS,
    SHORTER,
    SHORTER_OF_ONE_SITE,
    TITLED,
    Evidence,
    Findings,
    verify,
)

SHARE = st.floats(0, 1, width=32)
#: Jaccard, containment, numbers of the text with fewer, how many of these were substituted, tokens, sites.
PAIR = st.tuples(
    SHARE,
    SHARE,
    st.integers(0, 30),
    st.floats(0, 1),
    st.integers(0, 3000),
    st.sampled_from(["one", "two", ""]),
)


def evidence(
    *pairs: tuple[float, float, int, float, int, str],
    known: float = 1,
    length: float = 1,
    varied: bool = True,
    **lines: float,
) -> Evidence:
    """Pairs of which, unless said otherwise, the new text is all in the stored one, as long, and varied."""
    jaccard, containment, numbers, share, tokens, sites = (
        np.array(column) for column in zip(*pairs, strict=True)
    )
    new = (np.full(len(pairs), value) for value in (known, length, varied))
    return Evidence(
        jaccard, containment, numbers * share, numbers, tokens, *new, sites == "one", sites == "two",
        **{name: np.full(len(pairs), value) for name, value in lines.items()},
    )  # fmt: skip


def one(
    jaccard: float,
    contained: float = 0,
    *,
    tokens: int = 600,
    substituted: float = 0,
    numbers: int = 10,
    sites: str = "",
    known: float = 1,
    length: float = 1,
    varied: bool = True,
    **lines: float,
) -> str:
    share = substituted / max(numbers, 1)
    pair = (jaccard, contained, numbers, share, tokens, sites)
    found = verify(evidence(pair, known=known, length=length, varied=varied, **lines))
    assert {(each.dtype, each.shape) for each in found} == {(np.dtype(bool), (1,))}
    kinds = [name for name, each in zip(Findings._fields, found, strict=True) if each[0]]
    return " ".join(kinds) or "other"


def asked(tokens: int) -> float:
    """The straight line between the two points of the rule."""
    (short, long), (high, low) = LENGTHS, JACCARDS
    share = min(max((tokens - short) / (long - short), 0), 1)
    return high + share * (low - high)


@pytest.mark.parametrize("tokens", [40, 100, 120, 150, 200, 250, 300, 320, 5000])
@pytest.mark.parametrize("sites", ["one", ""])
def test_short_texts_must_be_more_alike(tokens: int, sites: str) -> None:
    assert one(asked(tokens) + 0.005, tokens=tokens, sites=sites) == "near"
    assert one(asked(tokens) - 0.005, tokens=tokens, sites=sites) == "other"


def test_the_line_starts_high_and_ends_low() -> None:
    assert one(0.84, tokens=60) == "other"
    assert one(0.86, tokens=60) == "near"
    assert one(0.60, tokens=5000) == "other"
    assert one(0.63, tokens=5000) == "near"


@pytest.mark.parametrize(
    ("tokens", "sites", "forgiven"),
    [(300, "", 1.5), (900, "", 3.5), (900, "one", 1.4), (3000, "one", 3.5), (60, "", 0.7), (60, "one", 0.56)],
)
def test_so_many_numbers_may_be_substituted(tokens: int, sites: str, forgiven: float) -> None:
    assert one(0.95, tokens=tokens, substituted=forgiven - 0.01, sites=sites) == "near"
    assert one(0.95, tokens=tokens, substituted=forgiven + 0.01, sites=sites) == "template"


def test_a_text_that_is_in_the_other_is_a_copy_unless_it_is_short() -> None:
    assert one(0.31, 0.95) == "near"
    assert one(0.29, 0.95) == "other"
    assert one(0.31, 0.93) == "other"
    assert one(0.31, 0.95, tokens=LENGTHS[0]) == "near"
    assert one(0.31, 0.95, tokens=LENGTHS[0] - 1) == "other"
    # Twice the numbers are forgiven it.
    assert one(0.5, 0.95, substituted=4.4) == "near"
    assert one(0.5, 0.95, substituted=4.6) == "template"


def test_a_text_that_is_mostly_in_the_other_is_a_copy_if_no_number_differs() -> None:
    assert one(0.41, 0.89) == "near"
    assert one(0.39, 0.89) == "other"
    assert one(0.41, 0.87) == "other"
    assert one(0.41, 0.89, substituted=0.5) == "near"
    assert one(0.41, 0.89, substituted=0.6) == "template"
    assert one(0.41, 0.89, tokens=LENGTHS[0] - 1) == "other"


def test_less_is_asked_on_different_sites() -> None:
    assert one(0.27, 0.76, sites="two") == "near"
    assert one(0.24, 0.76, sites="two") == "other"
    assert one(0.26, 0.74, sites="two") == "other"
    for tokens in (60, 200, 260, 600):
        least = max(0.5, asked(tokens) - 0.1)
        assert one(least + 0.005, tokens=tokens, sites="two") == "near"
        assert one(least - 0.005, tokens=tokens, sites="two") == "other"
    # Half of the numbers have to be in both.
    assert one(0.58, substituted=5.4, sites="two") == "near"
    assert one(0.58, substituted=5.6, sites="two") == "template"
    assert one(0.95, tokens=200, substituted=5.4, sites="two") == "near"
    assert one(0.95, tokens=200, substituted=5.4) == "template"


@given(st.lists(PAIR, min_size=1, max_size=20))
def test_many_are_judged_as_one_by_one_and_none_is_both(
    pairs: list[tuple[float, float, int, float, int, str]],
) -> None:
    found = verify(evidence(*pairs))
    assert (np.sum(found, axis=0) <= 1).all()
    for row, pair in enumerate(pairs):
        assert [each[0] for each in verify(evidence(pair))] == [each[row] for each in found]


@given(PAIR, SHARE, SHARE, st.floats(0, 1), st.integers(0, 3000))
def test_more_evidence_never_makes_a_copy_less_of_one(
    pair: tuple[float, float, int, float, int, str], more: float, contained: float, fewer: float, longer: int
) -> None:
    """That is: more in common, fewer numbers substituted, longer texts judged in the same way, two sites."""
    jaccard, containment, numbers, share, tokens, _ = pair
    if tokens < LENGTHS[0]:  # notes, of which every word is known
        longer = min(longer, LENGTHS[0] - 1)
    better = (
        max(jaccard, more), max(containment, contained), numbers, min(share, fewer), max(tokens, longer)
    )  # fmt: skip
    ranks = []
    for sites in ("one", "", "two"):
        (near,), *_ = verify(evidence((jaccard, containment, numbers, share, tokens, sites)))
        (still,), *_ = verify(evidence((*better, sites)))
        assert still or not near
        ranks.append(bool(near))
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("sites", "known", "shorter"),
    [("one", KNOWN_OF_ONE_SITE[1], SHORTER_OF_ONE_SITE), ("", KNOWN, SHORTER), ("two", KNOWN, SHORTER)],
)
def test_a_copy_brings_next_to_nothing_new_and_is_not_one_of_several(
    sites: str, known: float, shorter: float
) -> None:
    assert one(0.9, known=known + 0.01, length=1.2, sites=sites) == "near"
    assert one(0.9, known=known - 0.01, length=1.2, sites=sites) == "fuller"
    # What is new in a text that is not longer stands in place of something else.
    assert one(0.9, known=known - 0.01, length=1, sites=sites) == "other"
    assert one(0.9, length=shorter + 0.01, sites=sites) == "near"
    assert one(0.9, length=shorter - 0.01, sites=sites) == "other"
    # Of pages of one template none is dropped anyhow.
    assert one(0.95, substituted=9, known=known - 0.01, length=1.2, sites=sites) == "template"


def test_the_longer_a_page_of_one_site_the_less_of_it_may_be_new() -> None:
    """A fifth of an article is an answer to it, or another entry of a list; of a note it is a sentence."""
    for tokens, known in ((40, 0.7), (120, 0.7), (220, 0.775), (320, 0.85), (3000, 0.85)):
        assert one(0.9, tokens=tokens, sites="one", known=known + 0.001, length=1.2) == "near"
        assert one(0.9, tokens=tokens, sites="one", known=known - 0.001, length=1.2) == "fuller"
        assert one(0.9, tokens=tokens, sites="two", known=KNOWN + 0.001, length=1.2) == "near"


@pytest.mark.parametrize("sites", ["one", "", "two"])
def test_texts_of_a_few_words_again_and_again_resemble_nothing(sites: str) -> None:
    assert one(1, 1, sites=sites) == "near"
    assert one(1, 1, sites=sites, varied=False) == "other"


def test_another_title_on_one_site_is_another_page() -> None:
    same = {"titled": 5.0, "title": 0.0}
    other = {"titled": 5.0, "title": 0.3}
    assert one(0.99, 1, sites="one", **same) == "near"
    assert one(0.99, 1, sites="one", **other) == "template text_only"
    assert one(0.99, 1, sites="two", **other) == "near"
    assert one(0.99, 1, **other) == "near"
    # Numbers make it another page as well, and the text is not all that they have in common.
    assert one(0.99, 1, sites="one", substituted=8, **other) == "template"
    assert one(0.2, 0.3, sites="one", **other) == "other"


def test_a_title_that_grew_over_another_text_on_one_site_is_another_page() -> None:
    grown = {"titled": 4.0, "title": 0.0, "retitled": 2.6}
    assert one(0.9, 0.95, sites="one", **grown, replaced=5.1) == "template text_only"
    # The name of the site may stand behind the title of the same text, and a word more be an edit.
    assert one(0.9, 0.95, sites="one", **grown, replaced=4.9) == "near"
    assert one(0.9, 0.95, sites="one", **{**grown, "retitled": 2.4}, replaced=5.1) == "near"
    assert one(0.9, 0.95, sites="two", **grown, replaced=5.1) == "near"
    assert one(0.9, 0.95, **grown, replaced=5.1) == "near"
    # What has no title may be the same page in another form.
    assert one(0.9, 0.95, sites="one", **{**grown, "titled": 0.0}, replaced=5.1) == "near"


def test_a_passage_in_the_place_of_another_makes_another_page_of_one_site() -> None:
    for tokens, forgiven in ((300, 26), (1000, 40)):
        assert one(0.9, 0.95, sites="one", tokens=tokens, replaced=forgiven - 1) == "near"
        assert one(0.9, 0.95, sites="one", tokens=tokens, replaced=forgiven + 1) == "other"
        assert one(0.9, 0.95, sites="two", tokens=tokens, replaced=forgiven + 1) == "near"


def test_what_is_told_by_more_than_a_passage_is_of_a_template() -> None:
    edition: dict[str, Any] = {"sites": "one", "tokens": 1000, "replaced": 41}
    assert one(0.9, 0.95, **edition, numbers=50) == "other"
    assert one(0.9, 0.95, **edition, numbers=51) == "template"  # a table
    assert one(0.9, 0.95, **edition, substituted=8) == "template"
    assert one(0.9, 0.95, **edition, valued=60, values=4) == "template"
    assert one(0.9, 0.95, **edition, added=221) == "template"
    assert "template" in one(0.9, 0.95, **edition, titled=3, title=1)


@pytest.mark.parametrize(("valued", "forgiven"), [(0, 1.5), (20, 1.5), (40, 2.1), (60, 2.7), (500, 2.7)])
def test_so_many_values_of_short_lines_may_be_substituted_on_one_site(valued: float, forgiven: float) -> None:
    for values, kind in ((forgiven - 0.01, "near"), (forgiven + 0.01, "template")):
        assert one(0.99, 1, sites="one", valued=valued, values=values) == kind
        assert one(0.99, 1, sites="two", valued=valued, values=values) == "near"
        assert one(0.99, 1, valued=valued, values=values) == "near"
    assert one(0.99, 1, sites="one", valued=valued, values=forgiven + 9, tokens=12_000) == "near"
    assert one(0.99, 1, sites="one", valued=valued, values=forgiven + 9, tokens=10_000) == "template"


@pytest.mark.parametrize(("tokens", "forgiven"), [(60, 32), (200, 60), (1000, 220)])
def test_so_many_values_of_short_lines_may_be_added_on_one_site(tokens: int, forgiven: float) -> None:
    for added, kind in ((forgiven - 0.01, "near"), (forgiven + 0.01, "template")):
        assert one(0.99, 1, sites="one", tokens=tokens, added=added) == kind
        assert one(0.99, 1, sites="two", tokens=tokens, added=added) == "near"
        assert one(0.99, 1, tokens=tokens, added=added) == "near"


@pytest.mark.parametrize("sites", ["one", "two", ""])
def test_a_note_may_be_cut_or_extended_if_no_number_and_hardly_a_word_was_substituted(sites: str) -> None:
    note = {"tokens": LENGTHS[0] - 1, "sites": sites}
    assert one(0.46, 0.87, **note, values=1.5, substituted=0.5) == "near"
    if sites != "two":  # where as much is enough in any case
        assert one(0.46, 0.87, **note, values=1.6) == "other"
        assert one(0.46, 0.87, **note, substituted=0.6) == "other"
        assert one(0.46, 0.85, **note) == "other"
        assert one(0.44, 0.87, **note) == "other"
        assert one(0.46, 0.87, tokens=LENGTHS[0], sites=sites) == "other"
    assert one(0.46, 0.87, **note, length=0.53) == "near"
    assert one(0.46, 0.87, **note, length=0.51) == "other"


def test_less_is_asked_on_different_sites_under_one_title() -> None:
    assert one(0.26, 0.61, sites="two", titled=TITLED) == "near"
    assert one(0.26, 0.61, sites="two", titled=TITLED - 0.5) == "other"
    assert one(0.26, 0.61, sites="two", titled=TITLED, title=0.3) == "other"
    assert one(0.24, 0.61, sites="two", titled=TITLED) == "other"
    assert one(0.26, 0.59, sites="two", titled=TITLED) == "other"
    assert one(0.26, 0.61, sites="", titled=TITLED) == "other"
    assert one(0.9, sites="two", titled=TITLED, length=0.41) == "near"
    assert one(0.9, sites="two", titled=TITLED, length=0.39) == "other"
    assert one(0.9, sites="two", titled=TITLED, known=KNOWN - 0.01, length=1.5) == "fuller"


def below(value: float) -> float:
    return float(np.nextafter(value, -1))


@pytest.mark.parametrize(
    ("rule", "jaccard", "contained", "sites", "tokens", "lines"),
    [
        ("alike", 0.62, 0, "", 600, {}),
        ("within", 0.3, 0.94, "", 600, {}),
        ("mostly_within", 0.4, 0.88, "", 600, {}),
        ("brief", 0.45, 0.86, "", 40, {}),
        ("elsewhere", 0.52, 0, "two", 600, {}),
        ("elsewhere", 0.25, 0.75, "two", 600, {}),
        ("elsewhere", 0.25, 0.6, "two", 600, {"titled": 4}),
    ],
)
def test_what_is_asked_is_enough_and_less_is_not(
    rule: str, jaccard: float, contained: float, sites: str, tokens: int, lines: dict[str, float]
) -> None:
    """Of the similarity and the containment that each rule asks for, nothing may be missing."""

    def holds(jaccard: float, contained: float, **other: float) -> bool:
        told: dict[str, np.ndarray] = {}
        verify(evidence((jaccard, contained, 10, 0, tokens, sites), **{**lines, **other}), told)
        return bool(told[rule][0])

    assert holds(jaccard, contained)
    assert not holds(below(jaccard), contained)
    assert not contained or not holds(jaccard, below(contained))
    if lines:
        assert not holds(jaccard, contained, titled=3)
        assert not holds(jaccard, contained, title=1)


@pytest.mark.parametrize(
    ("enough", "too_little"),
    [
        ({"known": KNOWN}, {"known": below(KNOWN)}),
        ({"length": SHORTER}, {"length": below(SHORTER)}),
        ({"substituted": 4.5}, {"substituted": 4.5000001}),
        ({"sites": "one", "known": 0.85}, {"sites": "one", "known": below(0.85)}),
        ({"sites": "one", "values": 1.5, "valued": 20}, {"sites": "one", "values": 1.501, "valued": 20}),
        ({"sites": "one", "values": 2.7, "valued": 60}, {"sites": "one", "values": 2.701, "valued": 60}),
        ({"sites": "one", "replaced": 32}, {"sites": "one", "replaced": 32.001}),
        ({"sites": "one", "title": 0}, {"sites": "one", "title": 0.001}),
    ],
)
def test_what_a_copy_of_600_words_may_lack_and_no_more(
    enough: dict[str, float], too_little: dict[str, float]
) -> None:
    assert one(0.9, 0.95, **enough) == "near"  # type: ignore[arg-type]
    assert one(0.9, 0.95, **too_little) != "near"  # type: ignore[arg-type]


def test_so_many_numbers_may_be_substituted_and_no_more() -> None:
    """Half a number is the error of counting; a text of 600 words may have two more, four by containment."""
    for jaccard, contained, most in ((0.62, 0, 2.5), (0.3, 0.94, 4.5), (0.4, 0.9, 0.5)):
        assert one(jaccard, contained, substituted=most) == "near"
        assert one(jaccard, contained, substituted=most + 0.001) == "template"
    assert one(0.3, 0.94, sites="one", substituted=1.7) == "near"  # one in a thousand words
    assert one(0.3, 0.94, sites="one", substituted=1.7001) == "template"
    assert one(0.52, 0, sites="two", substituted=5.5) == "near"  # half of the numbers, with the error
    assert one(0.52, 0, sites="two", substituted=5.501) == "template"


def test_of_an_updated_story_fewer_numbers_may_be_in_both() -> None:
    """Under one title on two sites .35 of them, with the error, if few differ in so many words."""

    def updated(substituted: float, numbers: int, tokens: int, titled: float = 4, **other: float) -> str:
        return one(
            0.6,
            0.8,
            sites="two",
            substituted=substituted,
            numbers=numbers,
            tokens=tokens,
            titled=titled,
            **other,
        )

    assert updated(4.5, 6, 600) == "near"
    assert updated(4.6, 6, 600) == "template"  # too small a share
    assert updated(2, 2, 600) == "template"  # none is in both
    assert updated(5.5, 8, 350) == "near"
    assert updated(5.5, 8, 349) == "template"  # more than one in 70 words, and half a number
    assert updated(5.501, 8, 600) == "template"  # more than five, and half a number
    assert updated(5.5, 8, 600, titled=3) == "template"
    assert updated(5.5, 8, 600, title=1) == "template"
    assert one(0.7, 0.8, substituted=5.5, numbers=8, titled=4) == "template"
