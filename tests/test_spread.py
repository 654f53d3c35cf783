"""A short text that is met on many sites is a wall; a long one, or one that stays on its sites, is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup import Detector
from scrapy_neardup.sites import site_key
from scrapy_neardup.spread import LONGEST, SITES, Spread

if TYPE_CHECKING:
    import pytest

FIRST = "https://first.example/"


def keys(count: int, start: int = 0) -> list[int]:
    return [site_key(f"https://site{number}.example/") for number in range(start, start + count)]


def test_the_sixth_site_makes_it_a_wall_and_it_stays_one() -> None:
    spread = Spread()
    assert [spread.meets(FIRST, key, 50) for key in keys(SITES)] == [False] * (SITES - 1) + [True]
    assert spread.meets(FIRST, keys(1)[0], 50)
    assert not spread.meets("https://other.example/", keys(1)[0], 50)


def test_sites_count_once_and_that_of_the_first_page_not_at_all() -> None:
    spread = Spread()
    own = site_key(FIRST)
    met = [*keys(SITES - 1), own] * 3
    assert not any(spread.meets(FIRST, key, 50) for key in met)
    assert spread.meets(FIRST, keys(1, SITES)[0], 50)


def test_long_texts_may_be_anywhere() -> None:
    spread = Spread()
    assert not any(spread.meets(FIRST, key, LONGEST + 1) for key in keys(3 * SITES))
    assert [spread.meets(FIRST, key, LONGEST) for key in keys(SITES)][-1]


def test_only_the_texts_met_last_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_neardup.spread._FOLLOWED", 3)
    spread = Spread()
    for key in keys(SITES - 1):
        spread.meets(FIRST, key, 50)
    for number in range(2):
        spread.meets(f"https://other.example/{number}", 1, 50)
    spread.meets(FIRST, keys(1)[0], 50)  # met again, so not the next to be forgotten
    spread.meets("https://other.example/2", 1, 50)
    assert spread.meets(FIRST, keys(1, SITES)[0], 50)
    for number in range(3, 6):
        spread.meets(f"https://other.example/{number}", 1, 50)
    assert not spread.meets(FIRST, keys(1, SITES)[0], 50)
    assert len(spread._sites) == 3


def notice(words: int, *, name: str = "") -> str:
    return " ".join([*(f"word{number}" for number in range(words - 1)), name or "word"])


def test_a_notice_of_many_sites_becomes_a_wall_and_is_dropped_no_more() -> None:
    with Detector.open() as detector:
        kinds = [detector.add(notice(60), url=f"https://site{n}.example/").kind for n in range(10)]
        assert kinds == ["unique"] + ["exact"] * (SITES - 1) + ["wall"] * 5
        verdict = detector.check(notice(60), url="https://site99.example/")
        assert not verdict.is_duplicate
        assert verdict.url == "https://site0.example/"
        # At home it is still a revisit.
        assert detector.add(notice(60), url="https://site0.example/").kind == "revisit"
        assert detector.gauges()["documents"] == 1


def test_an_article_of_many_sites_and_a_notice_of_one_do_not() -> None:
    with Detector.open() as detector:
        kinds = [detector.add(notice(300), url=f"https://site{n}.example/").kind for n in range(10)]
        assert kinds == ["unique"] + ["exact"] * 9
        kinds = [detector.add(notice(61), url=f"https://www{n}.example.com/{n}").kind for n in range(10)]
        assert kinds == ["unique"] + ["exact"] * 9
