"""On a phone, a tablet and a desk: nothing is wider than the window; tables can be saved; scripts may be off."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.audit.output.report import write_report

from .crawl import hostile_crawl, small_crawl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from .conftest import Opened

    Open = Callable[..., Opened]

pytestmark = pytest.mark.slow

WIDTHS = [390, 768, 1280]
#: Elements that reach beyond the right edge of the window, but for those in a box that scrolls.
BEYOND = """() => [...document.querySelectorAll("main *")].filter((e) =>
    !e.closest("svg, .unseen") && e.getBoundingClientRect().right > innerWidth + 1 &&
    !e.closest(".scroll, .diff, .numbers")).map((e) => e.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("crawl", [small_crawl, hostile_crawl])
def test_nothing_is_wider_than_the_window(open_report: Open, crawl: Callable[[], object], width: int) -> None:
    page = open_report(crawl(), viewport={"width": width, "height": 800}).page
    for opener in page.locator("#cluster-list > .scroll > table > tbody > tr > td > .opener").all()[:2]:
        opener.click()
    page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })')
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_without_scripts_the_tables_are_there(browser: Browser, tmp_path: Path, width: int) -> None:
    write_report(tmp_path / "report.html", small_crawl())
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("noscript table").count() >= 3
    assert page.get_by_role("cell", name="news.example").first.is_visible()
    assert page.locator("#theme").is_hidden()
    assert page.locator("#clusters").is_hidden()
    context.close()


def test_every_table_can_be_saved(open_report: Open) -> None:
    report = open_report(small_crawl())
    for table, rows in (("hosts", 3), ("host-pairs", 1), ("patterns", 2), ("cluster-list", 3), ("thin", 0)):
        if not rows:
            assert report.page.locator(f"#{table} .save").is_hidden()
            continue
        head, *found = csv.reader(io.StringIO(report.download(f"#{table} > .under > .save").lstrip("\ufeff")))
        assert len(found) >= rows, table
        assert all(len(row) == len(head) for row in found)
    assert head[0] == "Canonical page"
    assert found[0][0].startswith("https://")
