"""The downloader middleware: each page is extracted and fingerprinted before its callback is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_neardup.extraction import Page

from .extension import NearDupExtension
from .outcome import clear_marks
from .page import Page as CrawledPage
from .responses import carries_item, is_for_spider, skip_reason

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_neardup.extraction import Extraction


class NearDupDownloaderMiddleware:
    """Has the main text of each HTML page extracted and fingerprinted in a worker process.

    This middleware decides nothing, and stores nothing in the index: the spider middleware does, with the
    signature found here. There have to be two middlewares. Only a downloader middleware can wait for a worker
    before the callback is called. But downloader middlewares also see robots.txt, files of media pipelines,
    and pages that a callback downloads by itself, and none of these may be recorded as a page of the crawl.

    While a page is extracted it still counts for ``CONCURRENT_REQUESTS``.
    """

    def __init__(self, extension: NearDupExtension) -> None:
        self.extension = extension

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(NearDupExtension.of(crawler))

    def process_request(self, request: Request) -> None:
        ended = False
        with self.extension.reporter.fails_open("closespider", request.url):
            # A request that carries an item is sent nevertheless: its page completes the item.
            ended = (
                self.extension.no_new_pages.has_ended(request.url)
                and is_for_spider(request)
                and not carries_item(request)
            )
        if ended:
            self.extension.reporter.count("ended/request")
            raise IgnoreRequest(f"The crawl of the site of {request.url} has come to where nothing is new")

    async def process_response(self, request: Request, response: Response) -> Response:
        with self.extension.reporter.fails_open("extract", response.url):
            clear_marks(request, response)
            if is_for_spider(request):
                page = CrawledPage.in_progress[request] = CrawledPage(self.extension, "")
                page.arguments = frozenset(request.cb_kwargs)
                page.outcome = await self._examine(request, response)
        return response

    async def _examine(self, request: Request, response: Response) -> Extraction | str:
        try:
            reason = skip_reason(request, response, self.extension.config)
        except TimeoutError:
            self.extension.reporter.failed(
                "rules", f"the patterns of NEARDUP_RULES take too long for {response.url}", trace=False
            )
            return ""
        if reason is not None:
            return f"skipped/{reason}"
        content_type = response.headers.get("Content-Type") or b""
        return await self.extension.extract(Page(response.body, response.url, content_type.decode("latin-1")))
