"""Crawl the pages of `site` once, and print what it took as JSON.

    python -m suite.crawl BASE WAY PAGES INDEX

WAY is "bare" (Scrapy alone), "inline" (trafilatura called in the callback), or an extractor of the plugin.
The event loop is watched for stalls.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from statistics import quantiles
from typing import Any

import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from typing_extensions import Self

#: Pages at the beginning that are not counted: workers start, modules are imported.
WARM = 80
#: Seconds between two looks at the event loop.
TICK = 0.005
MAX_SECONDS = 900


class PagesSpider(scrapy.Spider):
    name = "pages"

    def __init__(self, base: str, way: str, pages: int) -> None:
        super().__init__()
        self.urls = [f"{base}/{number}" for number in range(pages)]
        self.extract = None
        if way == "inline":
            from scrapy_neardup.extraction.libraries import load_extractor

            self.extract = load_extractor("trafilatura")
        self.seen = 0
        self.started = self.ended = (0.0, 0.0)
        self.late: list[float] = []
        self.collecting, self.collected = 0.0, 0.0
        gc.callbacks.append(self.note_collection)

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.probe, signals.spider_opened)
        return spider

    async def probe(self) -> None:
        self.probing = asyncio.ensure_future(self._probe())

    async def _probe(self) -> None:
        """Note by how much a short sleep is too long, once the crawl is under way."""
        while True:
            start = time.perf_counter()
            await asyncio.sleep(TICK)
            if WARM <= self.seen < len(self.urls):
                self.late.append(time.perf_counter() - start - TICK)

    def note_collection(self, phase: str, info: dict[str, int]) -> None:
        """Note the longest time that Python took to look through all objects of the process for garbage."""
        if phase == "start":
            self.collecting = time.perf_counter()
        elif info["generation"] == 2 and WARM <= self.seen < len(self.urls):
            self.collected = max(self.collected, time.perf_counter() - self.collecting)

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield scrapy.Request(url, self.parse, errback=self.failed)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        item = {"url": response.url, "title": response.css("title::text").get(), "size": len(response.body)}
        if self.extract is not None:
            item["text"] = self.extract(response.text, response.url)
        self.count()
        yield item

    def failed(self, failure: Any) -> None:
        raise SystemExit(f"A page could not be crawled: {failure.value!r}")

    def count(self) -> None:
        self.seen += 1
        if self.seen == WARM:
            self.started = (time.perf_counter(), own_cpu())
        elif self.seen == len(self.urls):
            self.ended = (time.perf_counter(), own_cpu())
            self.probing.cancel()


def own_cpu() -> float:
    """Return seconds of this process alone, all its threads included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    base, way, pages, index = sys.argv[1:]
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "CLOSESPIDER_TIMEOUT": MAX_SECONDS,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
    }
    if way not in ("bare", "inline"):
        settings |= {
            "ADDONS": {"scrapy_neardup.Addon": 700},
            "NEARDUP_EXTRACTOR": way,
            "NEARDUP_DIR": index,
            "NEARDUP_POLICY": "tag",  # each page has to be counted
        }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(PagesSpider)
    process.crawl(crawler, base=base, way=way, pages=int(pages))
    process.start()
    spider, stats = crawler.spider, crawler.stats.get_stats()
    if spider.seen != len(spider.urls):
        sys.exit(f"Only {spider.seen} of {len(spider.urls)} pages were crawled.")
    counted = spider.seen - WARM
    seconds, own = (end - start for start, end in zip(spider.started, spider.ended, strict=True))
    answer = {
        "rate": counted / seconds,
        "own": own / counted,
        "stall": quantiles(spider.late or [0, 0], n=100, method="inclusive")[-1] * 1000,
        "collection": spider.collected * 1000,
        "judged": stats.get("neardup/checked", 0),
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
