"""What a crawl counts: walls by sites and names, and by titles what a site shows on every page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup import Detector
from scrapy_neardup.fingerprint import MainText
from scrapy_neardup.matching import counters
from scrapy_neardup.matching.counters import (
    LONGEST_OF_A_SITE,
    LONGEST_ON_SITES,
    NAMES,
    NAMES_OF_LONGER,
    SITES,
    TITLES,
    SiteCounter,
    TitleCounter,
)
from tests.audit.corpora import text

FIRST = "https://first.example/"
SHOP = "https://shop.example/"


def urls(count: int) -> list[str]:
    return [f"https://site{number}.example/" for number in range(count)]


@pytest.mark.parametrize(
    ("tokens", "names"), [(LONGEST_ON_SITES, NAMES), (LONGEST_OF_A_SITE, NAMES_OF_LONGER)]
)
@pytest.mark.parametrize("site", ["https://www.first.example", "https://second.example"])
def test_many_names_on_one_site_make_it_a_wall(tokens: int, names: int, site: str) -> None:
    spread = SiteCounter()
    kinds = [spread.meets(f"{FIRST}story", f"{site}/news/story-{n}", tokens) for n in range(names + 2)]
    own = "first" in site  # the first page's own name counts
    assert kinds == [False] * (names - own) + [True] * (2 + own)


def test_a_page_under_many_urls_of_one_site_has_one_name() -> None:
    spread = SiteCounter()
    story = "mayor-opens-bridge"
    sections = ("news", "local", "print", "2026/11/21", "top", "amp")
    among = [f"https://www.first.example/{section}/{story}" for section in sections]
    ends = ("", "/", ".html", "?utm_source=feed", ";jsessionid=1f", "#top")
    met = [f"{url}{end}" for url in among for end in ends]
    assert not any(spread.meets(f"{FIRST}{story}", url, 50) for url in met)


def test_who_only_asks_leaves_no_trace() -> None:
    spread = SiteCounter()
    for url in urls(20):
        assert not spread.meets(FIRST, url, 50, count=False)
        assert not spread.meets(FIRST, f"{FIRST}{url}", 50, count=False)
    for url in urls(SITES - 1):
        assert not spread.meets(FIRST, url, 50)
    assert spread.meets(FIRST, urls(SITES + 1)[-1], 50, count=False)
    assert not spread.meets(FIRST, urls(1)[0], 50)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 12), st.sampled_from([50, 200]))))
def test_it_is_a_wall_once_as_many_sites_or_names_were_met(met: list[tuple[int, int, int]]) -> None:
    spread, names = SiteCounter(), {0: {"0"}}
    for site, name, tokens in met:
        names.setdefault(site, set()).add(str(name))
        short = tokens <= LONGEST_ON_SITES
        many = max(map(len, names.values())) > (NAMES if short else NAMES_OF_LONGER)
        walled = spread.meets("https://site0.example/0", f"https://site{site}.example/{name}", tokens)
        if many or (short and len(names) > SITES):
            assert walled


def test_of_many_texts_those_that_were_met_last_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "FOLLOWED", 2)
    monkeypatch.setattr(counters, "RUNS", 2)
    spread, everywhere = SiteCounter(), TitleCounter()
    for number, url in enumerate(urls(SITES)):
        walls = [spread.meets(text, url, 50) for text in (FIRST, f"{FIRST}{number}")]
        for run in (11, 100 + number):
            everywhere.meets(SITE, [run], bytes([number + 1]))
    assert walls == [True, False]
    assert everywhere.is_boilerplate(SITE, [11], bytes([99]), 1)
    assert len(everywhere._met) == len(spread._met) == 2


NOTICE = " ".join(f"word{number}" for number in range(60))


def test_a_notice_of_many_sites_becomes_a_wall_and_is_dropped_no_more() -> None:
    with Detector.open() as detector:
        kinds = [detector.add(NOTICE, url=f"https://site{n}.example/").kind for n in range(10)]
        assert kinds == ["unique"] + ["exact"] * (SITES - 1) + ["wall"] * 5
        verdict = detector.check(NOTICE, url="https://site99.example/")
        assert not verdict.is_duplicate
        assert verdict.url == "https://site0.example/"
        # At home it is still a revisit.
        assert detector.add(NOTICE, url="https://site0.example/").kind == "revisit"
        assert detector.gauges()["documents"] == 1


SITE = 7
TERMS = [11, 12, 13, 14]


def titles(count: int) -> list[bytes]:
    return [bytes([0, number + 1]) for number in range(count)]


def met(counter: TitleCounter, *pages: tuple[list[int], bytes], site: int = SITE) -> list[bool]:
    found = []
    for runs, title in pages:
        found.append(counter.is_boilerplate(site, runs, title, 4))
        counter.meets(site, runs, title)
    return found


def test_what_a_site_has_under_many_titles_is_its_own_whoever_stored_it() -> None:
    counter = TitleCounter()
    pages = [
        ([*TERMS, 100 + number, 200 + number], title) for number, title in enumerate(titles(TITLES + 10))
    ]
    assert met(counter, *pages) == [False] * TITLES + [True] * 10
    assert not counter.is_boilerplate(SITE + 1, TERMS, bytes([9]), 4)
    # A page that shares its own text with another site's, and little of the terms, is a copy.
    assert not counter.is_boilerplate(SITE, [11, 21, 22, 23], bytes([9]), 4)
    assert counter.is_boilerplate(SITE, [11, 12, 21, 22], bytes([9]), 4)


def test_one_title_under_many_urls_is_one_and_no_title_counts_for_nothing() -> None:
    title, other = titles(2)
    assert met(TitleCounter(), *[(TERMS, title)] * 20, (TERMS, other)) == [False] * 21
    assert not any(met(TitleCounter(), *[(TERMS, bytes(2))] * 20))


@pytest.mark.parametrize(("pages", "sites", "most"), [(40, 1, 3), (60, 60, 3)])
@pytest.mark.parametrize("share", [0.9, 0.8, 0.7])
def test_pages_in_numbers_keep_few_of_another_site_s_out(
    pages: int, sites: int, most: int, share: float
) -> None:
    terms = text(0, 300)
    with Detector.open() as detector:
        for number in range(pages):
            page = MainText(f"{terms}\n{text(2000 + number, 190)}", title=text(4000 + number, 4))
            detector.add(page, f"https://evil-{number % sites}.com/{number}")
        own = int(300 / share) - 300
        for number in range(1, 80):
            page = MainText(f"{text(number, own)}\n{terms}", title=text(1000 + number, 4))
            most -= detector.add(page, f"{SHOP}{number}").is_duplicate
    assert most >= 0


def test_a_site_that_prints_many_stories_of_another_repeats_each() -> None:
    with Detector.open() as detector:
        for number in range(1, 13):
            story = MainText(text(number, 300), title=text(1000 + number, 4))
            assert detector.add(story, f"{FIRST}{number}").kind == "unique"
            copy = MainText(f"{story.text}\n{text(0, 60)}", title=text(2000 + number, 4))
            assert detector.add(copy, f"{SHOP}{number}").kind == "near"
