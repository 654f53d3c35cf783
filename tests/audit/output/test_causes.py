"""Parameters are judged by what they changed, paths by what they repeat."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.output.causes import Cause, find_causes
from scrapy_neardup.audit.urls import split_url


def found(groups: list[list[str]]) -> dict[tuple[str, str], Cause]:
    """Find the causes in clusters of URLs, the first of each being canonical."""
    urls = [url for group in groups for url in group]
    canonical = np.repeat(np.cumsum([0, *map(len, groups)])[:-1], [len(group) for group in groups])
    split = [split_url(url) for url in urls]
    causes = find_causes(split, canonical != np.arange(len(urls)), canonical)
    return {(cause.kind, cause.name): cause for cause in causes}


@given(st.lists(st.tuples(st.text(), st.integers(0, 3)), max_size=30))
def test_any_strings_are_counted_right(rows: list[tuple[str, int]]) -> None:
    groups = [[url for url, label in rows if label == number] for number in range(4)]
    for cause in found(groups).values():
        assert 2 <= cause.repeats <= cause.pages <= len(rows)
        assert max(cause.example) < len(rows)


def test_parameter_that_changes_nothing() -> None:
    groups = [[f"https://a.example/{i}", f"https://a.example/{i}?utm_source=x"] for i in range(5)]
    cause = found(groups)["parameter", "utm_source"]
    assert (cause.pages, cause.repeats) == (5, 5)
    assert cause.example == (1, 0)
    assert cause.said == "Alone, it left the text the same in 5 of 5 comparisons."


def test_parameter_that_selects_the_content() -> None:
    # Each story is there twice for another reason: its two hosts.
    groups = [[f"https://a.example/?id={i}", f"https://b.example/?id={i}"] for i in range(6)]
    cause = found(groups)["parameter", "id"]
    assert (cause.pages, cause.repeats) == (12, 6)
    assert cause.said == "Alone, it left the text the same in 0 of 10 comparisons."


def test_path_that_repeats_another() -> None:
    groups = [
        [f"https://a.example/news/a-long-slug-{i}", f"https://a.example/archive/2024/{i}"] for i in range(20)
    ]
    cause = found(groups)["path", "a.example/archive/{date}/{number}"]
    assert (cause.pages, cause.repeats) == (20, 20)
    assert cause.said == "100% of its repeats are of a.example/news/{slug}."


def test_path_of_nearly_all_pages_is_left_out() -> None:
    """As of texts that have file names or identifiers instead of URLs."""
    others = [[f"https://a.example/{i}"] for i in range(10)]
    for start, name in (("file:///x/", {"/x/{id}"}), ("", set())):
        groups = [[f"{start}9f86d081884c{i:04}", f"{start}60303ae22b99{i:04}"] for i in range(20)]
        assert found(groups) == {}
        assert {name for _, name in found(groups + others)} == name


def test_names_become_variables_when_they_are_many() -> None:
    others = [[f"https://b.example/{i}"] for i in range(10)]

    def paths(names: list[str]) -> set[str]:
        groups = [[f"https://a.example/{name}/1", f"https://a.example/{name}/2"] for name in names]
        return {name for kind, name in found(groups + others) if kind == "path"}

    assert paths(["news", "sport"]) == set()  # one repeat each is chance
    assert paths([f"user{chr(97 + i)}" for i in range(20)]) == {"a.example/{name}/{number}"}
