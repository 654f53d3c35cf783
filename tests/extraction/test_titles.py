"""The titles that a page has in its head."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.extraction.parsing import titles


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title>The old\n harbour &amp; more</title>", ["The old harbour & more"]),
        ("<TITLE lang=en>One</TITLE><title>Two</title>", ["One"]),
        ("<title>One</title><meta property='og:title' content='Two &quot;x&quot;'>", ["One", 'Two "x"']),
        ('<meta content="It\'s" property=og:title><title>One', ["One", "It's"]),
        ("<title>One</title><meta name='og:title' content=\"One\">", ["One"]),
        ("<meta property='og:title:x' content='x'><meta property='og:description' content='y'>", []),
        ("<title> </title>", []),
        ("<titles>x</titles>", []),
        ("no markup", []),
        ("", []),
    ],
)
def test_titles(html: str, expected: list[str]) -> None:
    assert titles(html) == expected


@given(st.text(max_size=300))
def test_a_title_is_one_line(text: str) -> None:
    for title in titles(f"<title>{text}<meta property=og:title content='{text}'>"):
        assert title == " ".join(title.split()) != ""


@pytest.mark.parametrize(
    "unit", ["<title ", "<title", "<meta ", "<meta property=og:title ", '<meta content="', "<meta>"]
)
def test_it_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    titles(unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 3  # .05 s
