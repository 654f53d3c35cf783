"""What became of each page: gathered from signals, the report and the stats of a crawl."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.http import HtmlResponse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from site_pages import Page


DUPLICATE = ("exact", "near")
#: Passed on as a page of its own, whatever else it is like.
KEPT = frozenset({"unique", "template", "items_differ", "fuller"})
#: Tagged under every policy, never dropped.
TAGGED = ("too_short", "wall", "template")


@dataclass(slots=True)
class Outcome:
    """One page that reached the spider."""

    url: str
    title: str
    #: unique, items_differ, fuller, exact, near, revisit, too_short, wall, template; skipped: not judged.
    verdict: str
    match: str | None = None
    distance: int | None = None
    similarity: float | None = None
    #: The first field that the item of the page like it has, and with another value.
    field: str = ""


class Outcomes:
    """The pages of one crawl by URL, and the counts of the last line."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.pages: dict[str, Outcome] = {}
        self.crawled = 0
        crawler.signals.connect(self._received, signals.response_received)

    def read_report(self, path: Path, start: int) -> None:
        """Take the decisions from the lines that this crawl appended to the report from byte *start* on."""
        if not path.exists():
            return
        with path.open("rb") as file:
            file.seek(start)
            for line in map(json.loads, file):
                page = self.pages[line["url"]]
                page.verdict, page.match = line["verdict"], line["match"]
                page.distance, page.similarity = line["distance"], line["similarity"]
                page.field = line["why"].get("field", "")

    def as_met(self, expected: Mapping[str, Page]) -> dict[str, Page]:
        """Exchange what is expected of a story and of its copy where the copy was met first.

        Nobody can promise the order in which pages of several sites arrive: one is slow, another fails at
        first.
        """
        pages = dict(expected)
        for url, original in expected.items():
            outcome = self.pages.get(url)
            if outcome is None or outcome.verdict not in DUPLICATE or original.expect[0] in DUPLICATE:
                continue
            first = outcome.match or ""
            copy = expected.get(first)
            if copy is not None and copy.story == original.story and copy.expect[0] in DUPLICATE:
                pages[url] = replace(original, expect=copy.expect)
                pages[first] = replace(copy, expect=original.expect)
        return pages

    def surprises(self, expected: Mapping[str, Page], *, first_run: bool) -> dict[str, str]:
        """Return the pages that did not meet with what the table of sites expects, with a reason."""
        found = {}
        for url, page in expected.items():
            verdict = self.pages[url].verdict if url in self.pages else None
            if page.expect in (("redirect",), ("not found",)):
                wrong = verdict is not None
            elif verdict in KEPT:  # which of them depends on which page was met first
                wrong = KEPT.isdisjoint(page.expect)
            elif verdict in DUPLICATE:  # which of the two depends on what the extraction leaves of a template
                wrong = page.expect[0] not in DUPLICATE and verdict not in page.expect
            else:
                wrong = verdict not in page.expect and (first_run or verdict != "revisit")
            if wrong:
                found[url] = f"{verdict or 'not crawled'} instead of {' or '.join(page.expect)}"
        return found

    def recognised(self, expected: Mapping[str, Page]) -> tuple[int, int]:
        """Return how many of the copies judged in this crawl were found to be ones, and of how many."""
        verdicts = [
            self.pages[url].verdict
            for url, page in expected.items()
            if url in self.pages and page.expect[0] in DUPLICATE
        ]
        found = sum(verdict in DUPLICATE for verdict in verdicts)
        return found, found + verdicts.count("unique")

    def also(self) -> str:
        """Say what else the crawl met."""
        stats = self.crawler.stats.get_value
        return (
            f"also met {stats('downloader/response_status_count/301', 0)} redirect, "
            f"{stats('downloader/response_status_count/404', 0)} page not found, "
            f"{stats('retry/count', 0)} retry, {stats('robotstxt/forbidden', 0)} links forbidden by "
            "robots.txt"
        )

    @property
    def exact(self) -> int:
        return self._stat("duplicate/exact")

    @property
    def near(self) -> int:
        return self._stat("duplicate/near")

    @property
    def tags_duplicates(self) -> bool:
        return bool(self.crawler.settings.get("NEARDUP_POLICY") == "tag")

    @property
    def skipped(self) -> int:
        """Pages that were not judged: opted out, not HTML, without text, or failed."""
        return self._sum("skipped/") + self._sum("error/extract/")

    @property
    def errors(self) -> int:
        """Failures of any kind, and pages that the counts do not account for."""
        stats = self.crawler.stats.get_stats()
        spider = sum(count for name, count in stats.items() if name.startswith("spider_exceptions/"))
        accounted = self._stat("checked") + self.skipped
        return int(
            self._sum("error/")
            + spider
            + stats.get("log_count/ERROR", 0)
            + (stats.get("finish_reason") != "finished")
            + abs(self.crawled - accounted)
        )

    def last_line(self) -> str:
        duplicates = self.exact + self.near
        dropped, exact, near = (0, 0, 0) if self.tags_duplicates else (duplicates, self.exact, self.near)
        tagged = sum(map(self._stat, TAGGED)) + (duplicates if self.tags_duplicates else 0)
        kept = sum(map(self._stat, ("unique", "items_differ", "fuller")))
        return (
            f"demo: crawled {self.crawled} pages, kept {kept}, dropped {dropped} "
            f"(exact {exact}, near {near}), tagged {tagged}, revisits {self._stat('revisit')}, "
            f"skipped {self.skipped}, errors {self.errors}"
        )

    def _received(self, response: Response) -> None:
        if not 200 <= response.status < 300 or response.url.endswith("/robots.txt"):
            return
        self.crawled += 1
        is_html = isinstance(response, HtmlResponse)
        judged = is_html and response.meta.get("neardup") is not False
        title = response.css("h1, article h2").xpath("normalize-space()").get("") if is_html else ""
        self.pages[response.url] = Outcome(response.url, title, "unique" if judged else "skipped")

    def _stat(self, name: str) -> int:
        return int(self.crawler.stats.get_value(f"neardup/{name}", 0))

    def _sum(self, prefix: str) -> int:
        stats = self.crawler.stats.get_stats()
        return sum(count for name, count in stats.items() if name.startswith(f"neardup/{prefix}"))
