"""Parameters are judged by what they changed, spellings by what they are, paths by what they repeat."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.output.report.advice import OF_SPELLING
from scrapy_neardup.audit.output.report.patterns import MOST, Pattern, by_path, find_patterns, find_thin
from scrapy_neardup.audit.output.report.spellings import SAME_URL, SPELLINGS, spelling_differences
from scrapy_neardup.audit.urls import split_url


def found(groups: list[list[str]]) -> dict[tuple[str, str], Pattern]:
    """Find the patterns of clusters of URLs, the first of each being canonical."""
    urls = [url for group in groups for url in group]
    canonical = np.repeat(np.cumsum([0, *map(len, groups)])[:-1], [len(group) for group in groups])
    repeats = canonical != np.arange(len(urls))
    split = [split_url(url) for url in urls]
    return {(p.kind, p.name): p for p in find_patterns(split, by_path(split), repeats, canonical)}


def test_parameter_that_changes_nothing() -> None:
    groups = [
        [f"https://a.example/{i}", f"https://a.example/{i}?utm_source=x", f"https://a.example/{i}?colour=red"]
        for i in range(5)
    ]
    patterns = found(groups)
    tracking = patterns["parameter", "utm_source"]
    assert tracking.pages.tolist() == [1, 4, 7, 10, 13]
    assert (tracking.repeats, tracking.example) == (5, (1, 0))
    assert (
        tracking.advice
        == "Tracking: strip it before requesting (alone, it left the text the same in 5 of 5 comparisons)."
    )
    assert patterns["parameter", "colour"].advice.startswith("Strip it, or name the URL without it")


def test_parameter_that_selects_the_content() -> None:
    # Each story is there twice for another reason: its two hosts.
    groups = [[f"https://a.example/?id={i}", f"https://b.example/?id={i}"] for i in range(6)]
    pattern = found(groups)["parameter", "id"]
    assert (len(pattern.pages), pattern.repeats) == (12, 6)
    assert pattern.advice.startswith(
        "Keep it, it selects the content (alone, it left the text the same in 0 of 10"
    )


def test_name_decides_nothing_against_measurement() -> None:
    groups = [[f"https://a.example/?ref={i}", f"https://b.example/?ref={i}"] for i in range(6)]
    assert "Keep it" in found(groups)["parameter", "ref"].advice


def test_parameter_judged_apart_from_others() -> None:
    groups = [[f"https://a.example/?id={i}&sid=1", f"https://a.example/?sid=2&id={i}"] for i in range(4)]
    patterns = found(groups)
    assert patterns["parameter", "sid"].advice.startswith("Session: strip it")
    assert "0 of" in patterns["parameter", "id"].advice


def test_too_few_comparisons_conclude_nothing() -> None:
    groups = [[f"https://a.example/{i}", f"https://b.example/x/{i}?q=1"] for i in range(4)]
    assert found(groups)["parameter", "q"].advice.startswith("Nearly all pages with it repeat others")


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("http and https", "http://a.example/x", "https://a.example/x"),
        ("with and without www.", "https://www.a.example/x", "https://a.example/x"),
        ("mobile host (m., mobile., amp.)", "https://m.a.example/x", "https://a.example/x"),
        ("mobile host (m., mobile., amp.)", "https://m.a.example/x", "https://www.a.example/x"),
        ("double slashes", "https://a.example//x", "https://a.example/x"),
        ("percent-encoding", "https://a.example/%7Ex", "https://a.example/~x"),
        ("letter case", "https://a.example/X", "https://a.example/x"),
        ("index file (/index.html)", "https://a.example/x/index.html", "https://a.example/x/"),
        ("AMP, print or mobile version", "https://a.example/x/amp", "https://a.example/x"),
        ("AMP, print or mobile version", "https://a.example/print/x", "https://a.example/x"),
        ("trailing slash", "https://a.example/x/", "https://a.example/x"),
        ("file extension (.html)", "https://a.example/x.html", "https://a.example/x"),
        ("order of parameters", "https://a.example/?a=1&b=2", "https://a.example/?b=2&a=1"),
        (SAME_URL, "https://a.example/x#top", "https://a.example/x"),
    ],
)
def test_spelling(name: str, a: str, b: str) -> None:
    assert name in spelling_differences(split_url(a), split_url(b))
    assert name in spelling_differences(split_url(b), split_url(a))
    patterns = found([[b, a], [b.replace("x", "y") + "z", a.replace("x", "y") + "z"], [b, a]])
    assert patterns["spelling", name].repeats >= 2
    assert patterns["spelling", name].advice == OF_SPELLING[name]


def test_two_spellings_at_once_and_none() -> None:
    both = spelling_differences(split_url("http://a.example/x/"), split_url("https://a.example/x"))
    assert both == ["http and https", "trailing slash"]
    assert spelling_differences(split_url("https://a.example/x"), split_url("https://a.example/y")) == []
    assert spelling_differences(split_url("https://a.example/x?a=1"), split_url("https://a.example/x")) == []


def test_every_spelling_has_advice() -> None:
    assert set(OF_SPELLING) == {*SPELLINGS, SAME_URL}


def test_path_that_repeats_another() -> None:
    groups = [
        [f"https://a.example/news/a-long-slug-{i}", f"https://a.example/archive/2024/{i}"] for i in range(20)
    ]
    pattern = found(groups)["path", "a.example/archive/{date}/{number}"]
    assert (len(pattern.pages), pattern.repeats) == (20, 20)
    assert pattern.advice == "Leave it out of the crawl: 100% of its repeats are of a.example/news/{slug}."


def test_path_whose_pages_repeat_each_other() -> None:
    others = [[f"https://a.example/{i}"] for i in range(10)]
    groups = [[f"https://a.example/tag/t{i}" for i in range(30)], *others]
    pattern = found(groups)["path", "a.example/tag/{name}"]
    assert pattern.advice.startswith("Its pages repeat each other")


def test_path_of_nearly_all_pages_is_left_out() -> None:
    """As of texts that have file names or identifiers instead of URLs."""
    others = [[f"https://a.example/{i}"] for i in range(10)]
    for start, name in (("file:///x/", {"/x/{id}"}), ("", set())):
        groups = [[f"{start}9f86d081884c{i:04}", f"{start}60303ae22b99{i:04}"] for i in range(20)]
        assert found(groups) == {}
        assert {name for _, name in found(groups + others)} == name


def test_path_that_repeats_less_than_usual_is_left_out() -> None:
    groups = [[f"https://a.example/x/{i}", f"https://b.example/y/{i}"] for i in range(20)]
    groups.append([f"https://a.example/x/{i}" for i in range(20, 23)])  # two repeats of 23 pages
    assert {name for kind, name in found(groups) if kind == "path"} == {"b.example/y/{number}"}


def test_names_become_variables_when_they_are_many() -> None:
    others = [[f"https://b.example/{i}"] for i in range(10)]

    def paths(names: list[str]) -> set[str]:
        groups = [[f"https://a.example/{name}/1", f"https://a.example/{name}/2"] for name in names]
        return {name for kind, name in found(groups + others) if kind == "path"}

    assert paths(["news", "sport"]) == set()  # one repeat each is chance
    assert paths([f"user{chr(97 + i)}" for i in range(20)]) == {"a.example/{name}/{number}"}


def test_most_repeats_first_and_not_too_many() -> None:
    groups = [
        [
            f"https://a.example/{i}",
            *(f"https://a.example/{i}?p{j}=1" for j in range(80)),
            *["https://a.example/?often=1"] * i,
        ]
        for i in range(3)
    ]
    patterns = [p for p in found(groups).values() if p.kind == "parameter"]
    assert len(patterns) == MOST
    assert [p.repeats for p in patterns] == sorted((p.repeats for p in patterns), reverse=True)


@given(st.lists(st.tuples(st.text(), st.integers(0, 3)), max_size=30))
def test_any_strings_are_counted_right(rows: list[tuple[str, int]]) -> None:
    urls = [url for url, _ in rows]
    first: dict[int, int] = {}
    canonical = np.array([first.setdefault(group, i) for i, (_, group) in enumerate(rows)], np.int64)
    repeats = canonical != np.arange(len(rows))
    split = [split_url(url) for url in urls]
    for pattern in find_patterns(split, by_path(split), repeats, canonical):
        assert pattern.repeats == repeats[pattern.pages].sum() >= 2
        assert Counter(pattern.pages.tolist()).most_common(1)[0][1] == 1
        assert pattern.advice
        page, original = pattern.example
        assert original in (-1, *range(len(rows)))
        assert original < 0 or canonical[page] == canonical[original]


def test_pages_with_little_text_are_counted_by_path() -> None:
    urls = [f"https://a.example/story{n}/feed/" for n in range(30)] + [
        f"https://a.example/story{n}/" for n in range(30)
    ]
    thin = np.arange(60) < 32
    feeds, stories = find_thin(by_path([split_url(url) for url in urls]), thin, np.arange(60) < 10)
    assert (feeds.name, len(feeds.pages), feeds.repeats, feeds.example) == (
        "a.example/{name}/feed/",
        30,
        30,
        (0, -1),
    )
    assert feeds.advice == "All 30 have next to no text of their own, 10 of them without any text."
    assert stories.advice == "2 of 30 have next to no text of their own."
