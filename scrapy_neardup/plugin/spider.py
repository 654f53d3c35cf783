"""The spider middleware: it has each page judged before its callback, and each of its items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import Response

from .closing import pass_origin
from .extension import NearDupExtension
from .outcome import NearDuplicateItem, NearDuplicatePage, clear_marks
from .page import Page
from .responses import is_for_spider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from typing_extensions import Self


class NearDupSpiderMiddleware:
    """Asks the index about each page, and applies the policy to duplicates.

    - ``tag`` sets ``response.meta["neardup_match"]`` and the flag ``neardup`` in ``response.flags``.
    - ``drop_items`` does the same, and drops the items of the page that say what items of the page say that
      it repeats. Its requests are followed.
    - ``drop_page`` does not call the callback. The request's errback is called with `NearDuplicatePage`.

    A page that repeats a page in progress waits, before its callback, until the other page is stored or lost.
    If anything fails here, the page passes and a stat ``neardup/error/…`` counts it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.extension = NearDupExtension.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.item_scraped, signals.item_scraped)
        crawler.signals.connect(middleware.item_dropped, signals.item_dropped)
        crawler.signals.connect(middleware.item_error, signals.item_error)
        return middleware

    def process_spider_input(self, response: Response) -> None:
        refusal = None
        with self.extension.reporter.fails_open("input", response.url):
            request = response.request
            if request is not None and is_for_spider(request):
                page = Page.in_progress.get(request)
                if page is None or page.url:  # it did not come by the downloader middleware, or comes again
                    page = Page.in_progress[request] = Page(self.extension)
                refusal = page.judge(response, request)
        if refusal is not None:
            raise refusal

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        page = self._page(response)
        if page is not None:
            result = self._items_of(page, response, result)
        async for output in result:
            if isinstance(output, Request):
                self._mark(output, response)
            yield output

    async def _items_of(
        self, page: Page, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        ended = False
        page.outputs_begun += 1
        page.outputs_running += 1
        if page.outputs_begun > 1:
            # Another middleware has handled an exception of this page, and has put other output in its place.
            page.fail()
        try:
            async for output in result:
                if output is None or isinstance(output, Request):
                    yield output
                else:
                    for item in await page.pass_on(response, output):
                        yield item
            await page.end_output(response)
            ended = True
        finally:
            page.outputs_running -= 1
            if not ended:  # the callback has raised, or nobody asks for the rest of its output
                page.fail()

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        page = self._page(response)
        if page is not None:
            page.fail()
        return () if isinstance(exception, NearDuplicatePage) else None

    def item_scraped(self, response: Response | None) -> None:
        page = self._page(response)
        if page is not None:
            page.item_stored()

    def item_dropped(self, item: Any, response: Response | None, exception: Exception) -> None:
        page = self._page(response)
        dropped_here = isinstance(exception, NearDuplicateItem) and exception.page is response
        if page is not None and not dropped_here:  # items dropped here are not among the passed ones
            page.item_lost(item, failed=False)

    def item_error(self, item: Any, response: Response | None) -> None:
        page = self._page(response)
        if page is not None:
            page.item_lost(item, failed=True)

    def _page(self, response: object) -> Page | None:
        """Return the page of *response*; None for what is no page that is judged.

        Scrapy's signals give None for items of ``start()``, and a Failure for items of an errback.
        """
        if not isinstance(response, Response) or response.request is None:
            return None
        return Page.in_progress.get(response.request)

    def _mark(self, request: Request, response: Response) -> None:
        """Give a request that a page yields the marks that it is to have, and no others. Does not raise."""
        with self.extension.reporter.fails_open("output", response.url):
            clear_marks(request)
            if self.extension.no_new_pages.pages:
                pass_origin(response, request)
