"""An index on another machine is asked in threads: verdicts are the same, and none is waited for too long.

Here it is a local one that says of itself that it is elsewhere.
"""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex

SIX = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    monkeypatch.setattr(LmdbIndex, "remote", True)


@pytest.fixture
def reserving(monkeypatch):
    """Return a decorator of what is done before an index is asked; the thread that asked is noted."""
    reserve, threads = Detector.reserve, set()

    def use(before):
        def asked(detector, *arguments, **options):
            threads.add(threading.current_thread())
            before()
            return reserve(detector, *arguments, **options)

        monkeypatch.setattr(Detector, "reserve", asked)
        return threads

    return use


@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_six_at_once(site, crawl, pages, reserving, policy):
    threads = reserving(lambda: time.sleep(0.02))
    result = await crawl(pages, {**SIX, "NEARDUP_POLICY": policy}, urls=site.copies(6))
    assert threading.main_thread() not in threads
    assert (result["unique"], result["duplicate"], result["confirmed"]) == (1, 5, 1)
    assert len(result.spider.seen) == (1 if policy == "drop_page" else 6)
    assert len(result.items) == (6 if policy == "tag" else 1)
    assert len(result.spider.failures) == (5 if policy == "drop_page" else 0)
    assert result.errors == {}


async def test_the_event_loop_goes_on_meanwhile(site, crawl, pages, reserving):
    """An index that answers once the event loop has made ten turns is not waited for by that loop."""
    turns, more = [], threading.Semaphore(0)

    def ten_turns():
        while more.acquire(blocking=False):
            pass  # turns before the index was asked
        turns.append(all(more.acquire(timeout=30) for _ in range(10)))

    reserving(ten_turns)

    class Watching(pages):
        async def start(self):
            self.ticking = asyncio.create_task(tick())
            async for each in super().start():
                yield each

    async def tick():
        while True:
            more.release()
            await asyncio.sleep(0.01)

    await crawl(Watching, urls=[site.article("/a"), site.article("/b", 2)])
    assert turns == [True, True]


async def test_an_index_that_fails_lets_all_pages_pass(site, crawl, pages, reserving):
    def fail():
        raise IndexUnavailable("The server is gone: start it.")

    reserving(fail)
    result = await crawl(pages, {"NEARDUP_POLICY": "drop_page"}, urls=site.copies(3))
    assert len(result.spider.seen) == len(result.items) == 3
    assert result["error/reserve"] == 3
    assert (result["unique"], result["checked"]) == (0, 0)


async def test_an_error_that_nobody_expects_lets_all_pages_pass(site, crawl, pages, reserving):
    reserving(lambda: 1 // 0)
    result = await crawl(pages, urls=site.copies(3))
    assert len(result.items) == 3
    assert result["error/reserve"] == 3


@pytest.mark.parametrize(("fails", "errors", "judged"), [(False, 1, 1), (True, 2, 0)])
async def test_an_index_that_does_not_answer_is_not_waited_for(
    site, crawl, pages, reserving, caplog, fails, errors, judged
):
    """What it answers later is released: nobody knows whether the page is stored. A late error is nothing."""
    answers, in_time = threading.Event(), []

    def late():
        in_time.append(answers.wait(60))
        if fails:
            raise IndexUnavailable("The server is gone: start it.")

    reserving(late)

    class Late(pages):
        async def parse(self, response):
            self.note(response)
            yield {"url": response.url}
            if response.url.endswith("/a"):
                answers.set()
                await run_in_thread(time.sleep, 0.5)
                yield Request(f"{site.url}/b", self.parse)

    site.article("/b")
    result = await crawl(Late, {"NEARDUP_PENDING_TIMEOUT": 0.3}, urls=[site.article("/a")])
    assert in_time == [True, True]
    assert f"no answer of the index for {site.url}/a" in caplog.text
    assert "exception calling callback" not in caplog.text
    assert {name: count for name, count in result.errors.items() if count} == {
        "neardup/error/reserve": errors
    }
    assert (len(result.items), result["checked"], result["unique"]) == (2, judged, judged)


async def test_unchanged_revisits(site, crawl, pages):
    urls = [site.article("/a"), site.article("/b", 2)]
    settings = {"NEARDUP_DIR": "index", "NEARDUP_REVISITS": "drop_page"}
    first = await crawl(pages, settings, urls=urls)
    second = await crawl(pages, settings, urls=urls)
    assert (first["unique"], second["revisit"]) == (2, 2)
    assert (len(first.spider.seen), len(second.spider.seen)) == (2, 0)
