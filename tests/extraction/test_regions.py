"""What a page's markup says of its parts."""

from __future__ import annotations

import time

import pytest
from lxml import html as lxml_html

from scrapy_neardup.extraction.regions import region_of


def named(markup: str, has_headline: bool = False) -> str:
    return region_of(lxml_html.fragment_fromstring(f"<{markup}></{markup.split()[0]}>"), has_headline)


@pytest.mark.parametrize(
    ("markup", "region"),
    [
        ("div class='post-comments'", "comments"), ("section id=comments", "comments"),
        ("div id=respond", "comments"),
        ("ol class='commentList'", "comments"), ("div class='comment-content'", "comments"),
        ("div class='comments-wrap'", "comments"), ("div class='kommentare'", "comments"),
        ("div id=disqus_thread", "comments"), ("div class='x comments-area y'", "comments"),
        ("div class='no-comments'", ""), ("div class='has-comments'", ""),
        ("div class='entry-comments'", "comments"), ("section class='article-comments-list'", "comments"),
        ("div class='commenting'", ""), ("div class='content-comments-main'", ""),
        ("div class=sidebar", "around"), ("div class='right-sidebar'", "around"),
        ("div id=Sidebar2", "around"),
        ("div class='no-sidebar'", ""), ("div class='with-sidebar'", ""), ("div class='has_sidebar'", ""),
        ("div class='sidebar-layout'", ""), ("div class='content-sidebar-wrap'", ""),
        ("div class='related-posts'", "around"), ("div class='relatedPosts'", "around"),
        ("div role=navigation", "around"),
        ("ul class='nav-links'", "around"), ("div class='widget widget_text'", "around"),
        ("div class='popup-content'", ""), ("div class='related-post-body'", ""),
        ("div class='author-bio'", "around"), ("div class='share-buttons'", "around"),
        ("div class='c-paper c-paper--feedback'", "around"), ("form id=customer-feedback-form", "around"),
        ("div class='feedback-content'", ""),
        ("div class='entry share'", ""), ("div class='post related'", "around"),
        ("div class='cookie-banner'", "foot"), ("div id=CookieConsent", "foot"),
        ("div class='site-footer'", "foot"),
        ("div class='sidebar footer'", "foot"), ("div class='tag-cookie post'", ""),
        ("div class='category-cookies'", ""),
        ("div class='content-wrap'", ""), ("div class=container", ""), ("div class='main-content'", ""),
        ("div", ""),
        ("nav", "around"), ("aside", "around"), ("dialog", "around"), ("footer", "foot"), ("header", ""),
        ("div class='body articleBody -bottom-space'", ""), ("div class='article-body ad'", ""),
        ("div class='Entry-Content cookie'", ""), ("div class=bottom itemprop=articleBody", ""),
        ("div class='articleBody comments'", "comments"), ("aside class='article-body'", "around"),
        ("main class=sidebar", ""), ("article class='comment'", ""), ("p class=footer", ""),
        ("div class='a-b-c-d-sidebar'", ""),
    ],
)  # fmt: skip
def test_regions(markup: str, region: str) -> None:
    assert named(markup) == region


@pytest.mark.parametrize(
    "markup",
    ["aside", "footer", "div class=modal", "div class=comments", "div class=cookie", "div id=sidebar"],
)
def test_what_holds_the_headline_stands_around_nothing(markup: str) -> None:
    assert named(markup) != ""
    assert named(markup, has_headline=True) == ""


def test_a_logo_in_the_navigation_is_no_headline() -> None:
    assert named("nav", has_headline=True) == "around"


@pytest.mark.parametrize("unit", ["1", "-", "a", "aB", "comment ", "comment-"])
def test_names_take_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    named(f"div class='{text}' id='{text}'")
    assert time.process_time() - started < 3  # .1 s
