"""Has each page fingerprinted before its callback. Decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.extraction import Page

from .extension import NearDup
from .filters import clear_match, is_for_spider, skip_reason

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


class NearDupDownloaderMiddleware:
    """Extracts the main text of HTML pages in worker processes and leaves their signatures for the spider middleware.

    The only asynchronous hook before a callback is this one; but robots.txt, media files and pages that a callback
    downloads by itself pass here too, so nothing is looked up or stored here. While a page is extracted it still
    counts for ``CONCURRENT_REQUESTS``.
    """

    def __init__(self, extension: NearDup) -> None:
        self.extension = extension

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(NearDup.of(crawler))

    async def process_response(self, request: Request, response: Response) -> Response:
        self.extension.outcomes[request] = ""
        with self.extension.journal.fails_open("extract", response.url):
            clear_match(request, response)
            if is_for_spider(request):
                await self._examine(request, response)
        return response

    async def _examine(self, request: Request, response: Response) -> None:
        reason = skip_reason(request, response, self.extension.config)
        if reason is not None:
            self.extension.outcomes[request] = f"skipped/{reason}"
            return
        content_type = response.headers.get("Content-Type") or b""
        page = Page(response.body, response.url, content_type.decode("latin-1"))
        self.extension.outcomes[request] = await self.extension.extract(page)
