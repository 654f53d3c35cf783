"""Policy and scope by URL; pages told apart by the request's body and by the fragment of the URL."""

from __future__ import annotations

import json
import time

import pytest
from scrapy.http import FormRequest
from scrapy.settings import Settings

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.plugin.settings import CrawlOptions

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}
#: What backtracks without end: two ways to read each letter.
SLOW = r"/(a|aa)+$"


def rules(value):
    return CrawlOptions.from_settings(Settings({"NEARDUP_RULES": value})).rules


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("[{", "list of rules"),
        ("[" * 5000, "list of rules"),
        ({"url": "x"}, "list of rules"),
        (["x"], "NEARDUP_RULES[0] is 'x': set it to a list of rules"),
        ([{"policy": "tag"}], "list of rules"),
        ([{"url": 7}], "list of rules"),
        ([{"url": ""}, {"url": "("}], "NEARDUP_RULES[1] has the pattern '(', which is no regular expression"),
        ([{"url": "", "polcy": "tag"}], "NEARDUP_RULES[0] has 'polcy'"),
        ([{"url": "", "policy": "drop"}], "NEARDUP_RULES[0]['policy'] is 'drop': set it to 'tag' or"),
        ([{"url": "", "policy": 0}], "NEARDUP_RULES[0]['policy'] is 0"),
        ([{"url": "", "policy": True}], "NEARDUP_RULES[0]['policy'] is True"),
        ([{"url": "", "scope": ["host"]}], "NEARDUP_RULES[0]['scope'] is ['host']"),
        ([{"url": "", "scope": len}], "which takes other arguments"),
    ],
)
def test_a_rule_that_cannot_work_is_named(value, remedy):
    with pytest.raises(ConfigurationError) as caught:
        rules(value)
    assert remedy in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_first_rule_that_fits_applies():
    found = rules(json.dumps([{"url": r"/news/\d+$", "policy": "tag"}, {"url": "/news/", "policy": False}]))
    assert [getattr(found.find(url), "policy", None) for url in ("/news/1", "/news/x", "/")] == [
        "tag", False, None,
    ]  # fmt: skip
    assert rules([]).find("/news/1") is None


@pytest.mark.parametrize("pattern", [SLOW, r"/(\w+\s?)*$", r"(.*a){20}$"])
def test_a_url_cannot_make_a_pattern_take_long(pattern):
    found = rules([{"url": pattern}] * 20)
    started = time.perf_counter()
    with pytest.raises(TimeoutError):
        found.find(f"https://x.example/{'a' * 2000}!")
    assert time.perf_counter() - started < 1  # `SEARCH_SECONDS`


async def test_rules_in_a_crawl(site, crawl, pages):
    urls = [site.article(path) for path in ("/a", "/tagged/b", "/out/c", "/page/d", "/e")]
    settings = {
        **ONE_BY_ONE,
        "NEARDUP_RULES": [
            {"url": "/tagged/", "policy": "tag"},
            {"url": "/out/", "policy": False},
            {"url": "/page/", "policy": "drop_page"},
        ],
    }
    result = await crawl(pages, settings, urls=urls)
    assert result.urls == sorted(urls[:3])
    assert (result["tagged"], result["skipped/rule"], result["dropped/page"], result["dropped/item"]) == (
        1, 1, 1, 1,
    )  # fmt: skip
    assert result["index/documents"] == 1
    assert result.errors == {}


async def test_items_of_pages_that_are_switched_off_are_compared(site, crawl, pages, text):
    """The way for shops: pages are not compared, items are; neither by meta nor by rule this is a failure."""
    site.article("/a")
    site.article("/b")

    class Shop(pages):
        def parse(self, response):
            yield {"url": response.url, "name": "Lamp", "text": text(5)}

    urls = [site.url + "/a", site.url + "/b"]
    settings = {**ONE_BY_ONE, "NEARDUP_ITEM_FIELDS": ["name", "text"]}
    for more, meta in (
        ({"NEARDUP_RULES": [{"url": "", "policy": False}]}, {}),
        ({}, {"neardup": False}),
    ):
        result = await crawl(Shop, {**settings, **more}, urls=urls, meta=meta)
        assert (result["checked"], result["item/checked"], result["item/dropped"]) == (0, 2, 1)
        assert result.errors == {}


async def test_a_url_that_takes_too_long_passes(site, crawl, pages):
    """It is neither judged by the wrong rule nor stored, and the crawl goes on."""
    urls = [site.article("/a"), site.article(f"/{'a' * 200}!"), site.article("/b")]
    rules = [{"url": SLOW, "policy": False}, {"url": "", "policy": "drop_page"}]
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_RULES": rules}, urls=urls)
    assert len(result.items) == 3
    assert (result["error/rules"], result["skipped/rule"], result["unique"]) == (1, 1, 1)
    assert result.errors == {"neardup/error/rules": 1}


async def test_pages_of_one_url_are_told_apart_by_the_body_of_the_request(site, crawl, pages, text, tmp_path):
    """A search page answers two forms with one text, and one with another text."""

    class Forms(pages):
        async def start(self):
            for query in ("lamps", "lights", "chairs"):
                yield FormRequest(site.url + "/search", self.parse, formdata={"q": query})

    bodies = {"lamps": text(1), "lights": text(1), "chairs": text(2)}
    site.answer = lambda path, body: bodies[body.decode().partition("=")[2]]
    report = tmp_path / "report.jsonl"
    result = await crawl(Forms, {**ONE_BY_ONE, "NEARDUP_REPORT": str(report), "NEARDUP_DIR": "seen"})
    assert (result["unique"], result["duplicate"], result["revisit"]) == (2, 1, 0)
    (line,) = map(json.loads, report.read_text().splitlines())
    assert line["url"] != line["match"]
    assert line["url"].startswith(site.url + "/search#POST-")
    again = await crawl(Forms, {**ONE_BY_ONE, "NEARDUP_DIR": "seen"})
    assert (again["revisit"], again["duplicate"]) == (2, 1)
