"""The downloader middleware: each page is extracted and fingerprinted before its callback is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later
from twisted.internet.defer import Deferred, DeferredLock

from scrapy_neardup.extraction import Page as ExtractedPage
from scrapy_neardup.extraction.fair_queue import FairQueue
from scrapy_neardup.matching.sites import site_key

from .eventloop import result_of, wait_done
from .extension import NearDupExtension
from .outcome import clear_marks
from .page import Page
from .responses import is_for_spider, skip_reason

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_neardup.extraction import Extraction

#: A page has to be extracted within three time limits and so many seconds: it may queue behind other pages.
GRACE_SECONDS = 5.0


class NearDupDownloaderMiddleware:
    """Has the main text of each HTML page extracted and fingerprinted in a worker process.

    The spider middleware decides, with the signature found here. Only a downloader middleware can wait for a
    worker while the page still counts for ``CONCURRENT_REQUESTS``; but it also sees robots.txt, media files
    and pages that a callback downloads by itself, none of which is a page of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.extension = extension = NearDupExtension.of(crawler)
        self._timeout = extension.config.extract_timeout
        # One page more than workers is handed out, so that a worker that is done has the next one at once.
        self._turns = FairQueue(extension.config.processes + 1, self._timeout)
        self._loop_lock = DeferredLock()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> Request | None:
        budget, why = self.extension.budget, None
        with self.extension.reporter.fails_open("budget", request.url):
            why = budget.held(request) if budget is not None else None
        if budget is None or why is None:
            return None
        self.extension.reporter.held(request.url, budget.how, why)
        return budget.later(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        with self.extension.reporter.fails_open("extract", response.url):
            clear_marks(request, response)
            if is_for_spider(request):
                page = Page.in_progress[request] = Page(self.extension, "")
                page.arguments = frozenset(request.cb_kwargs)
                page.outcome = await self._examine(request, response)
        return response

    async def _examine(self, request: Request, response: Response) -> Extraction | str:
        try:
            reason = skip_reason(request, response, self.extension.config)
        except TimeoutError:
            message = f"the patterns of NEARDUP_RULES take too long for {response.url}"
            self.extension.reporter.failed("rules", message, trace=False)
            return ""
        if reason is not None:
            return f"skipped/{reason}"
        content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
        return await self._extract(ExtractedPage(response.body, response.url, content_type))

    async def _extract(self, page: ExtractedPage) -> Extraction | str:
        """Have a worker extract and fingerprint *page*, when it is its site's turn; else return a stat."""
        decided: Deferred[bool] = Deferred()
        turn = self._turns.ask(site_key(page.url), decided.callback)
        seconds, late = 0.0, False
        try:
            if not await result_of(decided):
                return "skipped/slow_site"
            future = self.extension.workers.submit(page)
            if not await wait_done(future.add_done_callback, GRACE_SECONDS + 3 * self._timeout):
                future.cancel()
                return "error/extract/stuck"
            extraction = future.result()
            seconds, late = extraction.seconds, extraction.reason == "timeout"
            # One page goes on in each turn of the event loop: all together would hold up everything else.
            await result_of(self._loop_lock.acquire())
            call_later(0, self._loop_lock.release)
            return extraction
        finally:
            self._turns.end(turn, seconds, late=late)
