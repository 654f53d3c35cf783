"""Content areas: what of a page is left, whatever the selectors and the page, and that workers heed them."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import ContentArea, Page, Workers
from scrapy_neardup.extraction.libraries import Plain, visible_text
from scrapy_neardup.extraction.parsing import parsed, written
from scrapy_neardup.fingerprint import Fingerprinter

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = """<html><head><title>Harbour</title></head><body class="x">lead<nav>Menu</nav>tail
<div class="wide"><article id="a">One<article>Two</article> <aside class="ad b">Buy</aside>after</article>z
</div><ARTICLE>Three</ARTICLE></body></html>"""


def cut(area: ContentArea, html: str = PAGE) -> str:
    root = parsed(html, huge_tree=True)
    if root is None:
        return ""
    area.cut(root)
    return written(root)


def shown(area: ContentArea) -> str:
    return " ".join(visible_text(cut(area)).split())


def test_the_included_elements_alone_are_left_each_once_with_all_that_they_hold() -> None:
    assert shown(ContentArea(("article",))) == "One Two Buy after Three"
    assert shown(ContentArea(("#a article",))) == "Two"
    assert shown(ContentArea((".wide", "#a", "nav"))) == "Menu One Two Buy after z"
    assert shown(ContentArea(("html > body > nav, .b",))) == "Menu Buy"
    assert shown(ContentArea(("html",))) == shown(ContentArea(("body",))) == shown(ContentArea())
    assert shown(ContentArea((".none",))) == ""


def test_excluded_elements_are_left_out_of_included_ones_too_but_not_what_stands_behind() -> None:
    assert shown(ContentArea((), ("nav", ".ad"))) == "leadtail One Two after z Three"
    assert shown(ContentArea(("#a",), ("article article", "aside"))) == "One after"
    assert shown(ContentArea((), ("body",))) == shown(ContentArea((), ("*",))) == ""


def test_the_head_stays_where_titles_are_read() -> None:
    assert Plain()(cut(ContentArea((".none",))), None).title == "Harbour"


@pytest.mark.parametrize(
    "selector",
    ["", "[", "a{", "#", "p::text", "p:foo", "svg|p", "p:nth-child(x)", ".a\0{", "p:contains('\1')",
     f"p:nth-child({'9' * 5000})", "p " * 5000 + "p"],
)  # fmt: skip
def test_what_is_no_selector_is_refused_at_once(selector: str) -> None:
    for area in ((selector,), ()), ((), ("nav", selector)):
        with pytest.raises(ConfigurationError, match="is no CSS selector"):
            ContentArea(*area)


@pytest.mark.parametrize(
    "html",
    ["", "  ", "text only", "\0\0", "<!-- c -->", "<?xml version='1.0'?>", "\ud800<p>x</p>", "a\0b<p>c</p>",
     "<frameset><frame></frameset>", "<html>", "<body>", "<p", "<title>x"],
)  # fmt: skip
def test_whatever_the_page_is_it_has_an_area(html: str) -> None:
    for area in ContentArea(("p",), ("nav",)), ContentArea(("*",)), ContentArea((), ("*", "html")):
        assert isinstance(cut(area, html), str)


@pytest.mark.parametrize("of", [lambda n: "<p>hi</p><nav>x</nav>" * n, lambda n: "<div>" * n + "<p>hi</p>"])
def test_large_and_deep_pages_take_linear_time(of: Callable[[int], str]) -> None:
    area = ContentArea(("p", "div p"), ("nav",))

    def seconds(count: int) -> float:
        started = time.process_time()
        cut(area, of(count))
        return time.process_time() - started

    # Ten times the page takes a hundred times as long in quadratic time.
    assert min(seconds(20_000) for _ in range(2)) < 35 * max(seconds(2_000), seconds(2_000), 0.01)


def test_workers_look_in_the_area_but_never_at_what_an_element_around_it_hides() -> None:
    words = "The council agreed on Tuesday to a plan for the harbour, to be done in three years. " * 5
    page = f"""<html><body><p>{words} outside</p>
    <article><p>{words} inside</p><p class="ad">advert</p></article>
    <div hidden><article>secret {words}</article></div></body></html>"""
    workers = Workers(
        Fingerprinter(),
        "plain",
        processes=1,
        timeout=30,
        memory=1 << 30,
        keep_text=True,
        area=ContentArea(("article",), (".ad",)),
    )
    with closing(workers):
        done = workers.submit(Page(page.encode(), "http://a/", "text/html")).result()
        none = workers.submit(Page(f"<p>{words}</p>".encode(), "http://b/", "text/html")).result()
    assert done.text is not None
    assert "inside" in done.text.text
    for word in ("outside", "advert", "secret"):
        assert word not in done.text.text
    assert none.reason == "no_text"
