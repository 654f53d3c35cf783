"""Items that a second page completes: none is lost because that page is a copy."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import scrapy
from itemloaders import ItemLoader
from scrapy import Request

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}


class Product(scrapy.Item):
    name = scrapy.Field()
    price = scrapy.Field()
    shipping = scrapy.Field()


@dataclass
class Offer:
    name: str
    price: str
    shipping: str | None = None


class Shop(scrapy.Spider):
    """Five products of an index page, each completed on its own address of one page of delivery terms."""

    name = "shop"
    base = ""

    async def start(self):
        yield Request(self.base + "/shop", self.parse)

    def parse(self, response):
        for number in range(5):
            yield self.request(f"{self.base}/shipping/{number}", f"Lamp {number}", f"{number}.90")

    def shipping(self, response, **values):
        yield self.complete(response, **values)

    def failed(self, failure):
        self.logger.info("dropped %s", failure.request.url)


def dict_by_cb_kwargs(shop, url, name, price):
    return Request(url, shop.shipping, cb_kwargs={"item": {"name": name, "price": price}})


def item_by_meta(shop, url, name, price):
    return Request(url, shop.shipping, meta={"item": Product(name=name, price=price)})


def offer_by_cb_kwargs(shop, url, name, price):
    return Request(url, shop.shipping, cb_kwargs={"offer": Offer(name, price)})


def loader_by_meta(shop, url, name, price):
    loader = ItemLoader(item=Product())
    loader.add_value("name", name)
    loader.add_value("price", price)
    return Request(url, shop.shipping, meta={"loader": loader})


def values_by_cb_kwargs(shop, url, name, price):
    return Request(url, shop.shipping, cb_kwargs={"name": name, "price": price})


def same(shop, response, item=None, offer=None):
    item = item or offer or response.meta.get("item")
    if isinstance(item, Offer):
        item.shipping = "free"
    else:
        item["shipping"] = "free"
    return item


def loaded(shop, response):
    response.meta["loader"].add_value("shipping", "free")
    return response.meta["loader"].load_item()


def of_values(shop, response, name, price):
    return {"name": name, "price": price, "shipping": "free", "url": response.url}


KINDS = [
    (values_by_cb_kwargs, of_values), (dict_by_cb_kwargs, same), (item_by_meta, same),
    (offer_by_cb_kwargs, same), (loader_by_meta, loaded),
]  # fmt: skip


@pytest.fixture
def run(site, crawl):
    async def run(request, complete, *, more=None, **settings):
        site.article("/shop", seed=1)
        for number in range(5):
            site.article(f"/shipping/{number}", seed=2)
        spider = type("Made", (Shop,), {"request": request, "complete": complete})
        settings = {f"NEARDUP_{name}": value for name, value in settings.items()}
        return await crawl(spider, {**ONE_BY_ONE, **settings, **(more or {})}, base=site.url)

    return run


@pytest.mark.parametrize("policy", ["drop_items", "drop_page"])
@pytest.mark.parametrize(("request_", "complete"), KINDS)
async def test_no_item_is_lost(run, request_, complete, policy):
    """The callback of such a page is called under any policy, since nobody else has its item."""
    result = await run(request_, complete, POLICY=policy)
    if request_ is values_by_cb_kwargs and policy == "drop_page":  # nobody knows that these make an item
        return
    assert len(result.items) == 5
    assert (result["items_differ"], result["duplicate"], result["dropped/item"]) == (4, 0, 0)
    assert result.errors == {}


async def test_one_carried_value_keeps_an_item(run):
    def story(shop, response, name, price):
        return {"section": name, "title": "t", "text": "x", "url": response.url}

    result = await run(values_by_cb_kwargs, story)
    assert (len(result.items), result["dropped/item"]) == (5, 0)
    result = await run(values_by_cb_kwargs, story, ITEM_IGNORE=["section"])
    assert (len(result.items), result["dropped/item"]) == (1, 4)


@pytest.mark.parametrize(("policy", "items"), [("drop_items", 5), ("drop_page", 1)])
async def test_a_policy_named_for_the_page_holds_for_carried_items(run, policy, items):
    """The way for stories whose title comes with the request from a list, and whose text is the page's."""
    result = await run(dict_by_cb_kwargs, same, RULES=[{"url": "/shipping", "policy": policy}])
    assert len(result.items) == items


async def test_what_plugins_put_into_meta_is_no_item(run):
    """Else their users would never see a duplicate dropped."""

    def request(shop, url, name, price):
        options = {"browserHtml": True, "name": name}
        meta = {"zyte_api": options, "playwright_context_kwargs": options, "splash": options, "_x": options}
        return Request(url, shop.shipping, meta={**meta, "download_slot": "x", "depth": 1})

    def page(shop, response):
        return {"url": response.url, "browserHtml": True}

    for policy in ("drop_items", "drop_page"):
        result = await run(request, page, POLICY=policy)
        assert (len(result.items), result["duplicate"]) == (1, 4)


class PageObjects:
    """Hands an item that it has made of the response to the callback, as scrapy-poet does."""

    def process_response(self, request, response):
        if "/shipping" in request.url:
            request.cb_kwargs["item"] = {"url": response.url, "text": "of the page"}
        return response


@pytest.mark.parametrize("policy", ["drop_items", "drop_page"])
async def test_what_components_make_of_the_response_is_not_carried(run, policy):
    """Else the items of spiders with page objects were never dropped."""

    def request(shop, url, name, price):
        return Request(url, shop.shipping)

    def page(shop, response, item):
        return item

    settings = {"DOWNLOADER_MIDDLEWARES": {PageObjects: 543}}
    result = await run(request, page, POLICY=policy, more=settings)
    assert (len(result.items), result["duplicate"]) == (1, 4)
