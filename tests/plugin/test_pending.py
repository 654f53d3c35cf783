"""Of equal pages in flight at once exactly one is unique under every policy, and none is lost if it fails."""

import threading
import time

import pytest
from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.detector import Detector
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.plugin import NearDuplicatePage

policies = pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])


def check_one_unique(result, policy, callbacks):
    """*callbacks*: calls of the callback under drop_page."""
    assert result["unique"] == 1 + result["released"]
    assert result["duplicate"] == 5 - result["released"]
    assert result["confirmed"] == 1
    seen = result.spider.seen
    assert len(seen) == len(set(seen)) == (callbacks if policy == "drop_page" else 6)


@pytest.mark.parametrize("remote", [False, True])
@policies
async def test_six_at_once(site, crawl, pages, policy, remote, monkeypatch):
    """Also if the index is on another machine, so that threads ask it."""
    reserve, threads = Detector.reserve, set()

    def slow(*arguments, **options):
        threads.add(threading.current_thread())
        time.sleep(0.02)
        return reserve(*arguments, **options)

    if remote:
        monkeypatch.setattr(LmdbIndex, "remote", True)
        monkeypatch.setattr(Detector, "reserve", slow)
    result = await crawl(pages, {"NEARDUP_POLICY": policy}, urls=site.copies(6), at_once=6)
    check_one_unique(result, policy, callbacks=1)
    assert len(result.items) == (6 if policy == "tag" else 1)
    assert len(result.spider.matches) == (0 if policy == "drop_page" else 5)
    assert len(result.spider.failures) == (5 if policy == "drop_page" else 0)
    assert all(failure.request.callback == result.spider.parse for failure in result.spider.failures)
    assert bool(threads) == remote
    assert threading.main_thread() not in threads


class Kinds:
    """Callbacks of each kind that Scrapy takes; each but the last yields one item."""

    def generator(self, response):
        self.note(response)
        yield {"url": response.url}

    def single(self, response):
        return next(self.generator(response))

    async def coroutine(self, response):
        return [*self.generator(response)]

    async def asyncgen(self, response):
        yield self.single(response)

    def arguments(self, response, name):
        assert name == "value"
        yield from self.generator(response)

    def nothing(self, response):
        self.note(response)


@policies
@pytest.mark.parametrize(
    "kind", ["generator", "single", "coroutine", "asyncgen", "nothing", "arguments", "parse"]
)
async def test_callback_kinds(site, crawl, pages, policy, kind):
    class Kind(Kinds, pages):
        async def start(self):
            callback = None if kind == "parse" else getattr(self, kind)  # None: the spider's parse
            kwargs = {"name": "value"} if kind == "arguments" else {}
            for url in self.urls:
                yield Request(url, callback, cb_kwargs=kwargs)

    result = await crawl(Kind, {"NEARDUP_POLICY": policy}, urls=site.copies(6), at_once=6)
    check_one_unique(result, policy, callbacks=1)
    assert len(result.items) == (0 if kind == "nothing" else 6 if policy == "tag" else 1)


@pytest.mark.parametrize("way", ["yields", "raises", "returns_failure", "raises_other"])
async def test_errback_of_a_latecomer(site, crawl, pages, way):
    class Errback(pages):
        def failed(self, failure):
            super().failed(failure)
            assert failure.check(NearDuplicatePage)
            if way == "raises":
                failure.raiseException()
            if way == "raises_other":
                raise KeyError("broken errback")
            if way == "returns_failure":
                return failure
            return [{"url": failure.value.response.url, "copy": True}]

    settings, other = {"NEARDUP_POLICY": "drop_page"}, way == "raises_other"
    result = await crawl(Errback, settings, urls=site.copies(6), at_once=6, raises=other)
    assert len(result.spider.failures) == 5
    assert len(result.items) == (6 if way == "yields" else 1)
    assert result.stats.get("spider_exceptions/count", 0) == 5 * other


async def test_callback_sees_the_request_as_it_was(site, crawl, pages):
    class Copying(pages):
        def parse(self, response):
            self.note(response)
            assert response.request.callback == self.parse
            url = response.url.replace("/together/", "/other/")
            yield response.request.replace(url=url, callback=self.other)

        def other(self, response):
            assert response.url not in self.matches
            self.note(response)

    for number in range(6):
        site.article(f"/other/{number}", seed=number + 1)
    result = await crawl(Copying, {"NEARDUP_POLICY": "tag"}, urls=site.copies(6), at_once=6)
    assert len(result.spider.seen) == 12
    assert len(result.spider.matches) == 5  # copied meta marks nobody
    assert result["unique"] == 7


async def test_waits_no_longer_than_the_limit(site, crawl, pages):
    class Slow(pages):
        async def parse(self, response):
            self.note(response)
            if len(self.seen) == 1:
                await run_in_thread(time.sleep, 1.5)
            yield {"url": response.url}

    settings = {"NEARDUP_PENDING_TIMEOUT": 0.3, "NEARDUP_POLICY": "drop_page"}
    result = await crawl(Slow, settings, urls=site.copies(6), at_once=6, fails=True)
    assert result["error/pending_timeout"] == 5
    assert len(result.items) == 6
