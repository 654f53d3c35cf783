"""An index on another machine that is slow, away or back again loses no page. See test_pending.py, too."""

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


@pytest.mark.parametrize(("fails", "errors", "judged"), [(False, 1, 1), (True, 2, 0)])
async def test_an_index_that_does_not_answer_is_not_waited_for(
    site, crawl, pages, monkeypatch, caplog, fails, errors, judged
):
    """What it answers later is released: nobody knows whether the page is stored. A late error is nothing."""
    answers, in_time, reserve = threading.Event(), [], Detector.reserve

    def late(*arguments, **options):
        in_time.append(answers.wait(60))
        if fails:
            raise IndexUnavailable("The server is gone: start it.")
        return reserve(*arguments, **options)

    monkeypatch.setattr(LmdbIndex, "remote", True)
    monkeypatch.setattr(Detector, "reserve", late)

    class Late(pages):
        async def parse(self, response):
            self.note(response)
            yield {"url": response.url}
            if response.url.endswith("/a"):
                answers.set()
                await run_in_thread(time.sleep, 0.5)
                yield Request(f"{site.url}/b", self.parse)

    site.article("/b")
    settings = {"NEARDUP_PENDING_TIMEOUT": 0.3}
    result = await crawl(Late, settings, urls=[site.article("/a")], at_once=2, fails=True)
    assert in_time == [True, True]
    assert f"no answer of the index for {site.url}/a" in caplog.text
    assert "exception calling callback" not in caplog.text
    assert result.errors == {"neardup/error/reserve": errors}
    assert [len(result.items), *result.counts("checked", "unique")] == [2, judged, judged]


@pytest.mark.slow
async def test_pages_pass_while_the_server_is_away_and_it_is_used_again_when_it_is_back(
    site, crawl, pages, tmp_path, caplog
):
    urls = site.articles(8, repeat=4)
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

        result = await crawl(Cut, {"NEARDUP_STORE": server.url()}, urls=urls, fails=True)
    assert len(result.items) == 8
    assert result.counts("error/reserve", "unique") == [4, 4]
    said = [record.getMessage() for record in caplog.records if record.name.startswith("scrapy_neardup")]
    assert sum("cannot be used" in message for message in said) == 1
    assert sum("in use again" in message for message in said) == 1
