"""Parameters are judged by what they changed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.output.causes import Cause, find_causes
from scrapy_neardup.audit.urls import split_url


def found(groups: list[list[str]]) -> dict[str, Cause]:
    """Find the causes in clusters of URLs, the first of each being canonical."""
    urls = [url for group in groups for url in group]
    canonical = np.repeat(np.cumsum([0, *map(len, groups)])[:-1], [len(group) for group in groups])
    split = [split_url(url) for url in urls]
    causes = find_causes(split, canonical != np.arange(len(urls)), canonical)
    return {cause.name: cause for cause in causes}


@given(st.lists(st.tuples(st.text(), st.integers(0, 3)), max_size=30))
def test_any_strings_are_counted_right(rows: list[tuple[str, int]]) -> None:
    groups = [[url for url, label in rows if label == number] for number in range(4)]
    for cause in found(groups).values():
        assert 2 <= cause.repeats <= cause.pages <= len(rows)
        assert max(cause.example) < len(rows)


def test_parameter_that_changes_nothing() -> None:
    groups = [[f"https://a.example/{i}", f"https://a.example/{i}?utm_source=x"] for i in range(5)]
    cause = found(groups)["utm_source"]
    assert (cause.pages, cause.repeats) == (5, 5)
    assert cause.example == (1, 0)
    assert (cause.same, cause.compared) == (5, 5)


def test_parameter_that_selects_the_content() -> None:
    # Each story is there twice for another reason: its two hosts.
    groups = [[f"https://a.example/?id={i}", f"https://b.example/?id={i}"] for i in range(6)]
    cause = found(groups)["id"]
    assert (cause.pages, cause.repeats) == (12, 6)
    assert (cause.same, cause.compared) == (0, 10)
