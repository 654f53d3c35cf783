"""An index on another machine is asked in threads: verdicts are the same, and its troubles lose nothing."""

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
from tests.index.redis_server import running

SIX = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}


@pytest.fixture
def reserving(monkeypatch):
    """Return a decorator of what is done before an index is asked; the thread that asked is noted."""
    monkeypatch.setattr(LmdbIndex, "remote", True)
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


@pytest.mark.slow
async def test_pages_pass_while_the_server_is_away_and_it_is_used_again_when_it_is_back(
    site, crawl, pages, tmp_path, caplog
):
    urls = [site.article(f"/{number}", seed=number % 4) for number in range(8)]

    with running(tmp_path / "server") as server:

        class Cut(pages):
            async def start(self):
                requests = [request async for request in super().start()]
                server.kill()
                for number, request in enumerate(requests):
                    if number == 4:
                        await run_in_thread(server.start)
                        await asyncio.sleep(3)
                    yield request
                    # The fifth tries whether it is back, and others do not wait.
                    while number in (3, 4) and len(self.seen) <= number:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)

        settings = {"NEARDUP_STORE": server.url(), "CONCURRENT_REQUESTS": 1}
        result = await crawl(Cut, settings, urls=urls)
    assert len(result.items) == 8
    assert result["error/reserve"] == 4
    assert result["unique"] == 4
    said = [record.getMessage() for record in caplog.records if record.name.startswith("scrapy_neardup")]
    assert sum("cannot be used" in message for message in said) == 1
    assert sum("in use again" in message for message in said) == 1
