"""What pages of many titles of one site share with a page of another site is the site's own."""

from __future__ import annotations

import random

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint import MainText
from scrapy_neardup.matching.title_counter import TITLES, TitleCounter

FIRST = "https://first.example/"
SHOP = "https://shop.example/"


def titles(count: int) -> list[bytes]:
    return [bytes([0, number + 1]) for number in range(count)]


def met(counter: TitleCounter, *copies: tuple[str, bytes], url: str = FIRST) -> list[bool]:
    found = []
    for copy, title in copies:
        found.append(counter.is_of_the_site(url, copy, title))
        counter.meets(url, copy, title)
    return found


def test_so_many_titles_of_one_site_make_it_the_site_s() -> None:
    counter = TitleCounter()
    found = met(counter, *((f"{SHOP}{title.hex()}", title) for title in titles(TITLES + 10)))
    assert found == [False] * TITLES + [True] * 10
    assert not counter.is_of_the_site("https://third.example/", SHOP, bytes([9]))
    assert not counter.is_of_the_site(FIRST, "https://other.example/", bytes([9]))


def test_one_title_under_many_urls_is_one() -> None:
    title, other = titles(2)
    found = met(TitleCounter(), *((f"{SHOP}{number}", title) for number in range(20)), (SHOP, other))
    assert found == [False] * 21


def test_copies_on_the_same_site_without_titles_or_without_sites_do_not_count() -> None:
    counter = TitleCounter()
    assert not any(met(counter, *((f"{FIRST}{title.hex()}", title) for title in titles(20))))
    assert not any(met(counter, *((f"{SHOP}{number}", bytes(2)) for number in range(20))))
    assert not any(met(counter, *(("no address", title) for title in titles(20))))
    assert not any(met(counter, *((SHOP, title) for title in titles(20)), url="no address"))


def test_memory_is_bounded() -> None:
    counter = TitleCounter(followed=2)
    for number in range(5):
        met(counter, *((SHOP, title) for title in titles(TITLES)), url=f"{FIRST}{number}")
    known = [counter.is_of_the_site(f"{FIRST}{number}", SHOP, bytes([9])) for number in range(5)]
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
