"""Values: what is a figure, a word, an occasion; how those of two texts are compared."""

from math import ceil
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import Hashes, Terms, hash_tokens
from scrapy_neardup.fingerprint.tokens import BETWEEN, tokenise
from scrapy_neardup.fingerprint.values import (
    FEW,
    FIGURES,
    NUMBERS,
    TITLE,
    WORDS,
    compare,
    compare_words,
    figures,
    occasion,
    pack,
    titles,
    words,
)  # fmt: skip


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


def apart(*texts: str, notes: tuple[str, str] = ("", "")) -> list[float]:
    """Return how many words each of two pages has at least that the other lacks."""
    records = np.empty(2, [("words", "<u2", WORDS)])
    packed = words(terms(*texts), terms(*notes), [FEW if note else FEW + 1 for note in notes])
    records["words"] = np.frombuffer(b"".join(packed), "<u2").reshape(2, -1)
    return [each.item() for each in compare_words(*records)]


def test_of_syllables_two_make_a_word() -> None:
    assert [ceil(each) for each in apart("とうきょう 大 7", "うとょきう")] == [5, 4]


def test_words_of_a_note_count_half_those_of_an_article_do_not() -> None:
    assert [round(2 * each) for each in apart("red", "red", notes=("rain water 7", "snow"))] == [2, 1]
    assert apart("red", "red") == [0, 0]


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 400), st.integers())
def test_words_that_two_pages_have_not_in_common_are_counted(
    own: int, others: int, shared: int, seed: int
) -> None:
    random = Random(seed)
    lists = [["".join(random.choices("abcdefgh", k=12)) for _ in range(n)] for n in (own, others, shared)]
    for found, real in zip(apart(*(" ".join((*each, *lists[2])) for each in lists[:2])), lists, strict=False):
        assert found < len(real) + 6
        if own + others <= 8:
            assert len(real) - 1.5 <= found


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
    found = [{*each.tolist()} for each in titles(terms("fair", "fair", "fair", "fair"), others, 0).each()]
    assert [len(each) for each in found] == [2, 2, 2, 1]
    assert len(set().union(*found)) == 4


@pytest.mark.parametrize(
    ("one", "other"), [("上海天气", "海上天气"), ("会议报告", "会议报告会"), ("茶", "水")]
)
def test_of_a_title_without_spaces_neighbours_make_the_words(one: str, other: str) -> None:
    first, second = ({*each.tolist()} for each in titles(terms(one, other), ["", ""], 0).each())
    assert first
    assert second - first


@pytest.mark.parametrize(
    "line",
    ["", "updated 24 november 2031, 15:00", "19.99 - 24.99", "15:00", "2031-11-24", "15:73 - 19:00",
     "115:00 - 19:00", "15:00 - 19:001", "1:15:00 - 1:19:00", "rooms 7 - 12",
     "3-4 amazing pm", "2031-11-24 am", "19.99-24.99 pm"],
)  # fmt: skip
def test_other_lines_tell_of_no_occasion(line: str) -> None:
    assert not occasion(line)


SIZES = {"numbers": NUMBERS, "title": TITLE, "figures": FIGURES}
PAGES = st.fixed_dictionaries({kind: st.sets(st.integers(1, 60), max_size=50) for kind in SIZES})


@given(PAGES, st.lists(PAGES, min_size=1, max_size=4))
def test_values_are_compared_as_sets_in_the_range_that_both_have_kept(
    new: dict[str, set[int]], stored: list[dict[str, set[int]]]
) -> None:
    records = np.empty(1 + len(stored), [(kind, "<u2", size) for kind, size in SIZES.items()])
    for kind, size in SIZES.items():
        hashes = Hashes.of([np.array([*each[kind]], np.uint64) << np.uint64(48) for each in (new, *stored)])
        two = pack(hashes, 99)
        assert [{*np.frombuffer(each, "<u2").tolist()} - {0} for each in two] == [
            each[kind] for each in (new, *stored)
        ]
        records[kind] = np.frombuffer(b"".join(pack(hashes, size)), "<u2").reshape(-1, size)
    for kind, found in zip(SIZES, compare(records[0], records[1:]), strict=True):
        for row, other in enumerate(stored):
            kept = [{*sorted(values[kind])[-SIZES[kind] :]} for values in (new, other)]
            least = max((min(values) for values in kept if len(values) == SIZES[kind]), default=0)
            mine, theirs = ({value for value in values if value >= least} for values in kept)
            assert (found.added[row], found.lacking[row]) == (len(mine - theirs), len(theirs - mine))
            assert found.fewer[row] == min(len(mine), len(theirs))
            assert found.substituted[row] == min(len(mine - theirs), len(theirs - mine))
            assert found.share[row] == (1 if least <= 1 else ((1 << 16) + 1 - least) / (1 << 16))
