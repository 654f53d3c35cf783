"""Items that a second page completes: none is lost because that page is a copy."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import scrapy
from itemloaders import ItemLoader
from scrapy import Request

from scrapy_neardup.plugin.responses import carries_item

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}
URL = "https://a.example/"


class Product(scrapy.Item):
    name = scrapy.Field()


@dataclass
class Offer:
    name: str


@pytest.mark.parametrize(
    "item", [{"name": "Lamp"}, Product(name="Lamp"), Offer("Lamp"), ItemLoader(Product())]
)
def test_what_a_request_carries(item):
    for value in (item, [item], (item,)):
        assert carries_item(Request(URL, meta={"any": value}))
        assert carries_item(Request(URL, cb_kwargs={"any": value}))
        assert carries_item(Request(URL, cb_kwargs={"any": value}), {"any"})
        # What components make of the response, and what plugins put into meta, is none: else the items of
        # their users were never dropped.
        assert not carries_item(Request(URL, cb_kwargs={"any": value}), {"other"})
        for key in ("zyte_api", "playwright_context_kwargs", "splash", "_x", "neardup_match"):
            assert not carries_item(Request(URL, meta={key: value}))
    assert not carries_item(Request(URL, meta={"name": "Lamp"}, cb_kwargs={"price": 9.5, "names": ["Lamp"]}))


class Shop(scrapy.Spider):
    """Five products of an index page, each completed on its own address of one page of delivery terms."""

    name = "shop"
    base = ""

    async def start(self):
        yield Request(self.base + "/shop", self.parse)

    def parse(self, response):
        for number in range(5):
            values = {"name": f"Lamp {number}", "price": f"{number}.90"}
            carried = {"item": values} if self.as_item else values
            yield Request(f"{self.base}/shipping/{number}", self.shipping, cb_kwargs=carried)

    def shipping(self, response, item=None, **values):
        yield {**(item or values), "shipping": "free", "url": response.url}

    def failed(self, failure):
        self.logger.info("dropped %s", failure.request.url)


@pytest.fixture
def run(site, crawl):
    async def run(as_item=True, more=None, **settings):
        site.article("/shop", seed=1)
        for number in range(5):
            site.article(f"/shipping/{number}", seed=2)
        settings = {f"NEARDUP_{name}": value for name, value in settings.items()}
        return await crawl(Shop, {**ONE_BY_ONE, **settings, **(more or {})}, base=site.url, as_item=as_item)

    return run


@pytest.mark.parametrize(
    ("policy", "as_item"), [("drop_items", False), ("drop_items", True), ("drop_page", True)]
)
async def test_no_item_is_lost(run, as_item, policy):
    """The callback of such a page is called under any policy, since nobody else has its item."""
    result = await run(as_item, POLICY=policy)
    assert len(result.items) == 5
    assert (result["items_differ"], result["duplicate"], result["dropped/item"]) == (4, 0, 0)
    assert result.errors == {}


async def test_fields_that_do_not_tell_items_apart(run):
    result = await run(ITEM_IGNORE=["name", "price"])
    assert (len(result.items), result["dropped/item"]) == (1, 4)


@pytest.mark.parametrize(("policy", "items"), [("drop_items", 5), ("drop_page", 1)])
async def test_a_policy_named_for_the_page_holds_for_carried_items(run, policy, items):
    """The way for stories whose title comes with the request from a list, and whose text is the page's."""
    result = await run(RULES=[{"url": "/shipping", "policy": policy}])
    assert len(result.items) == items


class PageObjects:
    """Hands an item that it has made of the response to the callback, as scrapy-poet does."""

    def process_response(self, request, response):
        if "/shipping" in request.url:
            request.cb_kwargs.clear()
            request.cb_kwargs["item"] = {"text": "of the page"}
        return response


@pytest.mark.parametrize("policy", ["drop_items", "drop_page"])
async def test_what_components_make_of_the_response_is_not_carried(run, policy):
    settings = {"DOWNLOADER_MIDDLEWARES": {PageObjects: 543}}
    result = await run(False, POLICY=policy, more=settings)
    assert (len(result.items), result["duplicate"]) == (1, 4)
