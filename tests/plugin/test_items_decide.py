"""Under ``drop_items`` an item is dropped only if an item of the page that it repeats says the same."""

from __future__ import annotations

import dataclasses
import json
import random
import time

import attrs
import pydantic
import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy.utils.asyncio import run_in_thread

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}
SIX = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}


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


async def test_what_has_items_is_stored_beside_what_has_none(site, crawl, partly, tmp_path):
    site.article("/end", seed=9)
    urls = [site.article(path, links=("/end",)) for path in ("/x1", "/x2", "/good1", "/good2", "/x3")]
    report = tmp_path / "report.jsonl"
    result = await crawl(partly, {**ONE_BY_ONE, "NEARDUP_REPORT": str(report)}, urls=urls, knows=("good",))
    assert [item["url"] for item in result.items] == [urls[2]]
    assert "/end" in site.hits
    assert (result["unique"], result["duplicate"], result["items_differ"]) == (2, 3, 1)
    assert result["dropped/item"] == 1
    assert result["index/documents"] == 3
    lines = {line["url"]: line for line in map(json.loads, report.read_text().splitlines())}
    assert {url: (line["verdict"], line["action"]) for url, line in lines.items()} == {
        urls[1]: ("exact", "drop_items"),
        urls[2]: ("items_differ", "passed"),
        urls[3]: ("exact", "drop_items"),
        urls[4]: ("exact", "drop_items"),
    }
    assert result.errors == {}


async def test_a_revisit_with_another_item_is_filed_anew_and_one_without_changes_nothing(site, crawl, partly):
    urls = [site.article("/x"), site.article("/good")]
    settings = {**ONE_BY_ONE, "NEARDUP_DIR": "seen"}
    for _ in range(2):
        again = await crawl(partly, settings, urls=urls[:1])
        assert again["index/documents"] == 1
    assert again["revisit"] == 1
    mended = await crawl(partly, settings, urls=urls, knows=("x", "good"))
    assert mended.urls == urls[:1]
    assert (mended["revisit"], mended["dropped/item"]) == (1, 1)
    broken_again = await crawl(partly, settings, urls=urls, knows=("good",))
    assert broken_again.items == []  # once stored, always stored


@pytest.mark.parametrize("fails", [False, True])
async def test_copies_with_items_in_flight_at_once(site, crawl, pages, fails):
    """All six repeat a page without items, find that at once, and yield: exactly one item is kept."""

    class Slow(pages):
        tries = 0

        async def parse(self, response):
            self.note(response)
            yield response.follow("/link")
            await run_in_thread(time.sleep, 0.3)
            yield {"url": response.url}

    class FailFirst:
        async def process_item(self, item):
            Slow.tries += 1
            if fails and Slow.tries == 1:
                raise ValueError("broken pipeline")
            return item

    class Listing(pages):
        def parse(self, response):
            return None

    settings = {**SIX, "NEARDUP_DIR": "seen"}
    await crawl(Listing, settings, urls=[site.article("/x")])
    result = await crawl(Slow, {**settings, "ITEM_PIPELINES": {FailFirst: 300}}, urls=site.copies(6))
    assert len(result.spider.seen) == 6
    assert len(result.items) == 1
    assert result["dropped/item"] == (4 if fails else 5)
    assert (result["released"], result["confirmed"]) == (int(fails), 1)
    assert result["index/documents"] == 2
    assert not [name for name in result.stats if name.startswith("neardup/error")]


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

    settings = {"CONCURRENT_REQUESTS": concurrency, "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency}
    urls = [site.url + front for front in ("/front", "/index", "/home")]
    result = await crawl(Client, settings, urls=urls)
    stories = [item["story"] for item in result.items]
    assert set(stories) == expected
    assert len(stories) == len(expected)
    assert result.errors == {}


async def test_an_item_may_carry_the_marks_of_this_package(site, crawl, pages):
    class Marking(pages):
        def parse(self, response):
            marks = {key: value for key, value in response.meta.items() if key.startswith("neardup_")}
            yield {"title": "one", "copy_of": response.meta.get("neardup_match"), **marks}

    urls = [site.article("/x"), site.article("/y")]
    result = await crawl(Marking, ONE_BY_ONE, urls=urls)
    assert (result["dropped/item"], result["items_differ"]) == (1, 0)


FIELDS = ("url", "title", "price")


@pytest.mark.parametrize(
    "made",
    [
        dict,
        dataclasses.make_dataclass("Thing", FIELDS),
        attrs.make_class("Thing", FIELDS),
        pydantic.create_model("Thing", **dict.fromkeys(FIELDS, str)),
        type("Thing", (scrapy.Item,), {name: scrapy.Field() for name in FIELDS}),
    ],
    ids=["dict", "dataclass", "attrs", "pydantic", "scrapy.Item"],
)
async def test_a_page_of_a_text_that_all_show_is_repeated_by_equal_items_alone(
    site, crawl, pages, text, page, tmp_path, made
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
    report = tmp_path / "report.jsonl"
    settings = {**ONE_BY_ONE, "NEARDUP_REPORT": str(report)}
    result = await crawl(Shop, settings, urls=urls)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    dropped = {line["url"]: line["match"] for line in lines if line["action"] == "drop_items"}
    assert dropped.keys() == {url for url in urls if "?" in url}
    assert [dropped[url] for url in urls[4:8]] == urls[:4]
    assert result["dropped/item"] == result["duplicate/exact"] == len(dropped)
    assert {ItemAdapter(each)["price"][0] for each in result.items} == {*"01239"}
    assert (len(result.items), result["boilerplate"], result.errors) == (5, 4, {})


@pytest.mark.parametrize("fails", [False, True])
async def test_such_pages_in_flight_at_once(site, crawl, pages, text, page, fails):
    """One of six gives an item; if it fails, another one does."""
    tries = []

    class Titles(pages):
        async def parse(self, response):
            await run_in_thread(time.sleep, 0.2)
            yield {"url": response.url, "title": response.css("title::text").get()}

    class FailFirst:
        async def process_item(self, item):
            tries.append(item)
            if fails and len(tries) == 1:
                raise ValueError("broken pipeline")
            return item

    settings = {**SIX, "NEARDUP_DIR": "seen"}
    for path in "0123":
        site.pages[f"/{path}"] = page(text(1), title=f"Kettle {path}")
    await crawl(Titles, {**settings, **ONE_BY_ONE}, urls=[f"{site.url}/{path}" for path in "0123"])
    site.pages["/9"] = page(text(1), title="Kettle 9")
    urls = [f"{site.url}/9?session={number}" for number in range(6)]
    result = await crawl(Titles, {**settings, "ITEM_PIPELINES": {FailFirst: 300}}, urls=urls)
    assert (len(result.items), result["dropped/item"]) == (1, 5 - fails)
    assert not [name for name in result.stats if name.startswith("neardup/error")]


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
    result = await crawl(Shell, ONE_BY_ONE, urls=urls)
    assert len(result.items) == (24 if tell else 44)
    assert tell or result["wall"] == 21  # else it hangs on which of them a page is compared with first
    assert result.errors == {}


@pytest.mark.parametrize(("prices", "kept"), [(("19.99", "24.99"), 2), ((1299, "$1,299.00"), 1)])
async def test_on_two_sites_the_text_decides_unless_an_amount_is_another(
    site, crawl, pages, text, page, prices, kept
):
    class Shop(pages):
        def parse(self, response):
            yield {"url": response.url, "seller": response.url, "price": prices[response.url[-1] == "2"]}

    far = type(site)()  # another port is another site
    try:
        for each, path in ((site, "/1"), (far, "/2")):
            each.pages[path] = page(text(1))
        result = await crawl(Shop, ONE_BY_ONE, urls=[f"{site.url}/1", f"{far.url}/2"])
    finally:
        far.close()
    assert (len(result.items), result["items_differ"], result.errors) == (kept, kept - 1, {})
