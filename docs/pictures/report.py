"""Makes the pictures of the report that docs/audit.md shows: run ``python -m docs.pictures.report``.

The pages are those of the tests of the report. The browser is Chromium, driven by playwright.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from scrapy_neardup.audit.output.report import write_report
from tests.audit.output.conftest import find_browser
from tests.audit.output.crawl import small_crawl

HERE = Path(__file__).parent


def main() -> None:
    """Write a picture of the head and one of the clusters beside this file."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = Path(folder, "report.html")
        write_report(report, small_crawl())
        browser = playwright.chromium.launch(executable_path=find_browser(playwright.chromium))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=HERE / "report-overview.png")
        page.click(".opener")
        page.click(".detail td button >> nth=2")
        page.wait_for_selector(".diff")
        page.locator("#clusters").screenshot(path=HERE / "report-clusters.png")
        browser.close()


if __name__ == "__main__":
    main()
