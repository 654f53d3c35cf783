"""Crawl the pages of `site` once, and print what it took as JSON.

    python -m suite.crawl BASE WAY PAGES VARIANTS INDEX [FIRST]

WAY is "bare" (Scrapy alone), "inline" (trafilatura called in the callback), or an extractor of the plugin;
after a slash may follow the CONCURRENT_ITEMS of Scrapy's settings, which are 100 otherwise. Unless FIRST, the
number of the first of the VARIANTS, is given, the event loop is watched for stalls, which takes time. If it
is, there is an index, whose tables are searched before as they are after a thousand pages.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess

from scrapy_neardup import Detector
from scrapy_neardup.extraction.loading import load_extractor

from . import inputs
from .indexes import own_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from typing_extensions import Self

#: Pages at the beginning that are not counted: workers start, modules are imported.
WARM = 80
#: Seconds between two looks at the event loop; pages between two looks at the memory.
TICK, SAMPLE = 0.005, 250
MAX_SECONDS = 900
#: Lookups after which about every part of the tables of 10 million documents was searched.
PROBES = 2000


class PagesSpider(scrapy.Spider):
    name = "pages"

    def __init__(self, base: str, way: str, pages: int, variants: range, watched: bool) -> None:
        super().__init__()
        self.urls = [f"{base}/{variant}/{number}" for variant in variants for number in range(pages)]
        self.watched = watched
        self.extract = load_extractor("trafilatura") if way == "inline" else None
        self.seen = 0
        self.started = self.ended = (0.0, 0.0, 0.0)
        self.late: list[float] = []
        self.memory: list[tuple[int, float]] = []
        self.collecting, self.collected = 0.0, 0.0
        gc.callbacks.append(self.note_collection)

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.probe, signals.spider_opened)
        return spider

    async def probe(self) -> None:
        if self.watched:
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
            self.started = (time.perf_counter(), cpu(), own_cpu())
        elif self.seen == len(self.urls):
            self.ended = (time.perf_counter(), cpu(), own_cpu())
            if self.watched:
                self.probing.cancel()
        if self.seen % SAMPLE == 0:
            self.memory.append((self.seen, own_memory()))


def cpu() -> float:
    """Return seconds of this process and its workers."""
    total = 0.0
    process = psutil.Process()
    for each in (process, *process.children(recursive=True)):
        times = each.cpu_times()
        total += times.user + times.system
    return total


def own_cpu() -> float:
    """Return seconds of this process alone, all its threads included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def searched(path: str, extractor: str) -> Iterator[None]:
    """Hold the index open that the crawl will use, its tables having been searched in every part."""
    with Detector.open(path, extractor=load_extractor(extractor).identity) as detector:
        documents = inputs.documents(detector.index.header, PROBES, seed=0)
        for row in range(PROBES):
            detector.index.find(documents.take(slice(row, row + 1)), detector.matcher.lookups)
        yield


def main() -> None:
    base, way, pages, variants, index, *first = sys.argv[1:]
    numbers = range(int(first[0]), int(first[0]) + int(variants)) if first else range(int(variants))
    way, _, items = way.partition("/")
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
    if items:
        settings["CONCURRENT_ITEMS"] = int(items)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(PagesSpider)
    process.crawl(crawler, base=base, way=way, pages=int(pages), variants=numbers, watched=not first)
    with searched(index, way) if first and way != "bare" else nullcontext():
        process.start()
    spider, stats = crawler.spider, crawler.stats.get_stats()
    if spider.seen != len(spider.urls):
        sys.exit(f"Only {spider.seen} of {len(spider.urls)} pages were crawled.")
    counted = spider.seen - WARM
    seconds, used, own = (end - start for start, end in zip(spider.started, spider.ended, strict=True))
    answer = {
        "rate": counted / seconds,
        "cpu": used / counted,
        "own": own / counted,
        "stall": float(np.percentile(spider.late, 99)) * 1000 if spider.late else 0.0,
        "collection": spider.collected * 1000,
        "memory": spider.memory,
        "judged": stats.get("neardup/checked", 0),
        "unique": stats.get("neardup/unique", 0),
    }
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
