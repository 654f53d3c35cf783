"""Crawls give the same verdicts with an index on a server as with one here, and outlive its troubles."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.plugin.settings import CrawlOptions
from tests.index.redis_server import DelayingProxy

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

if TYPE_CHECKING:
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("policy", ["drop_items", "drop_page", "tag"])
async def test_a_crawl_gives_the_same_verdicts_as_with_an_index_on_disk(
    site: Any, crawl: Any, pages: Any, redis_url: str, policy: str
) -> None:
    urls = [site.article(f"/{number}", seed=number % 7) for number in range(21)]
    settings = {"NEARDUP_POLICY": policy, "CONCURRENT_REQUESTS": 1}
    here = await crawl(pages, {**settings, "NEARDUP_DIR": "seen"}, urls=urls)
    there = await crawl(pages, {**settings, "NEARDUP_STORE": redis_url}, urls=urls)
    assert there.errors == here.errors == {}
    for name in (
        "checked",
        "unique",
        "duplicate/exact",
        "confirmed",
        "dropped/page",
        "dropped/item",
        "tagged",
    ):
        assert there[name] == here[name], name
    assert there["unique"] == 7
    assert sorted(item["url"] for item in there.items) == sorted(item["url"] for item in here.items)
    assert there.spider.matches.keys() == here.spider.matches.keys()
    again = await crawl(pages, {**settings, "NEARDUP_STORE": redis_url}, urls=urls)
    assert (again["unique"], again["index/documents"]) == (0, 7)


async def test_of_copies_in_flight_one_is_kept(site: Any, crawl: Any, pages: Any, redis_url: str) -> None:
    result = await crawl(
        pages, {"NEARDUP_STORE": redis_url, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}, urls=site.copies(6)
    )
    assert result.errors == {}
    assert (result["unique"], result["duplicate/exact"], len(result.items)) == (1, 5, 1)


async def test_items_are_compared_on_the_server_too(
    site: Any, crawl: Any, pages: Any, redis_url: str
) -> None:
    class Texts(pages):  # type: ignore[misc]
        def parse(self, response: Any) -> Any:
            yield {"url": response.url, "text": response.css("p::text").get()}

    urls = [site.article(f"/{number}", seed=number % 2) for number in range(6)]
    settings = {"NEARDUP_STORE": redis_url, "NEARDUP_ITEM_FIELDS": ["text"], "NEARDUP_POLICY": "drop_items"}
    result = await crawl(Texts, settings, urls=urls, meta={"neardup": False})
    assert result.errors == {}
    assert (result["item/unique"], result["item/dropped"], len(result.items)) == (2, 4, 2)


async def test_a_slow_server_slows_pages_and_not_the_event_loop(
    site: Any, crawl: Any, pages: Any, redis_server: RedisServer
) -> None:
    urls = [site.article(f"/{number}", seed=number) for number in range(6)]
    gaps: list[float] = []

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - before)

    with DelayingProxy(redis_server.port) as proxy:
        watcher: list[asyncio.Task[None]] = []

        class Watched(pages):  # type: ignore[misc]
            async def start(self) -> Any:
                proxy.seconds = 1.5
                watcher.append(asyncio.ensure_future(watch()))
                async for request in super().start():
                    yield request

        redis_url = f"redis://127.0.0.1:{proxy.port}/0?name=slow"
        result = await crawl(Watched, {"NEARDUP_STORE": redis_url}, urls=urls)
        watcher[0].cancel()
    assert result.errors == {}
    assert (result["unique"], len(result.items)) == (6, 6)
    # A call that the event loop made would hold it up for at least that; a busy machine does for much less.
    assert max(gaps) < 1.5, max(gaps)


async def test_pages_pass_while_the_server_is_away_and_it_is_used_again_when_it_is_back(
    site: Any, crawl: Any, pages: Any, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    urls = [site.article(f"/{number}", seed=number % 4) for number in range(8)]

    with DelayingProxy(redis_server.port) as proxy:

        class Cut(pages):  # type: ignore[misc]
            async def start(self) -> Any:
                requests = [request async for request in super().start()]
                for request in requests[:4]:
                    proxy.cut()
                    yield request
                while len(self.seen) < 4:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                proxy.mend()
                await asyncio.sleep(3)
                yield requests[4]  # alone: one call tries whether the server is back, and others do not wait
                while len(self.seen) < 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                for request in requests[5:]:
                    yield request

        redis_url = f"redis://127.0.0.1:{proxy.port}/0?name=cut"
        result = await crawl(Cut, {"NEARDUP_STORE": redis_url, "CONCURRENT_REQUESTS": 1}, urls=urls)
    assert len(result.items) == 8
    assert result["error/reserve"] == 4
    assert result["unique"] == 4
    said = [record.getMessage() for record in caplog.records if record.name.startswith("scrapy_neardup")]
    assert sum("cannot be used" in message for message in said) == 1
    assert sum("in use again" in message for message in said) == 1


async def test_pages_pass_while_the_server_is_full(
    site: Any, crawl: Any, pages: Any, redis_server: RedisServer, redis_url: str
) -> None:
    urls = [site.article(f"/{number}", seed=number) for number in range(5)]

    class Full(pages):  # type: ignore[misc]
        async def start(self) -> Any:
            redis_server.send("CONFIG SET maxmemory 1")
            async for request in super().start():
                yield request

    try:
        result = await crawl(Full, {"NEARDUP_STORE": redis_url}, urls=urls)
    finally:
        redis_server.send("CONFIG SET maxmemory 0")
    assert (len(result.items), result["error/reserve"]) == (5, 5)


def test_only_the_url_of_a_server_names_a_store_and_nothing_else_names_an_index() -> None:
    from scrapy.settings import Settings

    url = "redis://host/0?name=news"
    assert CrawlOptions.from_settings(Settings({"NEARDUP_STORE": url})).store == url
    for value in ("seen", "http://host", 6379):
        with pytest.raises(ConfigurationError, match="NEARDUP_STORE is not the URL of an index"):
            CrawlOptions.from_settings(Settings({"NEARDUP_STORE": value}))
    with pytest.raises(ConfigurationError, match="set one of them"):
        CrawlOptions.from_settings(Settings({"NEARDUP_STORE": url, "NEARDUP_DIR": "seen"}))
