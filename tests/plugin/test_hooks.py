"""What others see of duplicates: signals, also with coroutine handlers, the stats, and pages of a browser."""

from __future__ import annotations

import asyncio

import pytest

from scrapy_neardup.plugin import NearDupExtension, signals
from scrapy_neardup.plugin.outcome import NearDuplicatePage

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}
SIX = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}


def listening(spider, signal, handler):
    class Listening(spider):
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            self = super().from_crawler(crawler, *args, **kwargs)
            self.handler = handler  # signals hold handlers weakly
            crawler.signals.connect(handler, signal)
            return self

    return Listening


@pytest.mark.parametrize("in_flight", [False, True])
@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_coroutine_functions_end_before_the_callback_or_errback(site, crawl, pages, policy, in_flight):
    heard, called = [], []

    async def handler(response, verdict, policy):
        await asyncio.sleep(0.05)
        heard.append((response.url, policy))

    class Noting(pages):
        def parse(self, response):
            called.append((response.url, [url for url, _ in heard]))
            yield from super().parse(response)

        def failed(self, failure):
            assert failure.check(NearDuplicatePage)
            called.append((failure.value.response.url, [url for url, _ in heard]))

    urls = site.copies(6) if in_flight else [site.article("/a"), site.article("/b")]
    settings = {**(SIX if in_flight else ONE_BY_ONE), "NEARDUP_POLICY": policy}
    result = await crawl(listening(Noting, signals.page_duplicate, handler), settings, urls=urls)
    assert len(heard) == result["duplicate"] == len(urls) - 1
    assert {each for _, each in heard} == {policy}
    copies = {url for url, _ in heard}
    assert all(url in before for url, before in called if url in copies)
    assert len(called) == len(urls)
    assert result.errors == {}


async def test_a_coroutine_function_that_fails_is_logged(site, crawl, pages, caplog):
    async def handler():
        await asyncio.sleep(0)
        raise ValueError("broken handler")

    urls = [site.article("/a"), site.article("/b")]
    result = await crawl(listening(pages, signals.page_duplicate, handler), ONE_BY_ONE, urls=urls)
    assert result["dropped/item"] == 1
    assert "Error caught on signal handler" in caplog.text


class BrowserPage:
    """Stands for a page of scrapy-playwright, which opens no more than its limit (*places*) at once."""

    def __init__(self, places, hangs=False):
        self.places = places
        self.hangs = hangs
        self.closed = 0

    async def close(self):
        await asyncio.sleep(1000 if self.hangs else 0.01)
        self.closed += 1
        self.places.release()


@pytest.mark.parametrize("in_flight", [False, True])
@pytest.mark.parametrize("with_errback", [False, True])
@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_a_browser_page_that_nobody_would_close_is_closed(
    site, crawl, pages, policy, with_errback, in_flight
):
    opened = []
    places = asyncio.Semaphore(2)

    class Browser:
        async def process_request(self, request):
            await asyncio.wait_for(places.acquire(), 20)
            request.meta["playwright_page"] = BrowserPage(places)
            opened.append(request.meta["playwright_page"])

    class Closing(pages):
        async def start(self):
            async for request in super().start():
                yield request.replace(errback=self.failed if with_errback else None)

        async def parse(self, response):
            await response.meta["playwright_page"].close()
            yield {"url": response.url}

        async def failed(self, failure):
            await failure.request.meta["playwright_page"].close()

    urls = [site.article(f"/{number}") for number in range(6)]
    settings = {
        **(SIX if in_flight else ONE_BY_ONE),
        "NEARDUP_POLICY": policy,
        "DOWNLOADER_MIDDLEWARES": {Browser: 100},
    }
    result = await crawl(Closing, settings, urls=urls, meta={"playwright_include_page": True})
    assert [page.closed for page in opened] == [1] * 6
    assert result["duplicate"] == 5
    assert not [name for name in result.stats if name.startswith("neardup/error")]


async def test_a_browser_page_that_does_not_close_is_left(site, crawl, pages, monkeypatch):
    class NoErrback(pages):
        failed = None

    meta = {"playwright_include_page": True, "playwright_page": BrowserPage(None, hangs=True)}
    monkeypatch.setattr(NearDupExtension, "browser_page_timeout_seconds", 0.1)
    urls = [site.article("/a"), site.article("/b")]
    settings = {
        **ONE_BY_ONE,
        "NEARDUP_POLICY": "drop_page",
    }
    result = await crawl(NoErrback, settings, urls=urls, meta=meta)
    assert result["error/close_page"] == 1
    assert len(result.items) == 1
