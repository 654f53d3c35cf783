"""A real Chromium for the tests of the report, without which they fail."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserType, Page

from scrapy_neardup.audit import Audit, audit
from scrapy_neardup.audit.output.report import write_report
from tests.audit.corpora import feed

SYSTEM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser(chromium: BrowserType) -> str:
    """Return the path of playwright's own Chromium, or of the system's."""
    if Path(chromium.executable_path).exists():
        return chromium.executable_path
    for name in SYSTEM:
        if path := shutil.which(name):
            return path
    return pytest.fail(
        "There is no browser to test the report with: install one (apt install chromium, or playwright "
        "install chromium)."
    )


# Not for the whole session: while playwright runs, asyncio has a running loop, which other tests do not
# expect.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # half a second, in every process that collects tests

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright.chromium))
        yield browser
        browser.close()


@dataclass
class Opened:
    """A report in the browser, and whatever it should not have done."""

    page: Page
    path: Path
    complaints: list[str] = field(default_factory=list)

    def wait(self, expression: str, seconds: float = 10) -> None:
        """Wait until the JavaScript is true. Playwright's way is eval, which the report forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.wait_for_timeout(20)

    def figure(self, label: str) -> int:
        """Return one of the headline figures."""
        return int(self.page.locator(f'[data-figure="{label}"]').inner_text().replace(",", ""))

    def rows(self, head: str) -> list[list[str]]:
        """Return the cells of the rows of the tables whose first column, or caption, is called that."""
        return self.page.locator(
            f'.scroll[aria-label="{head}"] > table > tbody > tr:not(.opened)'
        ).evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.innerText))")

    def compare(self) -> None:
        """Open all clusters that are shown, and compare all pages of them."""
        for selector in (".opener", ".detail td button"):
            for each in self.page.locator(f"#cluster-list {selector}").all():
                each.click()
        self.wait(
            "[...document.querySelectorAll('.comparison')].every((e) => e.querySelector('.diff, .note'))"
        )


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[Callable[..., Audit]]:
    """``audited(rows, **options)`` is the audit of a feed."""
    with ExitStack() as made:
        yield lambda rows, **options: made.enter_context(
            audit(feed(tmp_path / "feed.jl", rows), seed=0, workers=1, **options)
        )


@pytest.fixture
def open_report(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Write a report and open it from disk; afterwards nothing may have been complained of or requested."""
    reports: list[Opened] = []

    def open_it(data: Audit, **context: object) -> Opened:
        path = tmp_path / f"report{len(reports)}.html"
        write_report(path, data)
        page = browser.new_context(**context).new_page()  # type: ignore[arg-type]
        opened = Opened(page, path)
        reports.append(opened)
        page.on("console", lambda message: opened.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: opened.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: opened.complaints.append(f"dialog: {dialog.message}"))
        page.on(
            "request", lambda request: request.url == path.as_uri() or opened.complaints.append(request.url)
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        return opened

    yield open_it
    for opened in reports:
        opened.page.context.close()
        assert opened.complaints == []
