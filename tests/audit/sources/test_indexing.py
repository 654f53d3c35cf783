"""What a page tells search engines: by its head, by its HTTP headers, by both."""

from __future__ import annotations

import time

import pytest

from scrapy_neardup.audit.sources.records import Indexing
from scrapy_neardup.audit.sources.responses import header_forbids, read_head

PAGE = "https://a.example/de/page?x=1"


def head(content: str) -> Indexing:
    return read_head(f"<html><head>{content}</head>".encode(), None, PAGE).indexing


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<title>x</title>", Indexing()),
        ('<meta name="Robots" content="follow, NOINDEX">', Indexing(noindex=True)),
        ('<meta name="googlebot" content="none">', Indexing(noindex=True)),
        ('<meta name="otherbot" content="noindex">', Indexing()),
        ('<link rel="Canonical" href="/de/page">', Indexing(declared="https://a.example/de/page")),
        (
            '<link rel="canonical" href=""><meta property="og:url" content="/y">',
            Indexing(declared="https://a.example/y"),
        ),
        ('<link rel="canonical" href="javascript:x">', Indexing()),
        (
            '<link rel="alternate" hreflang="EN" href="/en/page"><link rel="alternate" href="/feed.xml">',
            Indexing(alternates=(("en", "https://a.example/en/page"),)),
        ),
    ],
)
def test_the_head_of_a_page(content: str, expected: Indexing) -> None:
    assert head(content) == expected


LINK = '<link rel="canonical" href="/de/page"/>'


@pytest.mark.parametrize(
    "page",
    [
        f'<?xml version="1.0" encoding="iso-8859-1"?>\n<html xmlns="x"><head>{LINK}</head>',
        f"<title>x</title>{LINK}<p>y</p>",
        f"<meta charset=utf-8>{LINK}",
    ],
)
def test_the_head_of_a_page_with_an_xml_declaration_or_without_a_tag_is_read(page: str) -> None:
    assert read_head(page.encode(), None, PAGE).indexing.declared == PAGE.partition("?")[0]


def test_the_head_of_a_page_that_was_saved_as_utf8_is_read_as_that() -> None:
    """It may still declare the charset that it had first, and its text is read as UTF-8, too."""
    title = "Новая переправа через пролив открыта"
    page = f"<html><head><meta charset=windows-1251><title>{title}</title></head>"
    assert read_head(page.encode(), None, PAGE).title == title
    assert read_head(page.encode("cp1251"), None, PAGE).title == title


def test_links_that_readers_may_have_written_say_nothing_of_the_page() -> None:
    assert head(f"<title>x</title><body><p>a comment {LINK}") == Indexing()


@pytest.mark.parametrize(
    ("value", "forbids"),
    [
        ("", False), ("noindex, nofollow", True), ("googlebot: noindex", True), ("otherbot: noindex", False),
        ("otherbot: nofollow, googlebot: none", True),
    ],
)  # fmt: skip
def test_the_robots_header(value: str, forbids: bool) -> None:
    assert header_forbids(value) is forbids


def test_heads_are_read_in_linear_time() -> None:
    started = time.process_time()
    assert head("<title " * (1 << 15)) == Indexing()
    assert time.process_time() - started < 1.5  # quadratic time takes five seconds
