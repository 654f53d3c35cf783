"""Whatever fails inside the plugin, every page still reaches its callback and every item its feed."""

from concurrent.futures import Future

import pytest

from scrapy_neardup.detector import Detector
from scrapy_neardup.extraction import Extraction, Workers
from scrapy_neardup.extraction.fair_queue import STRIKES
from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.matching.items import ItemNotes
from scrapy_neardup.plugin import (
    NearDupDownloaderMiddleware,
    NearDupExtension,
    middlewares,
    pipeline,
    reservations,
)
from scrapy_neardup.plugin.page import CrawledPage
from scrapy_neardup.plugin.reservations import Reservations
from tests.helpers.site import Site

SETTINGS = {"NEARDUP_ITEM_FIELDS": ["text"], "NEARDUP_POLICY": "drop_page"}


class BrokenError(Exception):
    pass


def fail(*args, **kwargs):
    raise BrokenError("injected")


@pytest.fixture
def crawl_five(site, crawl, pages, text):
    """Crawl five different pages that each yield an item with a text."""

    class Texts(pages):
        def parse(self, response):
            self.note(response)
            yield {"url": response.url, "text": text(int(response.url[-1]) + 100)}

    async def run(settings=None):
        urls = site.articles(5)
        result = await crawl(Texts, {**SETTINGS, **(settings or {})}, urls=urls, at_once=5, fails=True)
        assert sorted(result.spider.seen) == result.urls == urls
        assert "log_count/ERROR" not in result.stats
        return result

    return run


@pytest.mark.parametrize(
    ("target", "method", "stat"),
    [
        (Detector, "reserve", "error/reserve"),
        (Detector, "flush", "error/flush"),
        (Detector, "gauges", "error/gauges"),
        (Reservation, "confirm", "error/settle"),
        (Reservation, "release", None),
        (Workers, "start", "error/start"),
        (Workers, "submit", "error/extract"),
        (Workers, "close", "error/close"),
        (middlewares, "skip_reason", "error/extract"),
        (middlewares, "clear_marks", "error/extract"),
        (CrawledPage, "__init__", "error/extract"),
        (NearDupDownloaderMiddleware, "_extract", "error/extract"),
        (NearDupExtension, "scope_for", "error/input"),
        (NearDupExtension, "policy_for", "error/input"),
        (CrawledPage, "judge", "error/input"),
        (CrawledPage, "_signature", "error/input"),
        (ItemNotes, "describe", "error/output"),
        (Reservations, "confirm", "error/settle"),
        (reservations, "_flush_feeds", "error/flush"),
        (pipeline, "fields_of", "error/item"),
    ],
)
async def test_injected(crawl_five, monkeypatch, target, method, stat):
    original = getattr(target, method)
    if (target, method) == (Workers, "close"):
        monkeypatch.setattr(target, method, lambda self: (original(self), fail()))
    elif (target, method) == (Workers, "start"):
        monkeypatch.setattr(target, method, _first(fail, original))
    else:
        monkeypatch.setattr(target, method, fail)
    result = await crawl_five()
    assert stat is None or result[stat] >= 1


@pytest.mark.parametrize("reason", ["no_text", "not_text", "timeout", "crash", "memory", "failed"])
async def test_every_reason_of_the_extraction(crawl_five, monkeypatch, reason):
    def submit(self, page):
        future = Future()
        future.set_result(Extraction(None, reason, 0.25, False, "a detail"))
        return future

    monkeypatch.setattr(Workers, "submit", submit)
    result = await crawl_five()
    stage = "skipped/" if reason in ("no_text", "not_text") else "error/extract/"
    examined = STRIKES if reason == "timeout" else 5
    assert result[stage + reason] == examined
    assert result["skipped/slow_site"] == 5 - examined
    assert result["extract_seconds"] == 0.25 * examined
    assert result["checked"] == 0


@pytest.mark.parametrize(("cancelled", "stat"), [(False, "extract/stuck"), (True, "extract")])
async def test_stuck_workers_and_cancelled_futures(crawl_five, monkeypatch, cancelled, stat):
    def submit(self, page):
        future = Future()
        if cancelled:
            future.cancel()
        return future

    monkeypatch.setattr(Workers, "submit", submit)
    monkeypatch.setattr(middlewares, "GRACE_SECONDS", 0.2)
    result = await crawl_five({"NEARDUP_EXTRACT_TIMEOUT": 0.1})
    assert result[f"error/{stat}"] == 5


def _first(first, then):
    calls = []

    def method(self, *args):
        calls.append(1)
        return first() if len(calls) == 1 else then(self, *args)

    return method


async def test_a_site_whose_pages_hang_holds_up_no_other(site, crawl, pages, monkeypatch):
    """It takes up all of CONCURRENT_REQUESTS at first. How long others wait: tests/extraction."""
    submit = Workers.submit

    def late(self, page):
        if "/hang/" not in page.url:
            return submit(self, page)
        future = Future()
        future.set_result(Extraction(None, "timeout", 10.0))
        return future

    monkeypatch.setattr(Workers, "submit", late)
    hostile = [site.article(f"/hang/{number}", number + 50) for number in range(20)]
    with Site() as other:  # another port is another site
        innocent = [other.article(f"/{number}", number) for number in range(20)]
        result = await crawl(pages, urls=[*hostile, *innocent], at_once=16, fails=True)
    assert result.counts("error/extract/timeout", "skipped/slow_site") == [STRIKES, 20 - STRIKES]
    assert (len(result.items), result["unique"]) == (40, 20)
