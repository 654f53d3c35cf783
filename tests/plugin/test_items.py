"""Items are compared by their fields, with items only; a pending match is waited for."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
import scrapy
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "NEARDUP_ITEM_FIELDS": ["title", "text"]}


@dataclass
class Article:
    url: str
    text: str


class Story(scrapy.Item):
    link = scrapy.Field()
    text = scrapy.Field()


class Stories(scrapy.Spider):
    """One page per seed, whose items are made by ``make``."""

    name = "stories"

    async def start(self):
        for url in self.urls:
            yield scrapy.Request(url, self.parse)

    def parse(self, response):
        yield from self.make(response)


@pytest.fixture
def crawl_items(site, crawl):
    async def run(make, settings=None, count=3):
        spider = type("Made", (Stories,), {"make": staticmethod(make)})
        urls = [site.article(f"/{number}", seed=100 + number) for number in range(count)]
        result = await crawl(spider, {**ONE_BY_ONE, **(settings or {})}, urls=urls)
        return result, urls

    return run


async def test_drop(crawl_items, text):
    result, urls = await crawl_items(lambda r: [{"url": r.url, "title": "T", "text": text(1)}])
    assert [item["url"] for item in result.items] == urls[:1]
    assert (result["item/checked"], result["item/unique"], result["item/duplicate"]) == (3, 1, 2)
    assert result["item/dropped"] == result["item/duplicate/exact"] == 2
    assert result["item/confirmed"] == 1
    assert result.stats["item_dropped_reasons_count/NearDuplicateItem"] == 2
    assert result["unique"] == 3  # pages are compared with pages
    assert result.errors == {}
    assert "log_count/WARNING" not in result.stats


async def test_tag(crawl_items, text):
    result, urls = await crawl_items(lambda r: [{"text": text(1)}], {"NEARDUP_POLICY": "tag"})
    assert [item.get("neardup_match", {}).get("url") for item in result.items] == [None, urls[0], urls[0]]
    assert result["item/tagged"] == 2


@dataclass(frozen=True)
class Fixed:
    url: str
    text: str
    neardup_match: object = None


@pytest.mark.parametrize("item", [Fixed, Article])
async def test_tag_of_an_item_that_cannot_be_changed(crawl_items, text, item):
    result, _ = await crawl_items(lambda r: [item(r.url, text(1))], {"NEARDUP_POLICY": "tag"})
    assert len(result.items) == 3
    assert result["item/untaggable"] == 2
    assert result.errors == {}


async def test_items_of_several_classes(crawl_items, text):
    def make(response):
        yield Article(response.url, text(1))
        yield Story(link=response.url, text=text(1))
        yield {"url": response.url, "body": text(1)}

    result, _ = await crawl_items(make, {"NEARDUP_POLICY": "drop_page"}, count=2)
    # The story of the first page repeats the article there; both have the page's URL, so it is no duplicate.
    assert result["item/skipped/no_text"] == 2
    assert result["item/revisit"] == 1
    assert result["item/dropped"] == 2


async def test_the_url_of_an_item_may_be_in_a_list(crawl_items, text):
    result, urls = await crawl_items(lambda r: [{"url": (r.url, "another"), "text": text(1)}])
    assert (result["item/checked"], result["item/unique"], result["item/dropped"]) == (3, 1, 2)
    assert [item["url"] for item in result.items] == [(urls[0], "another")]


@pytest.mark.parametrize("policy", ["tag", "drop_items"])
@pytest.mark.parametrize("failing", [False, True])
async def test_equal_items_of_one_page_at_once(crawl_items, text, policy, failing):
    """Later pipelines replace the item and one fails: the next equal item takes its place."""

    class Store:
        count = 0

        async def process_item(self, item):
            Store.count += 1
            fail = failing and Store.count == 1
            await run_in_thread(time.sleep, 0.05)
            if fail:
                raise (DropItem("x") if policy == "tag" else ValueError("x"))
            return {**item, "stored": True}

    def make(response):
        for number in range(6):
            yield {"url": f"{response.url}?item={number}", "text": text(1), "number": number}

    settings = {"NEARDUP_POLICY": policy, "ITEM_PIPELINES": {Store: 800}}
    result, _ = await crawl_items(make, settings, count=1)
    stored = 6 - failing if policy == "tag" else 1
    assert len(result.items) == stored
    assert result["item/released"] == failing
    assert result["item/unique"] == 1 + failing
    assert result["item/confirmed"] == 1
    assert result["item/duplicate"] == 5 - failing
    assert not [name for name in result.stats if name.startswith("neardup/error")]
