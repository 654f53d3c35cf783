"""The pipeline compares items by their fields, with items only; a pending match is waited for."""

import time
from dataclasses import dataclass

import pytest
import scrapy
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread


@dataclass
class Article:
    url: str
    text: str


@dataclass(frozen=True)
class Fixed:
    url: str
    text: str
    neardup_match: object = None


class Story(scrapy.Item):
    link = scrapy.Field()
    text = scrapy.Field()


@pytest.fixture
def crawl_items(site, crawl, pages):
    """Crawl different pages whose items are made by a function."""

    async def run(make, settings=None, count=3, **options):
        spider = type("Made", (pages,), {"parse": lambda self, response: make(response)})
        urls = site.articles(count)
        settings = {"NEARDUP_ITEM_FIELDS": ["title", "text"], **(settings or {})}
        return await crawl(spider, settings, urls=urls, **options), urls

    return run


@pytest.mark.parametrize("url", [lambda url: url, lambda url: (url, "another")])
async def test_drop(crawl_items, text, url):
    result, urls = await crawl_items(lambda r: [{"url": url(r.url), "title": "T", "text": text(1)}])
    assert [item["url"] for item in result.items] == [url(urls[0])]
    assert result.counts("item/checked", "item/unique", "item/confirmed", "item/duplicate") == [3, 1, 1, 2]
    assert result.counts("item/dropped", "item/duplicate/exact") == [2, 2]
    assert result.stats["item_dropped_reasons_count/NearDuplicateItem"] == 2
    assert result["unique"] == 3  # pages are compared with pages
    assert "log_count/WARNING" not in result.stats


async def test_tag(crawl_items, text):
    result, urls = await crawl_items(lambda r: [{"text": text(1)}], {"NEARDUP_POLICY": "tag"})
    assert [item.get("neardup_match", {}).get("url") for item in result.items] == [None, urls[0], urls[0]]
    assert result["item/tagged"] == 2


@pytest.mark.parametrize("item", [Fixed, Article])
async def test_tag_of_an_item_that_cannot_be_changed(crawl_items, text, item):
    result, _ = await crawl_items(lambda r: [item(r.url, text(1))], {"NEARDUP_POLICY": "tag"})
    assert len(result.items) == 3
    assert result["item/untaggable"] == 2


async def test_items_of_several_classes(crawl_items, text):
    def make(response):
        yield Article(response.url, text(1))
        yield Story(link=response.url, text=text(1))
        yield {"url": response.url, "body": text(1)}

    result, _ = await crawl_items(make, {"NEARDUP_POLICY": "drop_page"}, count=2)
    # The story of the first page repeats the article there; both have the page's URL, so it is no duplicate.
    assert result.counts("item/skipped/no_text", "item/revisit", "item/dropped") == [2, 1, 2]


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
    result, _ = await crawl_items(make, settings, count=1, raises=failing)
    assert len(result.items) == (6 - failing if policy == "tag" else 1)
    assert result.counts("item/released", "item/unique") == [failing, 1 + failing]
    assert result.counts("item/confirmed", "item/duplicate") == [1, 5 - failing]
