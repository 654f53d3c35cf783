"""Crawls of sites that are made up: any host, any status, headers and body, without a network."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

from .loop import LoopWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.http import Response

HTML = "text/html; charset=utf-8"


class Answer(NamedTuple):
    """What a site answers."""

    body: bytes
    content_type: str | None = HTML
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012


class MadeUpSites(BaseDownloadHandler):
    """Answers each request by what the function ``answer`` of the spider says of its URL."""

    async def download_request(self, request: Request) -> Response:
        answer: Answer = self.crawler.spider.answer(request.url)  # type: ignore[union-attr]
        await asyncio.sleep(0)
        headers = Headers(answer.headers)
        if answer.content_type is not None:
            headers["Content-Type"] = answer.content_type
        kind = responsetypes.from_args(headers=headers, url=request.url, body=answer.body)
        return kind(url=request.url, status=answer.status, headers=headers, body=answer.body)


SETTINGS: dict[str, Any] = {
    "ADDONS": {"scrapy_neardup.addon.Addon": 700},
    "DOWNLOAD_HANDLERS": {"http": MadeUpSites, "https": MadeUpSites},
    "NEARDUP_WORKERS": 2,
    "TWISTED_REACTOR_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    "RETRY_ENABLED": False,
    # It stumbles over charsets that are none, so that such pages would not come to the package.
    "METAREFRESH_ENABLED": False,
    "LOG_LEVEL": "CRITICAL",
    # Scrapy starts so many tasks for each page.
    "CONCURRENT_ITEMS": 2,
    # All pages are on this machine.
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1000,
}


@dataclass
class Crawled:
    """What a crawl has left behind, noted outside the package."""

    stats: dict[str, Any] = field(default_factory=dict)
    #: How often the callback was called with each URL, and how often its item was stored.
    called: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    #: URLs whose download failed, with the error: Scrapy's doing, such as bodies that are too large.
    failed: dict[str, str] = field(default_factory=dict)
    #: The URL that each page was taken for a copy of.
    matches: dict[str, str] = field(default_factory=dict)
    #: Seconds from the download of each page to its callback.
    waits: dict[str, float] = field(default_factory=dict)
    loop: LoopWatch = field(default_factory=LoopWatch)
    downloads: int = 0

    def __getitem__(self, name: str) -> Any:
        return self.stats.get(f"neardup/{name}", 0)

    @property
    def errors(self) -> dict[str, Any]:
        """Return what the package has counted as its failures."""
        return {name: count for name, count in self.stats.items() if name.startswith("neardup/error")}

    def lost(self, urls: Iterable[str]) -> list[str]:
        """Return which of *urls* came neither to the callback nor to an error of the download."""
        return [url for url in urls if not self.called[url] and url not in self.failed]

    def dropped(self, urls: Iterable[str]) -> list[str]:
        """Return which of *urls* came to the callback, but whose item was not stored."""
        return [url for url in urls if self.called[url] and not self.stored[url]]


class PagesSpider(Spider):
    """Asks for *urls* in their order, and yields an item for each page."""

    name = "pages"

    def __init__(
        self,
        urls: Iterable[str],
        answer: Callable[[str], Answer],
        crawled: Crawled,
        item: Callable[[Response], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.urls, self.answer, self.crawled, self.item = urls, answer, crawled, item

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url, errback=self.failed, dont_filter=True, meta={"asked": url})

    def parse(self, response: Response) -> Any:
        url, crawled = response.meta["asked"], self.crawled
        crawled.called[url] += 1
        crawled.waits[url] = time.monotonic() - response.meta["downloaded"]
        if "neardup_match" in response.meta:
            crawled.matches[url] = response.meta["neardup_match"]["url"]
        # An item whose values come with the request would be kept whatever its page repeats.
        yield {"read": f"{len(response.body)} bytes at {url}"} if self.item is None else self.item(response)

    def failed(self, failure: Any) -> None:
        self.crawled.failed[failure.request.meta["asked"]] = repr(failure.value)[:200]


def crawl(
    urls: Iterable[str],
    answer: Callable[[str], Answer],
    settings: dict[str, Any] | None = None,
    *,
    spider: type[Spider] = PagesSpider,
    **arguments: Any,
) -> Crawled:
    """Crawl *urls* in this process, one after another as far as the settings say so."""
    crawled = Crawled()

    def downloaded(request: Request) -> None:
        request.meta["downloaded"] = time.monotonic()
        if not crawled.downloads:
            crawled.loop.holds.clear()  # what there was before the first page has held up none
        crawled.downloads += 1

    def scraped(item: Any, response: Response) -> None:
        crawled.stored[response.meta["asked"]] += 1

    async def run() -> None:
        crawler = Crawler(spider, {**SETTINGS, **(settings or {})})
        crawler.signals.connect(downloaded, signals.response_downloaded)
        crawler.signals.connect(scraped, signals.item_scraped)
        with crawled.loop:
            await crawler.crawl_async(urls=urls, answer=answer, crawled=crawled, **arguments)
        assert crawler.stats is not None
        crawled.stats = crawler.stats.get_stats()

    asyncio.run(run())
    return crawled
