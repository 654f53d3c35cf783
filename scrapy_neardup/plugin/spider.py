"""The spider middleware: it has each page judged before its callback, and each of its items."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import Response
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import warn_on_generator_with_return_value
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from .extension import NearDupExtension
from .outcome import NearDuplicateItem, NearDuplicatePage, clear_marks
from .page import Page
from .responses import is_for_spider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from scrapy import Spider
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
        with self.extension.reporter.fails_open("input", response.url):
            request = response.request
            if request is not None and is_for_spider(request):
                page = Page.in_progress.get(request)
                if page is None or page.begun:  # it did not come by the downloader middleware, or comes again
                    page = Page.in_progress[request] = Page(self.extension)
                page.begun = True
                spider = self.extension.crawler.spider
                assert spider is not None
                judge_before_callback(page, response, request, spider)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        page = self._page(response)
        if page is not None:
            result = self._items_of(page, response, result)
        async for output in result:
            if isinstance(output, Request):
                with self.extension.reporter.fails_open("output", response.url):
                    clear_marks(output)
                    budget = self.extension.budget
                    if budget is not None and budget.follows(response.url, output) and page is not None:
                        page.linked = True
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
            page.stored_items += 1

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
        """Return the page of *response*; signals give None or a Failure for items of no callback."""
        if not isinstance(response, Response) or response.request is None:
            return None
        return Page.in_progress.get(response.request)


def judge_before_callback(page: Page, response: Response, request: Request, spider: Spider) -> None:
    """Put a function in the place of the request's callback that has the page judged, then calls it.

    ``process_spider_input`` cannot wait, and no spider middleware can see whether the callback comes to its
    end.
    """
    callback: Callable[..., Any] = request.callback or spider._parse
    errback = request.errback
    replaced = request.callback, errback

    @wraps(callback)
    async def judged(answer: Response, /, **kwargs: Any) -> AsyncIterator[Any]:
        # Before anybody can copy or pickle the request.
        request.callback, request.errback = replaced
        if answer is not response:  # somebody has copied the request before
            async for output in _each(callback(answer, **kwargs)):
                yield output
            return
        refusal = None
        with page.extension.reporter.fails_open("input", response.url):
            refusal = await page.judge(response, request)
        if refusal is not None:
            result = _refused(errback, refusal, request)
        else:
            # Scrapy warns of such callbacks, but has looked at this function instead.
            warn_on_generator_with_return_value(spider, callback)
            result = callback(response, **kwargs)
        async for output in _each(result):
            page.saw(output, request)
            yield output
        page.ended = True

    def missed(failure: Failure) -> Any:
        """Call the errback, if there is one: something has kept the page from its callback."""
        request.callback, request.errback = replaced
        return failure if errback is None else errback(failure)

    request.callback, request.errback = judged, missed


async def _each(output: Any) -> AsyncIterator[Any]:
    """Yield what a callback has returned, of whatever kind, as Scrapy does with it."""
    async for each in as_async_generator(await ensure_awaitable(iterate_spider_output(output))):
        yield each


def _refused(errback: Callable[[Failure], Any] | None, error: NearDuplicatePage, request: Request) -> Any:
    """Call *errback* with *error* and return its output; raise *error* without one."""
    if errback is None:
        raise error
    failure = Failure(error)  # type: ignore[no-untyped-call]
    failure.request = request  # type: ignore[attr-defined]
    output = errback(failure)
    if isinstance(output, Failure):
        output.raiseException()
    return output
