"""Each policy does to pages, items and links what it says, for copies one after another."""

from __future__ import annotations

import json

import pytest

from scrapy_neardup.plugin import signals
from scrapy_neardup.plugin.outcome import NearDuplicatePage

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}


def two_copies(site):
    site.article("/end", seed=7)
    site.article("/next", seed=8)
    return [site.article("/a", links=("/end",)), site.article("/b", links=("/next",))]


async def test_tag_marks_the_copy_and_keeps_all(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "tag"}, urls=urls)
    assert len(result.items) == 4
    match = result.spider.matches.pop(urls[1])
    assert match == {"url": urls[0], "kind": "exact", "distance": 0, "similarity": 1.0, "policy": "tag"}
    assert not result.spider.matches
    assert (result["checked"], result["unique"], result["duplicate"], result["tagged"]) == (4, 3, 1, 1)
    assert result["duplicate/exact"] == result["duplicate/distance/0"] == 1
    assert result["confirmed"] == 3
    assert result["index/documents"] == 3
    assert result.errors == {}


async def test_drop_items_drops_the_items_and_follows_the_links(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, ONE_BY_ONE, urls=urls)
    assert sorted(item["url"] for item in result.items) == [urls[0], f"{site.url}/end", f"{site.url}/next"]
    assert list(result.spider.matches) == [urls[1]]
    assert result["dropped/item"] == 1
    assert result["tagged"] == result["dropped/page"] == 0
    assert result.errors == {}


@pytest.mark.parametrize("count", [1, 2, 9])
async def test_several_items_of_a_copy_are_dropped_if_they_are_its(site, crawl, pages, count):
    class Lists(pages):
        def parse(self, response):
            yield from ({"url": response.url, "entry": number} for number in range(count))

    urls = [site.article(f"/{number}") for number in range(3)]
    result = await crawl(Lists, ONE_BY_ONE, urls=urls)
    assert result["dropped/item"] == 2 * count


async def test_items_of_an_unchanged_revisit_are_dropped(site, crawl, pages):
    class Lists(pages):
        def parse(self, response):
            yield from ({"url": response.url, "entry": number} for number in range(3))

    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": "drop_items"}
    result = await crawl(Lists, settings, urls=[site.article("/a")] * 2)
    assert result["dropped/item"] == 3


async def test_drop_page_calls_the_errback_instead_of_the_callback(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "drop_page"}, urls=urls)
    assert result.spider.seen == [urls[0], f"{site.url}/end"]
    assert "/next" not in site.hits
    (failure,) = result.spider.failures
    assert failure.check(NearDuplicatePage)
    assert failure.value.response.url == urls[1]
    assert failure.value.verdict.url == urls[0]
    assert failure.request.url == urls[1]
    assert result["dropped/page"] == 1
    assert result.errors == {}


async def test_drop_page_without_errback_is_silent(site, crawl, pages):
    class NoErrback(pages):
        failed = None

    result = await crawl(NoErrback, {**ONE_BY_ONE, "NEARDUP_POLICY": "drop_page"}, urls=two_copies(site))
    assert result["dropped/page"] == 1
    assert not [name for name in result.stats if name.startswith(("spider_exceptions", "log_count/ERROR"))]


async def test_meta_overrides_policy_and_skips(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(
        pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "drop_page"}, urls=urls, meta={"neardup": "tag"}
    )
    assert result["tagged"] == 1
    assert urls[1] in result.spider.seen
    skipped = await crawl(pages, ONE_BY_ONE, urls=urls, meta={"neardup": False})
    assert skipped["skipped/meta"] == 2
    assert not skipped.spider.matches


async def test_bad_meta_falls_back_to_the_settings(site, crawl, pages):
    result = await crawl(pages, ONE_BY_ONE, urls=two_copies(site), meta={"neardup": "dorp"})
    assert result["error/meta"] == 2
    assert result["dropped/item"] == 1


@pytest.mark.parametrize(
    ("settings", "meta", "duplicates"),
    [
        ({}, {}, 1),
        ({"NEARDUP_SCOPE": "host"}, {}, 0),
        ({"NEARDUP_SCOPE": "spider"}, {}, 1),
        ({"NEARDUP_SCOPE": lambda url, spider: url[-1]}, {}, 0),
        ({"NEARDUP_SCOPE": "host"}, {"neardup_scope": "all"}, 1),
    ],
)
async def test_scope(site, crawl, pages, settings, meta, duplicates):
    urls = [site.article("/a"), site.article("/b").replace("127.0.0.1", "localhost")]
    result = await crawl(pages, {**ONE_BY_ONE, **settings}, urls=urls, meta=meta)
    assert (result["checked"], result["duplicate"]) == (2, duplicates)
    assert result.errors == {}


async def test_near_duplicate(site, crawl, pages, text, page):
    long = text(3, 1500)
    site.pages["/a"] = page(long)
    site.pages["/b"] = page(long + " addendum")
    result = await crawl(
        pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "tag"}, urls=[site.url + "/a", site.url + "/b"]
    )
    assert result["duplicate/near"] == 1
    (match,) = result.spider.matches.values()
    assert match["kind"] == "near"
    assert match["distance"] <= 3
    assert 0.9 < match["similarity"] <= 1


async def test_short_pages_and_revisits_pass(site, crawl, pages):
    urls = [
        site.article("/s1", count=10),
        site.article("/s2", count=10),
        site.article("/a"),
        site.article("/a"),
    ]
    result = await crawl(pages, ONE_BY_ONE, urls=urls)
    assert (result["too_short"], result["unique"], result["revisit"]) == (2, 1, 1)
    assert len(result.items) == 4


async def test_signal_and_report(site, crawl, pages, tmp_path):
    heard = []

    class Listening(pages):
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.heard, signals.page_duplicate)
            return spider

        def heard(self, response, verdict, policy, spider):
            heard.append((response.url, verdict.kind, verdict.url, policy, spider is self))

    urls = [*two_copies(site), site.article("/short", count=5), site.url + "/a"]
    report = tmp_path / "report.jsonl"
    await crawl(Listening, {**ONE_BY_ONE, "NEARDUP_REPORT": str(report)}, urls=urls)
    assert heard == [(urls[1], "exact", urls[0], "drop_items", True)]
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    for line in lines:
        assert line.pop("time").endswith("+00:00")
    assert sorted((line["verdict"], line["url"], line["match"], line["action"]) for line in lines) == [
        ("exact", urls[1], urls[0], "drop_items"),
        ("revisit", urls[0], urls[0], "passed"),
        ("too_short", urls[2], None, "passed"),
    ]
    exact = next(line for line in lines if line["verdict"] == "exact")
    assert (exact["distance"], exact["similarity"], exact["type"]) == (0, 1.0, "page")


async def test_each_line_that_cannot_be_written_is_counted(site, crawl, pages):
    urls = [site.article(f"/{number}") for number in range(4)]
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_REPORT": "/dev/full"}, urls=urls)
    assert result["error/report"] == result["duplicate"] == 3


async def test_index_is_kept_in_a_directory(site, crawl, pages, tmp_path):
    urls = two_copies(site)
    settings = {**ONE_BY_ONE, "NEARDUP_DIR": "seen"}
    assert (await crawl(pages, settings, urls=urls[:1]))["unique"] == 2
    assert (tmp_path / ".scrapy" / "seen").exists()
    again = await crawl(pages, settings, urls=urls)
    assert (again["unique"], again["revisit"], again["duplicate"]) == (1, 2, 1)
    assert (await crawl(pages, {**settings, "NEARDUP_RESET": True}, urls=urls[:1]))["unique"] == 2


async def test_off(site, crawl, pages):
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_ENABLED": False}, urls=two_copies(site))
    assert len(result.items) == 4
    assert not [name for name in result.stats if name.startswith("neardup")]
