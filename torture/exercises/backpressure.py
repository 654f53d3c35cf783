"""More items, requests and pages at a time than the package can take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.plugin.conftest import words
from torture.crawling import Answer, Crawled, PagesSpider, crawl
from torture.exercise import Exercise, Round
from torture.gauges import own_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

#: Items of a page, and pages that yield so many. Each third item repeats another one.
ITEMS, LISTS = 1000, 3
#: Requests at a time, and pages.
CONCURRENT, PAGES = 1000, 1100
#: Bytes that the process may take at most beyond what it had at the start.
MEMORY = 300_000_000
#: Seconds for which the package may hold the event loop.
HELD = 0.05


def run(seed: int, folder: Path) -> Round:
    outcome = Round()
    _many_items(outcome, folder, seed)
    _many_requests(outcome, folder, seed)
    return outcome


class Peak:
    """Notes the most memory that the process takes, whenever it looks."""

    def __init__(self) -> None:
        self.before = self.memory = own_memory()

    def look(self) -> None:
        self.memory = max(self.memory, own_memory())

    @property
    def grown(self) -> int:
        return self.memory - self.before


class Lists(PagesSpider):
    """Yields as many items as it can of each page."""

    peak: Peak

    def parse(self, response: Response) -> Iterator[Any]:
        self.crawled.called[response.url] += 1
        number = int(response.url.rsplit("/", 1)[1])
        for item in range(ITEMS):
            if item % 500 == 0:
                self.peak.look()
            text = words(number * ITEMS + item - (item % 3 == 2), 45)
            yield {"url": f"{response.url}/{item}", "text": text, "number": item}


def _many_items(outcome: Round, folder: Path, seed: int) -> None:
    urls = [f"https://lists.example/{seed * LISTS + number}" for number in range(LISTS)]
    peak, started = Peak(), time.monotonic()
    Lists.peak = peak
    settings = {
        "NEARDUP_DIR": str(folder / "items"),
        "NEARDUP_ITEM_FIELDS": ["text"],
        "NEARDUP_RULES": [{"url": "", "policy": False}],
        "CONCURRENT_ITEMS": 100,
    }
    crawled = crawl(urls, lambda url: Answer(b"<p>list</p>"), settings, spider=Lists)
    seconds = time.monotonic() - started
    outcome.counts["items"] += LISTS * ITEMS
    scraped, dropped = crawled.stats.get("item_scraped_count", 0), crawled["item/dropped"]
    expected = LISTS * (ITEMS // 3)
    if scraped + dropped != LISTS * ITEMS or dropped > expected:
        outcome.violations.append(
            f"of {LISTS * ITEMS} items {scraped} were stored and {dropped} dropped; {expected} repeat others"
        )
    _judge(outcome, "items", crawled, peak)
    print(f"items: {LISTS * ITEMS / seconds:.0f} a second, {dropped} dropped, {peak.grown / 1e6:.0f} MB more")


def _many_requests(outcome: Round, folder: Path, seed: int) -> None:
    """A thousand requests at a time, and an extractor that takes 20 ms for each page."""
    urls = [f"https://site{number % 97}.example/{number}" for number in range(PAGES)]
    peak = Peak()

    def answer(url: str) -> Answer:
        peak.look()
        number = int(url.rsplit("/", 1)[1])
        # Each tenth page repeats the one before it.
        text = words(seed * PAGES + number - (number % 10 == 9), 120)
        return Answer(f"<title>{number}</title><p>{text}</p>".encode() + b"<!-- -->" * 2000)

    settings = {
        "NEARDUP_DIR": str(folder / "pages"),
        "NEARDUP_EXTRACTOR": "torture.slow_extractor.slow",
        "CONCURRENT_REQUESTS": CONCURRENT,
    }
    crawled = crawl(urls, answer, settings)
    lost = crawled.lost(urls)
    # Of the two pages that repeat each other either one may come first.
    dropped = set(crawled.dropped(urls))
    pairs = {urls[number]: urls[number ^ 1] for number in range(PAGES) if number % 10 in (8, 9)}
    for url in lost + [url for url in dropped if url not in pairs or pairs[url] in dropped]:
        outcome.violations.append(f"{url} was lost, its match is {crawled.matches.get(url)}")
    outcome.counts["pages at 1000 requests"] += PAGES
    _judge(outcome, "requests", crawled, peak)
    print(f"requests: {crawled['checked']} checked, {crawled['duplicate']} copies, "
          f"{crawled['skipped/slow_site']} passed, {peak.grown / 1e6:.0f} MB more, "
          f"longest wait {max(crawled.waits.values()):.1f} s")  # fmt: skip


def _judge(outcome: Round, what: str, crawled: Crawled, peak: Peak) -> None:
    if crawled.errors:
        outcome.violations.append(f"{what}: the package counts {crawled.errors}")
    if peak.grown > MEMORY:
        outcome.violations.append(f"{what}: the process took {peak.grown / 1e6:.0f} MB more")
    for hold in crawled.loop.held_by_package(HELD):
        outcome.violations.append(f"{what}: the loop was held {hold.busy * 1000:.0f} ms by {hold.where}")


EXERCISE = Exercise(
    name="backpressure",
    promise="Whatever comes at once, nothing is lost, what waits is bounded, and memory stays flat.",
    how="Pages that yield thousands of items as fast as they can; a thousand requests at a time with an "
    "extractor that takes 20 ms.",
    goals={"items": 500_000, "pages at 1000 requests": 60_000},
    run=run,
    seconds=45,
)
