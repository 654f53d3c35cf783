"""NEARDUP_BUDGET: which requests are held back, and what that saves and loses in a shop with facets."""

from __future__ import annotations

import itertools
import json
import random
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from scrapy_neardup.plugin.budget import (
    DEFERRED_KEY,
    SAMPLE,
    SHARE,
    Budget,
    Shape,
    SkippedRequest,
    lower_bound,
    shape_of,
)

URL = "https://a.example/p/12?from=x"


def budget(how="skip", least=1):
    state = {}
    return Budget(how, least, lambda: state)


def link(url, **options):
    return Request(url, **options)


@given(st.integers(1, 10_000), st.data())
def test_the_bound_is_below_the_share_and_grows_with_what_is_known(trials, data):
    successes = data.draw(st.integers(0, trials))
    bound = lower_bound(successes, trials)
    assert 0 <= bound <= successes / trials + 1e-9
    assert bound <= lower_bound(successes * 2, trials * 2) + 1e-9
    assert bound <= lower_bound(successes + 1, trials + 1) + 1e-9


@given(st.lists(st.sampled_from(["new", "copy", "asked"]), max_size=400), st.integers(1, 80))
def test_a_shape_is_closed_by_copies_alone_opened_by_one_new_page_and_never_held_for_long(events, least):
    shape, run, held = Shape(), 0, 0
    for event in events:
        if event == "asked":
            held = held + 1 if shape.holds() else 0
            assert held < SAMPLE
            assert not held or (run >= least and lower_bound(run, run) >= SHARE)
        else:
            run = 0 if event == "new" else run + 1
            held = held if run else 0
            shape.judged(new=event == "new", least=least)


@given(st.permutations(["a=1", "b=2", "c[]=3"]), st.integers(0, 10**6))
def test_a_shape_is_that_of_all_values(parameters, number):
    assert shape_of(f"https://A.example/shop/red-kettle-{number}?{'&'.join(parameters)}") == (
        "a.example/shop/*?a&b&c[]"
    )
    assert shape_of(f"https://a.example/p/{number}#x") == "a.example/p/*?"
    assert shape_of(URL) != shape_of("https://b.example/p/12?from=x")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "POST"},
        {"dont_filter": True},
        {"meta": {"neardup": False}},
        {"cb_kwargs": {"item": {"name": "Lamp"}}},
        {"meta": {"item": {"name": "Lamp"}}},
    ],
)
def test_what_is_never_held_back(options):
    spent = budget()
    for _ in range(100):
        spent.judged(URL, new=False)
    one, other = link(URL), link(URL, **options)
    assert spent.held(one) is None  # nobody has yielded it: it is of start()
    for each in (one, other):
        spent.follows(URL, each)
    assert "brought nothing new" in spent.held(one)
    assert all(spent.held(other) is None for _ in range(30))


def test_skipped_and_deferred():
    with pytest.raises(SkippedRequest):
        budget().later(link(URL))
    later = budget("defer").later(link(URL, priority=3, cb_kwargs={"a": 1}))
    assert (later.dont_filter, later.cb_kwargs) == (True, {"a": 1})
    assert later.priority < -1000
    assert later.meta[DEFERRED_KEY]


COLOURS, SORTS, VIEWS = ("red", "blue", "green"), ("price", "name", "new"), ("grid", "list", "wide")
PRODUCTS = range(60)


class Shop:
    """Categories with facets and sort parameters, whose products are linked with where they were found."""

    def __init__(self, text):
        self.text = text

    def what(self, url):
        """Return what a page shows: two pages that show the same are copies."""
        path, query = urlsplit(url).path, parse_qs(urlsplit(url).query)
        if path.startswith("/p/"):
            return path
        return path, query.get("colour", [""])[0], query.get("sort", [""])[0]

    def body(self, path, query):
        if path.startswith("/p/"):
            number = int(path[3:])
            return f"<h1>Lamp {number}</h1><i>{number}.90</i><p>{self.text(number)}</p><a href=/c/all>all</a>"
        colour, sort = (query.get(name, [""])[0] for name in ("colour", "sort"))
        found = [each for each in PRODUCTS if not colour or COLOURS[each % 3] == colour]
        random.Random(sort).shuffle(found)
        source = f"?from={'-'.join(each[0] for each in query.values())}" if query else ""
        links = [f"/p/{each}{source}" for each in found]
        own = {name: each[0] for name, each in query.items()}
        for name, values in (("colour", COLOURS), ("sort", SORTS), ("view", VIEWS)):
            links += [
                "/c/all?" + "&".join(f"{key}={one}" for key, one in sorted({**own, name: value}.items()))
                for value in values
            ]
        teasers = "".join(f"<p>{self.text(each, 25)}</p>" for each in found)
        return f"<h1>Lamps</h1>{teasers}" + "".join(f"<a href='{each}'>x</a>" for each in links)


@pytest.fixture
def shop(site, pages, text, crawl):
    made = Shop(text)
    handler = site.server.RequestHandlerClass
    asked = []

    def get(self):
        parts = urlsplit(self.path)
        asked.append(self.path)
        body = made.body(parts.path, parse_qs(parts.query))
        self.answer(f"<html><head><title>Shop</title></head><body>{body}</body></html>".encode())

    handler.do_GET = get

    class Spider(pages):
        def parse(self, response):
            if "/p/" in response.url:
                yield {"url": response.url, "name": response.css("h1::text").get()}
            yield from response.follow_all(css="a")

    async def run(**settings):
        asked.clear()
        result = await crawl(Spider, settings, urls=[site.url + "/c/all"])
        shown = [made.what(each) for each in asked]
        assert result.errors == {}
        return result, {*shown}, len(shown) - len({*shown})

    return run


async def test_a_shop_with_facets(shop, tmp_path):
    plain, all_shown, all_copies = await shop()
    assert len(plain.items) == len(PRODUCTS)
    skipping, shown, copies = await shop(NEARDUP_BUDGET="skip", NEARDUP_REPORT=str(tmp_path / "report.jsonl"))
    saved, lost = 1 - copies / all_copies, 1 - len(shown) / len(all_shown)
    print(f"{len(all_shown)} pages, {all_copies} copies: {saved:.3f} of the copies saved, {lost:.3f} lost")
    assert saved >= 0.6
    assert lost <= 0.005
    assert len(skipping.items) == len(PRODUCTS)
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    skips = [line for line in lines if line["action"] == "skip"]
    assert len(skips) == skipping["budget/skipped"] > 100
    assert all("brought nothing new" in line["why"]["budget"] for line in skips)


async def test_deferred_requests_come_last_and_none_is_lost(shop):
    _, all_shown, all_copies = await shop()
    deferring, shown, copies = await shop(NEARDUP_BUDGET="defer")
    assert (shown, copies) == (all_shown, all_copies)
    assert deferring["budget/deferred"] > 100


async def test_a_crawl_without_copies_skips_nothing(site, crawl, pages):
    urls = [site.article(f"/p/{number}", number) for number in range(120)]
    site.article("/", 999, links=tuple(urls))
    result = await crawl(pages, {"NEARDUP_BUDGET": "skip"}, urls=[site.url + "/"])
    assert (len(result.items), result["budget/skipped"]) == (121, 0)
    assert list(itertools.islice(result.errors, 1)) == []
