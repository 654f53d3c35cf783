"""Values: what is a figure, a word, an occasion; how those of two texts are compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.terms import Terms
from scrapy_neardup.fingerprint.tokens import tokenise
from scrapy_neardup.fingerprint.values import FEW, compare, figures, occasion, pack, words


def terms(text: str) -> Terms:
    return Terms.of_each([tokenise(text)], 0)[0]


def entered(text: str) -> set[int]:
    return set(figures(terms(text)).tolist())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0), ("no number", 0), ("12 comments", 1), ("x", 0), ("19.99", 1), ("2031-05-07", 1),
        ("08:15", 1), ("08:15 09:40", 2), ("a1b2c3", 1), ("12\n30", 2), ("12  30", 2), ("12 30", 2),
    ],
)  # fmt: skip
def test_numbers_with_a_sign_between_them_are_one_figure(text: str, count: int) -> None:
    assert len(entered(text)) == count


def test_the_order_of_its_numbers_tells_a_figure_from_others() -> None:
    same = [entered(text) for text in ("08:15", "at 08.15 sharp", "(08-15)")]
    assert same[0] == same[1] == same[2]
    assert not entered("08:15") & entered("15:08")
    assert not entered("08:15") & (entered("08") | entered("15"))
    assert not entered("1.2.3") & entered("1.3.2")


@given(st.lists(st.from_regex(r"[0-9]{1,4}([.:-][0-9]{1,4}){0,3}", fullmatch=True), max_size=8))
def test_figures_are_entered_one_by_one(texts: list[str]) -> None:
    assert entered(" , ".join(texts)) == set().union(*map(entered, texts))


def test_words_of_a_note_count_those_of_an_article_do_not() -> None:
    short = terms("red wheel 7")
    note, article = terms("rain water"), terms(" ".join(f"w{n}ord" for n in range(FEW + 1)))
    assert set(words(note, short).tolist()) == {*terms("red wheel rain water").hashes.tolist()}
    assert set(words(article, short).tolist()) == {*terms("red wheel").hashes.tolist()}


def test_of_syllables_two_make_a_word() -> None:
    kana = words(terms(" ".join("word" for _ in range(FEW + 1))), terms("とうきょう 大 7"))
    assert len(kana) == 5
    assert not np.isin(kana, words(terms("x " * 200), terms("うとょきう"))).any()


def told(*lines: str) -> set[int]:
    return set(occasion("\n".join(lines), 0).tolist())


@pytest.mark.parametrize(
    "line",
    ["24 november 2031, 15:00 - 19:00", "mon 24/11/2031 | 15:00–19:00 | town hall", "15:00-19:00 on 24.11.",
     "24. november, 15:00 — 19:00 uhr", "9:30 ~ 10:15 am, 24 nov"],
)  # fmt: skip
def test_the_date_and_hours_of_an_occasion_are_one_value(line: str) -> None:
    assert len(told(line)) == 1
    assert told("harvest fair", line, "town hall", "25 november 2031, 15:00 - 19:00") == told(line)
    for other in (line.replace("24", "25"), line.replace("15", "16")):
        assert not told(line) & told(other)


def test_what_divides_the_parts_of_an_occasion_says_nothing() -> None:
    assert told("24 november 2031, 15:00 - 19:00") == told("(24 november 2031) 15:00–19:00")


def test_hours_alone_go_with_the_line_before_them() -> None:
    assert told("fair", "24 november", "15:00 - 19:00") == told("24 november 15:00 - 19:00")
    assert not told("24 november", "15:00 - 19:00") & told("1 december", "15:00 - 19:00")
    assert len(told("15:00 - 19:00")) == 1


@pytest.mark.parametrize(
    "line",
    ["", "updated 24 november 2031, 15:00", "19.99 - 24.99", "15:00", "2031-11-24", "15:73 - 19:00",
     "115:00 - 19:00", "15:00 - 19:001", "1:15:00 - 1:19:00", "rooms 7 - 12"],
)  # fmt: skip
def test_other_lines_tell_of_no_occasion(line: str) -> None:
    assert not told(line)


VALUES = st.sets(st.integers(1, 40), max_size=12)


@given(VALUES, st.lists(VALUES, min_size=1, max_size=4), st.integers(1, 14))
def test_values_are_compared_as_sets_in_the_range_that_both_have_kept(
    new: set[int], stored: list[set[int]], most: int
) -> None:
    def packed(values: set[int]) -> np.ndarray:
        hashes = np.array([*values], np.uint64) << np.uint64(48)
        return np.frombuffer(pack(hashes, most), "<u2")

    found = compare(packed(new), np.stack([packed(each) for each in stored]))
    for row, other in enumerate(stored):
        kept = [{*sorted(values)[-most:]} for values in (new, other)]
        least = max((min(values) for values in kept if len(values) == most), default=0)
        mine, theirs = ({value for value in values if value >= least} for values in kept)
        assert (found.added[row], found.lacking[row]) == (len(mine - theirs), len(theirs - mine))
        assert found.fewer[row] == min(len(mine), len(theirs))
        assert found.substituted[row] == min(len(mine - theirs), len(theirs - mine))
