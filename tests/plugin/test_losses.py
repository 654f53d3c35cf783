"""However a page or its items fail, no story is lost: each is put out at least once, under every policy.

What is expected is known to the tests alone: which stories the site has. One crawl meets all ways of failing.
"""

import time
from typing import NamedTuple

import pytest
from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread

POLICIES = ("tag", "drop_items", "drop_page")
#: The copies of each story, in the order in which they are asked for. The first comes to grief.
COPIES = ("bad", "good", "other")


class BrokenError(Exception):
    pass


def is_bad(response):
    return "/bad" in response.url


def story_of(response):
    return {"story": response.css("i::text").get(), "url": response.url}


# What spider middlewares do: with the output, or elsewhere.


async def raises_on_output(response, result):
    async for _ in result:
        raise BrokenError
        yield


async def raises_after_the_first(response, result):
    gathered = [each async for each in result]
    yield gathered[0]
    raise BrokenError


async def stops_early(response, result):
    async for _ in result:
        return
        yield


async def never_asks(response, result):
    return
    yield


async def answers_itself(response, result):
    yield {"placeholder": response.url}


async def filters(response, result):
    async for each in result:
        if isinstance(each, Request):
            yield each


async def replaces(response, result):
    """Pipelines get items that the callback did not yield, and that are broken."""
    async for each in result:
        yield {**each, "broken": True}


async def splits(response, result):
    """One item becomes two; the one with the story is lost in a pipeline."""
    async for each in result:
        yield {"aside": response.url}
        yield {**each, "broken": True, "late": True}


HANDLES, RAISES_ON_INPUT = "handles exceptions", "raises on input"


class Pipeline:
    async def process_item(self, item):
        if item.pop("late", False):
            await run_in_thread(time.sleep, 0.2)
        if item.pop("invalid", False):
            raise DropItem("invalid", log_level="DEBUG")
        if item.pop("broken", False):
            raise BrokenError
        return item


def middleware(order):
    """A spider middleware that behaves, for bad pages, as their way of failing has it at *order*."""

    class Middleware:
        def behaviour(self, response):
            way = WAYS[int(response.url.split("/")[3])]
            return way.middlewares.get(order) if is_bad(response) else None

        def process_spider_input(self, response):
            if self.behaviour(response) is RAISES_ON_INPUT:
                raise BrokenError

        async def process_spider_output(self, response, result):
            behaviour = self.behaviour(response)
            async for each in behaviour(response, result) if callable(behaviour) else result:
                yield each

        def process_spider_exception(self, response, exception):
            return [] if self.behaviour(response) is HANDLES else None

    return Middleware


class Callbacks:
    """What callbacks and errbacks do, by name."""

    def plain(self, response):
        yield story_of(response)

    def two(self, response):
        yield {"aside": response.url}
        yield story_of(response)

    def raises(self, response):
        if is_bad(response):
            raise BrokenError
        return [story_of(response)]

    parse = raises

    def generator_raises(self, response):
        yield response.follow("/link")
        if is_bad(response):
            raise BrokenError
        yield story_of(response)

    def two_raises(self, response):
        yield {"aside": response.url}
        yield from self.raises(response)

    async def async_raises(self, response):
        yield response.follow("/link")
        for each in self.raises(response):
            yield each

    async def coroutine_of_generator_raises(self, response):
        return self.two_raises(response)

    def invalid(self, response):
        yield {**story_of(response), "invalid": is_bad(response)}

    def broken(self, response):
        yield {**story_of(response), "broken": is_bad(response)}

    def nothing(self, response):
        return None if is_bad(response) else story_of(response)

    def links_only(self, response):
        yield response.follow("/link")
        yield None if is_bad(response) else story_of(response)  # as some clients do

    def with_an_item(self, failure):
        yield {"failed": failure.request.url}


class Way(NamedTuple):
    callback: str | None
    middlewares: dict[int, object] = {}
    errback: str | None = None
    policies: tuple[str, ...] = POLICIES


#: Middlewares above ours are nearer to the spider, those below nearer to the engine.
WAYS = [
    Way("raises"),
    Way("raises", {900: HANDLES}),
    Way(None, {900: HANDLES}),  # spider.parse
    Way("generator_raises", {900: HANDLES}),
    Way("generator_raises", {10: HANDLES}),
    Way("two_raises", {900: HANDLES}),
    Way("two_raises", {10: HANDLES}),
    Way("async_raises", {900: HANDLES}),
    Way("coroutine_of_generator_raises", {900: HANDLES}),
    Way("plain", {500: RAISES_ON_INPUT}),
    Way("plain", {500: RAISES_ON_INPUT}, "with_an_item"),
    Way("plain", {500: RAISES_ON_INPUT, 900: HANDLES}),
    Way("plain", {500: RAISES_ON_INPUT, 100: HANDLES}),
    Way("plain", {500: RAISES_ON_INPUT, 10: HANDLES}),
    Way("plain", {500: raises_on_output}),
    Way("plain", {500: raises_on_output, 100: HANDLES}),
    Way("plain", {500: raises_on_output, 10: HANDLES}),
    Way("plain", {20: raises_on_output}),
    Way("plain", {20: raises_on_output, 10: HANDLES}),
    Way("two", {500: raises_after_the_first}),
    Way("two", {500: raises_after_the_first, 100: HANDLES}),
    Way("two", {20: raises_after_the_first}),
    Way("two", {20: raises_after_the_first, 10: HANDLES}),
    Way("plain", {500: stops_early}),
    Way("plain", {20: stops_early}),
    Way("two", {20: stops_early}),
    Way("plain", {500: never_asks}),
    Way("plain", {20: never_asks}),
    Way("plain", {500: answers_itself}),
    Way("plain", {20: answers_itself}),
    Way("plain", {900: filters}),
    Way("plain", {10: filters}),
    Way("plain", {500: replaces}),
    Way("plain", {20: replaces}),
    Way("plain", {500: splits}),
    Way("plain", {20: splits}),
    Way("invalid"),
    Way("broken"),
    # Nothing fails, but the page has no item. Under drop_page it is an original all the same.
    Way("nothing", policies=("tag", "drop_items")),
    Way("links_only", policies=("tag", "drop_items")),
]
STORIES = {f"{way}/{policy}" for way, each in enumerate(WAYS) for policy in each.policies}
ORDERS = (10, 20, 100, 500, 900)


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 16])
async def test_every_story_ends_in_the_output(site, crawl, pages, text, page, concurrency):
    site.pages["/link"] = page("nothing")
    for number, story in enumerate(STORIES):
        for copy in COPIES:
            body = f"<html><body><p>{text(number)}</p><i>{story}</i></body></html>"
            site.pages[f"/{story}/{copy}"] = body.encode()

    class Spider(Callbacks, pages):
        async def start(self):
            for story in sorted(STORIES):
                number, policy = story.split("/")
                way = WAYS[int(number)]
                callback = way.callback and getattr(self, way.callback)
                errback = way.errback and getattr(self, way.errback)
                for copy in COPIES:
                    url = f"{site.url}/{story}/{copy}"
                    yield Request(url, callback, errback=errback, meta={"neardup": policy})

    middlewares = {middleware(order): order for order in ORDERS}
    settings = {"SPIDER_MIDDLEWARES": middlewares, "ITEM_PIPELINES": {Pipeline: 300}, "LOG_LEVEL": "CRITICAL"}
    result = await crawl(Spider, settings, at_once=concurrency, raises=True)
    kept = [item["story"] for item in result.items if "story" in item]
    lost = STORIES.difference(kept)
    assert {story: WAYS[int(story.split("/")[0])] for story in lost} == {}
    # Nothing is left.
    assert result["unique"] + result["items_differ"] == result["confirmed"] + result["released"]
    # Of the good copies one is kept.
    twice = {story: kept.count(story) for story in STORIES if "tag" not in story and kept.count(story) != 1}
    assert twice == {}


@pytest.fixture
def persistent(site, pages, page, text):
    """A spider that knows the page of a busy site, and asks again; and URLs that show it first."""
    wait = page(text(99), title="Wait")

    class Persistent(pages):
        def parse(self, response):
            if response.css("title::text").get() == "Wait":
                return self.again(response)
            return {"url": response.url}

        def again(self, response):
            return get_retry_request(response.request, spider=self, reason="busy")

    def first(answer, story):
        answers = iter([answer])
        return lambda: next(answers, page(text(story)))

    for story in range(4):
        site.pages[f"/{story}"] = first(wait, story)
        site.pages[f"/moved/{story}"] = first((302, {"Location": f"/wait/{story}"}, b""), story)
        site.pages[f"/wait/{story}"] = wait
    return Persistent


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("at_once", "redirected"), [(1, False), (4, False), (4, True)])
async def test_a_callback_that_asks_for_its_page_again(site, crawl, persistent, policy, at_once, redirected):
    """A site answers each URL with one and the same text first; the callback knows it and tries again."""

    class Redirected(persistent):
        def again(self, response):
            return Request(response.meta["redirect_urls"][0], self.parse, dont_filter=True)

    spider, path = (Redirected, "/moved") if redirected else (persistent, "")
    urls = [f"{site.url}{path}/{story}" for story in range(4)]
    result = await crawl(spider, {"NEARDUP_POLICY": policy}, urls=urls, at_once=at_once)
    assert result.urls == urls


@pytest.mark.parametrize("policy", POLICIES)
async def test_a_page_that_was_given_up_is_repeated_by_none(site, crawl, persistent, policy):
    """The first page stays busy, and the callback gives it up. Others are busy once, with the same text."""

    class GivesUp(persistent):
        def again(self, response):
            again = get_retry_request(response.request, spider=self, reason="busy", max_retry_times=1)
            return again or [Request(f"{site.url}/{story}") for story in range(1, 4)]

    result = await crawl(GivesUp, {"NEARDUP_POLICY": policy}, urls=[f"{site.url}/wait/0"], raises=True)
    assert result.urls == [f"{site.url}/{story}" for story in range(1, 4)]
