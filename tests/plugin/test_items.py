"""Under ``drop_items`` an item is dropped only if an item of the page that it repeats says the same.

Nor is an item lost that a second page completes, because that page is a copy.
"""

import dataclasses
import random
import time
from weakref import WeakSet

import attrs
import pydantic
import pytest
import scrapy
from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.plugin.responses import carries_item
from tests.helpers.site import Site

fails = pytest.mark.parametrize("fails", [False, True])


@pytest.fixture
def partly(pages):
    """A spider that follows all links. Only pages whose path begins with one of ``knows`` give an item."""

    class Partly(pages):
        knows = ()

        def parse(self, response):
            self.note(response)
            yield from response.follow_all(css="a")
            if response.url.split("/", 3)[3].startswith(tuple(self.knows)):
                yield {"url": response.url}

    return Partly


async def test_what_has_items_is_stored_beside_what_has_none(site, crawl, partly):
    site.article("/end", seed=9)
    urls = [site.article(path, links=("/end",)) for path in ("/x1", "/x2", "/good1", "/good2", "/x3")]
    result = await crawl(partly, urls=urls, knows=("good",))
    assert [item["url"] for item in result.items] == [urls[2]]
    assert "/end" in site.hits
    assert result.counts("unique", "duplicate", "items_differ", "dropped/item") == [2, 3, 1, 1]
    assert result["index/documents"] == 3
    found = {line["url"]: (line["verdict"], line["action"]) for line in result.report}
    copies = dict.fromkeys([urls[1], *urls[3:]], ("exact", "drop_items"))
    assert found == {urls[2]: ("items_differ", "passed"), **copies}


async def test_a_revisit_with_another_item_is_filed_anew_and_one_without_changes_nothing(site, crawl, partly):
    urls = [site.article("/x"), site.article("/good")]
    settings = {"NEARDUP_DIR": "seen"}
    for _ in range(2):
        again = await crawl(partly, settings, urls=urls[:1])
        assert again["index/documents"] == 1
    assert again["revisit"] == 1
    mended = await crawl(partly, settings, urls=urls, knows=("x", "good"))
    assert mended.urls == urls[:1]
    assert (mended["revisit"], mended["dropped/item"]) == (1, 1)
    broken_again = await crawl(partly, settings, urls=urls, knows=("good",))
    assert broken_again.items == []  # once stored, always stored


def fail_first(fails):
    """A pipeline that fails, if it does, with the first item."""

    class FailFirst:
        tries = 0

        async def process_item(self, item):
            FailFirst.tries += 1
            if fails and FailFirst.tries == 1:
                raise ValueError("broken pipeline")
            return item

    return {"ITEM_PIPELINES": {FailFirst: 300}}


@fails
async def test_copies_with_items_in_flight_at_once(site, crawl, pages, fails):
    """All six repeat a page without items, find that at once, and yield: exactly one item is kept."""

    class Slow(pages):
        async def parse(self, response):
            self.note(response)
            yield response.follow("/link")
            await run_in_thread(time.sleep, 0.3)
            yield {"url": response.url}

    class Listing(pages):
        def parse(self, response):
            return None

    settings = {"NEARDUP_DIR": "seen"}
    await crawl(Listing, settings, urls=[site.article("/x")])
    settings |= fail_first(fails)
    result = await crawl(Slow, settings, urls=site.copies(6), at_once=6, raises=fails)
    assert (len(result.spider.seen), len(result.items)) == (6, 1)
    assert result.counts("dropped/item", "released", "confirmed") == [5 - fails, fails, 1]
    assert result["index/documents"] == 2


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_a_news_client_that_rejects_some_copies(site, crawl, pages, text, concurrency):
    """Links first, then an item or None, as a heuristic has it: as many stories as without this plugin."""
    rng = random.Random(concurrency)
    expected, links = set(), []
    for story in range(25):
        for copy in rng.sample(["wire", "print", "amp", "section/a"], rng.randint(1, 4)):
            path = f"/{copy}/{story}"
            article = rng.random() < 0.5
            kind = '<meta property="og:type" content="article">' if article else ""
            body = f'<p>{text(story, 300)}</p><i>{story}</i><a href="/front">front</a>'
            site.pages[path] = f"<html><head>{kind}</head><body>{body}</body></html>".encode()
            links.append(path)
            if article:
                expected.add(str(story))
    rng.shuffle(links)
    anchors = "".join(f'<a href="{link}">{text(number, 6)}</a>' for number, link in enumerate(links))
    for front in ("/front", "/index", "/home"):
        site.pages[front] = f"<html><body>{anchors}</body></html>".encode()

    class Client(pages):
        def parse(self, response):
            yield from [response.follow(href) for href in response.css("a::attr(href)").getall()]
            yield self.article(response)

        def article(self, response):
            if response.css('meta[property="og:type"]::attr(content)').get() != "article":
                return None
            return {"story": response.css("i::text").get(), "url": response.url}

    urls = [site.url + front for front in ("/front", "/index", "/home")]
    result = await crawl(Client, urls=urls, at_once=concurrency)
    assert sorted(item["story"] for item in result.items) == sorted(expected)


@pytest.mark.parametrize("kind", ["text/html", "text/csv"])
async def test_the_items_of_a_page_with_very_many_are_not_kept_in_memory(site, crawl, pages, text, kind):
    made = dataclasses.make_dataclass("Row", ["number"], eq=False)
    alive, counts = WeakSet(), []

    class Feed(pages):
        def parse(self, response):
            for number in range(2000):
                alive.add(row := made(number))
                counts.append(len(alive))
                yield row

    class Plain:
        def process_item(self, item):
            return {"number": item.number}

    site.pages["/"] = (200, {"Content-Type": kind}, text(1).encode())
    result = await crawl(Feed, {"ITEM_PIPELINES": {Plain: 300}}, urls=[f"{site.url}/"])
    assert len(result.items) == 2000
    assert max(counts) < 1000


async def test_the_report_names_the_page_whose_item_says_the_same(site, crawl, pages):
    class Shop(pages):
        def parse(self, response):
            yield {"price": response.url[-1]}

    urls = [site.article(path) for path in ("/1", "/2", "/copy/1", "/copy/2")]
    *_, one, other = (await crawl(Shop, urls=urls)).report
    assert (one["match"], other["match"], other["why"]["items_of"]) == (urls[0], urls[0], urls[1])
    assert "items_of" not in one["why"]


FIELDS = ("url", "title", "price")


@pytest.mark.parametrize(
    "made",
    [
        dict,
        dataclasses.make_dataclass("Thing", FIELDS),
        attrs.make_class("Thing", FIELDS),
        pydantic.create_model("Thing", **dict.fromkeys(FIELDS, (str, ...))),
        type("Thing", (scrapy.Item,), {name: scrapy.Field() for name in FIELDS}),
    ],
    ids=["dict", "dataclass", "attrs", "pydantic", "scrapy.Item"],
)
async def test_a_page_of_a_text_that_all_show_is_repeated_by_equal_items_alone(
    site, crawl, pages, text, page, made
):
    """Two pages have the title of the first: one has another price, one has no item."""

    class Shop(pages):
        def parse(self, response):
            path, _, _ = response.url.removeprefix(site.url).partition("?")
            if path != "/list":
                yield made(url=response.url, title=response.css("title::text").get(), price=f"{path[1]}.90")

    for path in ("/0", "/1", "/2", "/3", "/9", "/list"):
        site.pages[path] = page(text(1), title=f"Kettle {path[1] if path[1] in '123' else 0}")
    paths = "/0 /1 /2 /3 /0?utm=x /1?utm=x /2?utm=x /3?utm=x /9 /list /9?utm=x"
    urls = [site.url + path for path in paths.split()]
    result = await crawl(Shop, urls=urls)
    dropped = {line["url"]: line["match"] for line in result.report if line["action"] == "drop_items"}
    assert dropped.keys() == {url for url in urls if "?" in url}
    assert [dropped[url] for url in urls[4:8]] == urls[:4]
    assert result["dropped/item"] == result["duplicate/exact"] == len(dropped)
    assert {ItemAdapter(each)["price"][0] for each in result.items} == {*"01239"}
    assert (len(result.items), result["boilerplate"]) == (5, 4)


@fails
async def test_such_pages_in_flight_at_once(site, crawl, pages, text, page, fails):
    """One of six gives an item; if it fails, another one does."""

    class Titles(pages):
        async def parse(self, response):
            await run_in_thread(time.sleep, 0.2)
            yield {"url": response.url, "title": response.css("title::text").get()}

    settings = {"NEARDUP_DIR": "seen"}
    for path in "01239":
        site.pages[f"/{path}"] = page(text(1), title=f"Kettle {path}")
    await crawl(Titles, settings, urls=[f"{site.url}/{path}" for path in "0123"])
    urls = [f"{site.url}/9?session={number}" for number in range(6)]
    result = await crawl(Titles, settings | fail_first(fails), urls=urls, at_once=6, raises=fails)
    assert (len(result.items), result["dropped/item"]) == (1, 5 - fails)


@pytest.mark.parametrize("tell", [True, False])
async def test_a_short_text_under_many_names_is_a_wall_unless_items_tell_its_pages_apart(
    site, crawl, pages, text, page, tell
):
    class Shell(pages):
        def parse(self, response):
            named = f"Kettle {response.url.partition('?')[0][-2:]}" if tell else "Wait"
            yield from ({"url": response.url, name: named} for name in ("title", "name"))

    for number in range(12):
        site.pages[f"/{number}"] = page(text(1, 90))
    urls = [f"{site.url}/{number}{query}" for query in ("", "?utm=x") for number in range(12)]
    result = await crawl(Shell, urls=urls)
    assert len(result.items) == (24 if tell else 44)
    assert tell or result["wall"] == 21  # else it hangs on which of them a page is compared with first


@pytest.mark.parametrize(("prices", "kept"), [(("19.99", "24.99"), 2), ((1299, "$1,299.00"), 1)])
async def test_on_two_sites_the_text_decides_unless_an_amount_is_another(
    site, crawl, pages, text, page, prices, kept
):
    class Shop(pages):
        def parse(self, response):
            yield {"url": response.url, "seller": response.url, "price": prices[response.url[-1] == "2"]}

    with Site() as far:  # another port is another site
        for each, path in ((site, "/1"), (far, "/2")):
            each.pages[path] = page(text(1))
        result = await crawl(Shop, urls=[f"{site.url}/1", f"{far.url}/2"])
    assert (len(result.items), result["items_differ"]) == (kept, kept - 1)


# Items that come with the request


class Product(scrapy.Item):
    name = scrapy.Field()


Offer = dataclasses.make_dataclass("Offer", ["name"])


@pytest.mark.parametrize(
    "item", [{"name": "Lamp"}, Product(name="Lamp"), Offer("Lamp"), ItemLoader(Product())]
)
def test_what_a_request_carries(item):
    for value in (item, [item], (item,)):
        assert carries_item(Request("https://a.example/", meta={"any": value}))
        assert carries_item(Request("https://a.example/", cb_kwargs={"any": value}))
        # What plugins put into meta is none: else the items of their users were never dropped.
        for key in ("zyte_api", "playwright_context_kwargs", "splash", "_x", "neardup_match"):
            assert not carries_item(Request("https://a.example/", meta={key: value}))
    assert not carries_item(
        Request("https://a.example/", meta={"name": "Lamp"}, cb_kwargs={"price": 9.5, "names": ["Lamp"]})
    )


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


@pytest.fixture
def run(site, crawl):
    async def run(as_item=True, more=None, **settings):
        site.article("/shop", seed=1)
        for number in range(5):
            site.article(f"/shipping/{number}", seed=2)
        settings = {f"NEARDUP_{name}": value for name, value in settings.items()}
        return await crawl(Shop, {**settings, **(more or {})}, base=site.url, as_item=as_item)

    return run


@pytest.mark.parametrize(
    ("policy", "as_item"), [("drop_items", False), ("drop_items", True), ("drop_page", True)]
)
async def test_no_carried_item_is_lost(run, as_item, policy):
    """The callback of such a page is called under any policy, since nobody else has its item."""
    result = await run(as_item, POLICY=policy)
    assert len(result.items) == 5
    assert result.counts("items_differ", "duplicate", "dropped/item") == [4, 0, 0]


@pytest.mark.parametrize(
    ("settings", "items"),
    [
        ({"ITEM_IGNORE": ["name", "price"]}, 1),  # they do not tell items apart
        # The way for stories whose title comes with the request from a list, and whose text is the page's.
        ({"RULES": [{"url": "/shipping", "policy": "drop_items"}]}, 5),
        ({"RULES": [{"url": "/shipping", "policy": "drop_page"}]}, 1),
    ],
)
async def test_settings_say_that_carried_items_are_dropped(run, settings, items):
    assert len((await run(**settings)).items) == items


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
