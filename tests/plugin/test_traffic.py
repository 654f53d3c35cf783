"""Only pages that reach a callback count: not redirects, retries, robots.txt, media or inline downloads."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.pipelines.files import FilesPipeline

from scrapy_neardup.index.reservation import Reservation

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}


async def test_redirects_clear_a_stale_match(site, crawl, pages):
    site.article("/target", seed=1)
    site.pages["/moved"] = (302, {"Location": "/target"}, b"<html>moved</html>")
    site.pages["/meta"] = b'<html><head><meta http-equiv="refresh" content="0; url=/moved"></head></html>'
    stale = {"neardup_match": {"url": "https://stale.example/"}, "neardup_verdict": "near"}
    result = await crawl(pages, ONE_BY_ONE, urls=[site.url + "/meta"], meta=stale)
    assert result.spider.seen == [site.url + "/target"]
    assert not result.spider.matches
    assert result["checked"] == result["unique"] == 1


async def test_retries_and_error_pages_are_not_recorded(site, crawl, pages, page, text):
    answers = [(503, {}, page(text(5)))]
    site.pages["/flaky"] = lambda: answers.pop() if answers else page(text(1))
    site.pages["/gone"] = (404, {}, page(text(1)))
    result = await crawl(pages, ONE_BY_ONE, urls=[site.url + "/flaky", site.url + "/gone"])
    assert result["checked"] == result["unique"] == 1
    assert result.spider.seen == [site.url + "/flaky"]


async def test_what_is_not_html_passes(site, crawl, pages, page, text):
    class Any(pages):
        def parse(self, response):
            self.note(response)
            yield {"url": response.url}

    bodies = {
        "/json": ({"Content-Type": "application/json"}, b'{"a": 1}'),
        "/image": ({"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(200)),
        "/large": ({}, page(text(1, 3000))),
        "/none": ({}, b""),
        "/textless": ({}, b"<html><head><title></title></head><body></body></html>"),
    }
    for path, (headers, body) in bodies.items():
        site.pages[path] = (200, headers, body)
    settings = {**ONE_BY_ONE, "NEARDUP_MAX_BODY_SIZE": "10K"}
    result = await crawl(Any, settings, urls=[site.url + path for path in bodies])
    assert len(result.items) == len(bodies)
    assert result["skipped/not_html"] == 2 + (result["skipped/empty"] == 0)
    assert result["skipped/too_large"] == result["skipped/no_text"] == 1
    assert result["checked"] == 0


async def test_robots_txt_media_and_inline_downloads_are_not_recorded(site, crawl, pages, page, text):
    class Inline(pages):
        async def parse(self, response):
            self.note(response)
            inline = await self.crawler.engine.download_async(Request(site.url + "/inline"))
            assert inline.status == 200
            yield {"url": response.url, "file_urls": [site.url + "/media"]}

    for path in ("/robots.txt", "/media", "/inline"):
        site.pages[path] = page(text(1))
    url = site.article("/page", seed=1)
    settings = {"ROBOTSTXT_OBEY": True, "FILES_STORE": "files", "ITEM_PIPELINES": {FilesPipeline: 1}}
    result = await crawl(Inline, settings, urls=[url])
    assert all(site.hits[path] == 1 for path in ("/robots.txt", "/media", "/inline"))
    assert result.items[0]["files"]
    assert (result["checked"], result["unique"]) == (1, 1)
    assert not [name for name in result.stats if name.startswith("neardup/skipped")]
    assert "log_count/ERROR" not in result.stats


async def test_http_cache(site, crawl, pages):
    settings = {**ONE_BY_ONE, "HTTPCACHE_ENABLED": True}
    urls = [site.article("/a"), site.article("/b")]
    first = await crawl(pages, settings, urls=urls)
    second = await crawl(pages, settings, urls=urls)
    assert second.stats["httpcache/hit"] == 2
    assert site.hits["/a"] == 1
    for result in (first, second):
        assert (result["unique"], result["duplicate"], len(result.items)) == (1, 1, 1)


@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_items_of_start_and_of_errbacks_pass(site, crawl, pages, policy):
    class Unrelated(pages):
        async def start(self):
            yield {"url": "start"}
            yield Request(site.url + "/missing", self.parse, errback=self.failed)

        def failed(self, failure):
            yield {"url": "errback"}

    result = await crawl(Unrelated, {"NEARDUP_POLICY": policy, "NEARDUP_ITEM_FIELDS": ["text"]})
    assert sorted(item["url"] for item in result.items) == ["errback", "start"]
    assert result.errors == {}


async def test_feed_is_on_disk_before_the_fingerprint(site, crawl, pages, tmp_path, monkeypatch):
    feed = tmp_path / "feed.jsonl"
    sizes = []
    confirm = Reservation.confirm

    def watched(self, **options):
        sizes.append((feed.read_text().count("\n"), self.url))
        confirm(self, **options)

    monkeypatch.setattr(Reservation, "confirm", watched)
    urls = [site.article(f"/{number}", seed=number) for number in range(3)]
    await crawl(pages, {**ONE_BY_ONE, "FEEDS": {str(feed): {"format": "jsonlines"}}}, urls=urls)
    assert len(sizes) == 3
    for lines, url in sizes:
        assert url in "".join(feed.read_text().splitlines(True)[:lines])
