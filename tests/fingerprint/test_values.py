"""Values: what is a figure, a word, an occasion; how those of two texts are compared."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import Hashes, Terms, hash_tokens, mix
from scrapy_neardup.fingerprint.tokens import BETWEEN, tokenise
from scrapy_neardup.fingerprint.values import (
    FEW,
    UNITS,
    Apart,
    compare,
    figures,
    occasion,
    sketch_values,
    titles,
    words,
)


def terms(*texts: str) -> Terms:
    tokens = tokenise(BETWEEN.join(texts))
    return Terms(tokens, hash_tokens(tokens), tokens.bounds, 2)


def entered(*texts: str) -> list[set[int]]:
    return [{*each.tolist()} for each in figures(terms(*texts)).each()]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0), ("no number", 0), ("12 comments", 1), ("x", 0), ("19.99", 1), ("2031-05-07", 1),
        ("08:15", 1), ("08:15 09:40", 2), ("a1b2c3", 1), ("12\n30", 2), ("12  30", 2), ("12 30", 2),
    ],
)  # fmt: skip
def test_numbers_with_a_sign_between_them_are_one_figure(text: str, count: int) -> None:
    assert [len(each) for each in entered("7", text, "3.5")] == [1, count, 1]


def test_the_order_of_its_numbers_tells_a_figure_from_others() -> None:
    same = entered("08:15", "at 08.15 sharp", "(08-15)")
    assert same[0] == same[1] == same[2]
    assert not same[0] & {*entered("15:08")[0], *entered("08")[0], *entered("15")[0]}
    assert not entered("1.2.3")[0] & entered("1.3.2")[0]


def compared(kind: str, sketches: list[bytes]) -> Apart:
    records = np.zeros(2, [(name, "<u2", units) for name, units in UNITS.items()])
    records[kind] = np.frombuffer(b"".join(sketches), "<u2").reshape(2, -1)
    return dict(zip(UNITS, compare(*records), strict=True))[kind]


def apart(*texts: str, notes: tuple[str, str] = ("", "")) -> list[float]:
    """Return how many words each of two pages has at least that the other lacks."""
    counts = [FEW if note else FEW + 1 for note in notes]
    sketches = sketch_values("words", *words(terms(*texts), terms(*notes), counts))
    return [compared("words", each).added.item() for each in (sketches, sketches[::-1])]


def test_of_syllables_two_make_a_word() -> None:
    assert [ceil(each) for each in apart("とうきょう 大 7", "うとょきう")] == [5, 4]


def test_words_of_a_note_count_half_those_of_an_article_do_not() -> None:
    assert [round(2 * each) for each in apart("red", "red", notes=("rain water 7", "snow"))] == [2, 1]
    assert apart("red", "red") == [0, 0]


@pytest.mark.parametrize("kind", UNITS)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 400), st.integers(1, 1 << 32))
def test_values_that_two_pages_have_not_in_common_are_counted(
    kind: str, own: int, others: int, shared: int, seed: int
) -> None:
    values = mix(np.arange(seed, seed + own + shared + others, dtype=np.uint64))
    hashes = Hashes.of([values[: own + shared], values[own:]])
    found = compared(kind, sketch_values(kind, hashes))
    assert found.fewer == shared + min(own, others)
    assert found.added < own + 6
    assert found.substituted < min(own, others) + 6
    if own + others <= 4:
        assert found.added > own - 1.5
        assert abs(found.substituted - min(own, others)) <= 1.5
        assert (found.substituted > 0) == (min(own, others) > 0)


def bits(*called: str, lines: tuple[str, ...] = ()) -> list[int]:
    found = titles(terms(*called), lines or [""] * len(called), 0)
    return [int.from_bytes(each, "little") for each in found]


def test_a_title_that_contains_another_has_all_of_its_bits() -> None:
    title, longer, other, figure, swapped, none = bits(
        "red kettle", "the red kettle | shop", "red pot", "kettle 1.2", "kettle 2.1", ""
    )
    assert title & longer == title != longer
    for one, two in ((title, other), (figure, swapped)):
        assert one & two not in (one, two)
    assert not none


@pytest.mark.parametrize(
    "line",
    ["24 november 2031, 15:00 - 19:00", "mon 24/11/2031 | 15:00–19:00 | town hall", "15:00-19:00 on 24.11.",
     "nov 24, 9:15 a.m.–1 p.m.", "nov 24, 15 – 19:30 pm, town hall", "24 november\n15:00 - 19:00"],
)  # fmt: skip
def test_the_date_and_hours_of_an_occasion_are_one_value_of_the_title(line: str) -> None:
    lines = ["harvest fair", line, "town hall", "25 november 2031, 15:00 - 19:00"]
    assert occasion("\n".join(lines)) == occasion(line) != ""
    assert occasion("15:00 - 19:00")
    others = line, line.replace("24", "25"), line.replace("15", "16"), "no hours"
    *found, none = bits("fair", "fair", "fair", "fair", lines=others)
    assert all(each & none == none for each in found)
    assert len({*found, none}) == 4


@pytest.mark.parametrize(
    ("one", "other"), [("上海天气", "海上天气"), ("会议报告", "会议报告会"), ("茶", "水")]
)
def test_of_a_title_without_spaces_neighbours_make_the_words(one: str, other: str) -> None:
    first, second = bits(one, other)
    assert first
    assert second & ~first


@pytest.mark.parametrize(
    "line",
    ["", "updated 24 november 2031, 15:00", "19.99 - 24.99", "15:00", "2031-11-24", "15:73 - 19:00",
     "115:00 - 19:00", "15:00 - 19:001", "1:15:00 - 1:19:00", "rooms 7 - 12",
     "3-4 amazing pm", "2031-11-24 am", "19.99-24.99 pm"],
)  # fmt: skip
def test_other_lines_tell_of_no_occasion(line: str) -> None:
    assert not occasion(line)
