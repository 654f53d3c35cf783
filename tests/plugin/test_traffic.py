"""Only pages that reach a callback count; signals, errbacks and browser pages meet what they should."""

import asyncio

import pytest
from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.linkextractors import LinkExtractor
from scrapy.pipelines.files import FilesPipeline
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.plugin import NearDupExtension, NearDuplicatePage, signals

policies = pytest.mark.parametrize("policy", ["drop_items", "drop_page"])


async def test_redirects_clear_a_stale_match(site, crawl, pages):
    site.article("/target", seed=1)
    site.pages["/moved"] = (302, {"Location": "/target"}, b"<html>moved</html>")
    site.pages["/meta"] = b'<html><head><meta http-equiv="refresh" content="0; url=/moved"></head></html>'
    stale = {"neardup_match": {"url": "https://stale.example/"}, "neardup_verdict": "near"}
    result = await crawl(pages, urls=[site.url + "/meta"], meta=stale)
    assert result.spider.seen == [site.url + "/target"]
    assert not result.spider.matches
    assert result.counts("checked", "unique") == [1, 1]


async def test_retries_and_error_pages_are_not_recorded(site, crawl, pages, page, text):
    answers = [(503, {}, page(text(5)))]
    site.pages["/flaky"] = lambda: answers.pop() if answers else page(text(1))
    site.pages["/gone"] = (404, {}, page(text(1)))
    result = await crawl(pages, urls=[site.url + "/flaky", site.url + "/gone"])
    assert result.counts("checked", "unique") == [1, 1]
    assert result.spider.seen == [site.url + "/flaky"]


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
    assert result.counts("checked", "unique") == [1, 1]
    assert not [name for name in result.stats if name.startswith("neardup/skipped")]


@policies
async def test_items_of_start_and_of_errbacks_pass(site, crawl, pages, policy):
    class Unrelated(pages):
        async def start(self):
            yield {"url": "start"}
            yield Request(site.url + "/missing", self.parse, errback=self.failed)

        def failed(self, failure):
            yield {"url": "errback"}

    result = await crawl(Unrelated, {"NEARDUP_POLICY": policy, "NEARDUP_ITEM_FIELDS": ["text"]})
    assert result.urls == ["errback", "start"]


async def test_feed_is_on_disk_before_the_fingerprint(site, crawl, pages, tmp_path, monkeypatch):
    feed = tmp_path / "feed.jsonl"
    sizes = []
    confirm = Reservation.confirm

    def watched(self, **options):
        sizes.append((feed.read_text().count("\n"), self.url))
        confirm(self, **options)

    monkeypatch.setattr(Reservation, "confirm", watched)
    await crawl(pages, {"FEEDS": {str(feed): {"format": "jsonlines"}}}, urls=site.articles(3))
    assert len(sizes) == 3
    for lines, url in sizes:
        assert url in "".join(feed.read_text().splitlines(True)[:lines])


async def test_a_crawl_that_is_closed_before_it_has_begun_ends(crawl, pages):
    class Closed(pages):
        async def start(self):
            raise CloseSpider("at once")
            yield

    result = await crawl(Closed, {"NEARDUP_DIR": "seen"})
    assert [result.stats["finish_reason"], *result.counts("checked", "confirmed")] == ["at once", 0, 0]


@policies
@pytest.mark.parametrize("kind", [CrawlSpider, SitemapSpider])
async def test_spiders_that_call_back_by_themselves_and_the_http_cache(site, crawl, policy, kind):
    """In the second crawl each page comes from Scrapy's cache, and is as good as from the site."""
    paths = [f"/page/{number}" for number in range(6)]
    urls = [site.article(path, seed=number % 3 + 1) for number, path in enumerate(paths)]
    site.article("/", 9, links=tuple(paths))
    locations = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    site.pages["/sitemap.xml"] = (200, {"Content-Type": "text/xml"}, f"<urlset>{locations}</urlset>".encode())

    class Some(kind):
        name = "some"
        start_urls, sitemap_urls = [f"{site.url}/"], [f"{site.url}/sitemap.xml"]
        rules = [Rule(LinkExtractor("/page/"), callback="page")]
        sitemap_rules = [("/page/", "page")]

        def page(self, response):
            yield {"url": response.url}

    for _ in range(2):
        result = await crawl(Some, {"NEARDUP_POLICY": policy, "HTTPCACHE_ENABLED": True})
        assert len(result.items) == 3
        assert result.counts("duplicate/exact", "confirmed") == [3, 3 + (kind is CrawlSpider)]
    assert all(site.hits[path] == 1 for path in paths)


@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_handlers_of_signals_end_before_the_callback_or_errback(site, crawl, pages, policy):
    heard, called = [], []

    async def handler(response, verdict, policy):
        await asyncio.sleep(0.05)
        heard.append((response.url, policy))

    class Noting(pages):
        async def start(self):
            self.crawler.signals.connect(handler, signals.page_duplicate)
            async for request in super().start():
                yield request

        def note(self, response):
            super().note(response)
            called.append((response.url, [url for url, _ in heard]))

        def failed(self, failure):
            assert failure.check(NearDuplicatePage)
            called.append((failure.value.response.url, [url for url, _ in heard]))

    result = await crawl(Noting, {"NEARDUP_POLICY": policy}, urls=site.copies(6), at_once=6)
    assert len(heard) == result["duplicate"] == 5
    assert {each for _, each in heard} == {policy}
    copies = {url for url, _ in heard}
    assert all(url in before for url, before in called if url in copies)
    assert len(called) == 6


class BrowserPage:
    """Stands for a page of scrapy-playwright, which opens no more than its limit (*places*) at once."""

    def __init__(self, places, hangs=False):
        self.places = places
        self.hangs = hangs
        self.closed = 0

    async def close(self):
        await asyncio.sleep(1000 if self.hangs else 0.01)
        self.closed += 1
        self.places.release()


@pytest.mark.parametrize("with_errback", [False, True])
@policies
async def test_a_browser_page_that_nobody_would_close_is_closed(site, crawl, pages, policy, with_errback):
    opened = []
    places = asyncio.Semaphore(2)

    class Browser:
        async def process_request(self, request):
            await asyncio.wait_for(places.acquire(), 20)
            request.meta["playwright_page"] = BrowserPage(places)
            opened.append(request.meta["playwright_page"])

    class Closing(pages):
        async def start(self):
            async for request in super().start():
                yield request.replace(errback=self.failed if with_errback else None)

        async def parse(self, response):
            await response.meta["playwright_page"].close()
            yield {"url": response.url}

        async def failed(self, failure):
            await failure.request.meta["playwright_page"].close()

    urls, meta = site.articles(6, repeat=1), {"playwright_include_page": True}
    settings = {"NEARDUP_POLICY": policy, "DOWNLOADER_MIDDLEWARES": {Browser: 100}}
    result = await crawl(Closing, settings, urls=urls, meta=meta, at_once=6)
    assert [page.closed for page in opened] == [1] * 6
    assert result["duplicate"] == 5


async def test_a_browser_page_that_does_not_close_is_left(site, crawl, pages, monkeypatch):
    class NoErrback(pages):
        failed = None

    meta = {"playwright_include_page": True, "playwright_page": BrowserPage(None, hangs=True)}
    monkeypatch.setattr(NearDupExtension, "browser_page_timeout_seconds", 0.1)
    urls, settings = site.articles(2, repeat=1), {"NEARDUP_POLICY": "drop_page"}
    result = await crawl(NoErrback, settings, urls=urls, meta=meta, fails=True)
    assert result["error/close_page"] == 1
    assert len(result.items) == 1
