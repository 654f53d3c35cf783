"""What pages of many titles of one site share with a page of another site is the site's own."""

from __future__ import annotations

import random

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint import MainText
from scrapy_neardup.matching.counters import TITLES, TitleCounter

FIRST = "https://first.example/"
SHOP = "https://shop.example/"


SITE = 7
TERMS = [11, 12, 13, 14]


def titles(count: int) -> list[bytes]:
    return [bytes([0, number + 1]) for number in range(count)]


def met(counter: TitleCounter, *pages: tuple[list[int], bytes], site: int = SITE) -> list[bool]:
    found = []
    for runs, title in pages:
        found.append(counter.is_of_the_site(site, runs, title, len(TERMS)))
        counter.meets(site, runs, title)
    return found


def test_what_a_site_has_under_many_titles_is_its_own_whoever_stored_it() -> None:
    counter = TitleCounter()
    pages = [([*TERMS, 100 + number], title) for number, title in enumerate(titles(TITLES + 10))]
    assert met(counter, *pages) == [False] * TITLES + [True] * 10
    assert not counter.is_of_the_site(SITE + 1, TERMS, bytes([9]), 4)
    # A page that shares its own text with another site's, and little of the terms, is a copy.
    assert not counter.is_of_the_site(SITE, [11, 21, 22, 23], bytes([9]), 4)
    assert counter.is_of_the_site(SITE, [11, 12, 21, 22], bytes([9]), 4)


def test_one_title_under_many_urls_is_one_and_no_title_counts_for_nothing() -> None:
    title, other = titles(2)
    assert met(TitleCounter(), *[(TERMS, title)] * 20, (TERMS, other)) == [False] * 21
    assert not any(met(TitleCounter(), *[(TERMS, bytes(2))] * 20))


def test_memory_is_bounded() -> None:
    counter = TitleCounter(followed=8)
    for site in range(5):
        met(counter, *((TERMS, title) for title in titles(TITLES)), site=site)
    known = [counter.is_of_the_site(site, TERMS, bytes([9]), 4) for site in range(5)]
    assert known == [False] * 3 + [True] * 2


@pytest.fixture(autouse=True)
def _seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed of an index, which borderline pairs depend on, is the same in each run."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)


def words(seed: int, count: int) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("abcdefghiklmnoprstu", k=6)) for _ in range(count))


def product(number: int, own: int = 80) -> MainText:
    """A page of a shop: what is told of the product, then the terms, which all pages have."""
    return MainText(f"{words(number, own)}\n{words(0, 300)}", title=words(1000 + number, 4))


def test_a_page_of_terms_on_another_site_keeps_few_of_a_shop_s_pages_out() -> None:
    with Detector.open() as detector:
        assert detector.add(MainText(words(0, 300), title="Terms"), FIRST).kind == "unique"
        kinds = [detector.add(product(number), f"{SHOP}{number}").kind for number in range(1, 13)]
        assert kinds == ["near"] * TITLES + ["boilerplate"] * (12 - TITLES)
        # They are stored: the same page is a revisit, and its equal a copy.
        assert detector.add(product(9), f"{SHOP}9").kind == "revisit"
        assert detector.add(product(9), "https://third.example/9").kind == "exact"
        assert detector.check(product(50), f"{SHOP}50").kind == "boilerplate"


def test_products_without_titles_are_told_by_their_short_lines() -> None:
    def fields(number: int) -> str:
        return f"Lamp {words(number, 2)}\nSK{number}07\n{number + 10}.90\n{words(0, 150)}"

    with Detector.open() as detector:
        assert detector.add(fields(100), FIRST).kind == "unique"
        kinds = [detector.add(fields(number), f"{SHOP}{number}").kind for number in range(1, 13)]
        assert kinds == ["near"] * TITLES + ["boilerplate"] * (12 - TITLES)


def test_looking_counts_for_nothing() -> None:
    with Detector.open() as detector:
        detector.add(MainText(words(0, 300), title="Terms"), FIRST)
        kinds = [detector.check(product(number), f"{SHOP}{number}").kind for number in range(1, 13)]
        assert kinds == ["near"] * 12


def test_a_site_that_prints_many_stories_of_another_repeats_each() -> None:
    with Detector.open() as detector:
        for number in range(1, 13):
            story = MainText(words(number, 300), title=words(1000 + number, 4))
            assert detector.add(story, f"{FIRST}{number}").kind == "unique"
            copy = MainText(f"{story.text}\n{words(0, 60)}", title=words(2000 + number, 4))
            assert detector.add(copy, f"{SHOP}{number}").kind == "near"
