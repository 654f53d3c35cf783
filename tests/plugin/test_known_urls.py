"""Rules that rewrite URLs: a page that the crawl has is not asked for under another URL."""

import json

import pytest
from scrapy import Request

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.output.files import page_columns, rows_of
from scrapy_neardup.audit.url_rules import find_rules
from scrapy_neardup.plugin.budget import KnownUrls
from scrapy_neardup.plugin.settings import read_rules

RULES = [{"url": r"^([^?]*)\?.*", "to": r"\1"}]
PLAIN, VARIANT = "https://a.example/p/1", "https://a.example/p/1?sid=2"


def test_a_variant_is_held_once_the_page_has_come():
    state = {}
    known, after = (KnownUrls(read_rules("NEARDUP_RULES", RULES), lambda: state) for _ in range(2))
    assert known.held(Request(PLAIN)) is None
    assert known.held(Request(VARIANT)) == f"the page of {PLAIN} is on its way"
    later = known.later(Request(VARIANT, priority=2))
    assert later.priority < -1000
    assert known.held(later) is None  # the page has not come
    known.has_come(f"{PLAIN}#POST-0123456789abcdef", items=True)
    assert known.held(later) is None  # the answer to a form is another page
    known.has_come(PLAIN, items=False)
    assert known.held(later) is None  # nor has it brought an item
    known.has_come(VARIANT, items=False)
    assert known.held(Request(VARIANT)) == f"the page of {PLAIN} has come"
    assert known.later(Request(VARIANT)) is None
    assert after.held(Request(VARIANT)) == known.held(Request(VARIANT))  # what stays in the JOBDIR
    assert known.held(Request(PLAIN)) is None
    for options in (
        {"dont_filter": True},
        {"method": "POST"},
        {"meta": {"redirect_urls": [PLAIN]}},
        {"cb_kwargs": {"item": {"name": "Lamp"}}},
        {"meta": {"neardup": False}},
    ):
        assert known.held(Request(VARIANT, **options)) is None


@pytest.fixture
def shop(site, page, pages, text):
    """A spider, and the names of products that are linked in three ways."""
    names = [f"Lamp {number}" for number in range(70)]
    links = []
    for number, name in enumerate(names):
        for path in (f"/p/{number}", f"/print/{number}"):
            site.pages[path] = page(text(number), title=name)
        links += [f"/p/{number}?from={number % 3}", f"/p/{number}", f"/print/{number}", f"/p/{number}?from=x"]
    site.pages["/"] = page("", tuple(links))

    class Spider(pages):
        finds_in_print = True

        def parse(self, response):
            yield from response.follow_all(css="a")
            if len(response.url.split("/")) > 4 and (self.finds_in_print or "/print/" not in response.url):
                yield {"url": response.url, "title": response.css("title::text").get(), "text": response.text}

    return Spider, names


async def test_rules_of_one_crawl_save_the_requests_of_the_next(crawl, site, shop, tmp_path):
    spider, names = shop
    urls = [site.url + "/"]
    first = await crawl(spider, {"NEARDUP_POLICY": "tag"}, urls=urls)
    feed = tmp_path / "items.jsonl"
    feed.write_text("".join(json.dumps(item) + "\n" for item in first.items))
    with audit([feed], text_field="text") as found:
        rules = [rule.facts() for rule in find_rules(rows_of(page_columns(found.pages, found.clusters)))]
    assert sorted(rule["why"]["what"] for rule in rules) == ["without from", "without print, but p"]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(rules))
    for finds_in_print in (True, False):
        before = site.hits.total()
        settings = {"NEARDUP_RULES": str(path)}
        result = await crawl(spider, settings, urls=urls, at_once=4, finds_in_print=finds_in_print)
        saved = first.stats["downloader/request_count"] - (site.hits.total() - before)
        print(f"{saved} of 210 requests for copies saved, {result['rules/deferred']} deferred")
        assert {item["title"] for item in result.items} == {*names}
        skips = [line for line in result.report if line["action"] == "skip"]
        assert saved == len(skips) == result["rules/skipped"] > 130
        assert all("has come" in line["why"]["rules"] for line in skips)


async def test_a_page_that_fails_is_asked_for_under_its_other_url(crawl, site, pages, text, page):
    site.pages["/1"] = page(text(1))
    site.pages["/"] = page("", ("/1?b=1", "/1?b=2", "/1?b=3"))

    class Spider(pages):
        def parse(self, response):
            yield from response.follow_all(css="a")
            if "b=" in response.url and not response.url.endswith("b=3"):
                raise ValueError("as pages fail")
            if "b=" in response.url:
                yield {"url": response.url}

    result = await crawl(Spider, {"NEARDUP_RULES": RULES}, urls=[site.url + "/"], raises=True)
    assert result.urls == [site.url + "/1?b=3"]
