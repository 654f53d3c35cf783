"""The middlewares: a page is extracted when it is downloaded, judged before its callback, its items after."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from functools import wraps
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import warn_on_generator_with_return_value
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred, DeferredLock
from twisted.python.failure import Failure

from scrapy_neardup.extraction import Extraction, Page
from scrapy_neardup.extraction.fair_queue import FairQueue
from scrapy_neardup.matching.sites import site_key

from .budget import DEFERRED_KEY, SkippedRequest
from .eventloop import result_of, wait_done
from .extension import Component
from .marks import NearDuplicateItem, NearDuplicatePage, clear_marks
from .page import CrawledPage
from .responses import carries_item, is_for_spider, skip_reason

#: A page has to be extracted within three time limits and so many seconds: it may queue behind other pages.
GRACE_SECONDS = 5.0
#: Seconds after which a request that waits for those that `Budget` has drawn goes back to the scheduler.
PAUSE = 0.25


class NearDupDownloaderMiddleware(Component):
    """Has the main text of each HTML page extracted and fingerprinted in a worker process.

    Only a downloader middleware can wait for a worker while the page still counts for
    ``CONCURRENT_REQUESTS``; but it also sees responses that are no pages, so it decides nothing.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._timeout = self.extension.config.extract_timeout
        # One page more than workers is handed out, so that a worker that is done has the next one at once.
        self._turns = FairQueue(self.extension.config.processes + 1, self._timeout)
        self._loop_lock = DeferredLock()

    async def process_request(self, request: Request) -> Request | None:
        with self.extension.reporter.fails_open("budget", request.url):
            if self.extension.budget is not None and self.extension.budget.waits(request):
                await wait_done(lambda _: None, PAUSE)
                return request.replace()  # other requests may need its place
        for name, holder in (("rules", self.extension.known_urls), ("budget", self.extension.budget)):
            why = later = None
            with self.extension.reporter.fails_open(name, request.url):
                if holder is not None and (held := holder.held(request)) is not None:
                    later, why = holder.later(request), held
            if why is not None:
                self.extension.reporter.held(name, request.url, "skip" if later is None else "defer", why)
                if later is None:
                    raise SkippedRequest(f"{request.url} is skipped: {why}")
                return later
        return None

    async def process_response(self, request: Request, response: Response) -> Response:
        with self.extension.reporter.fails_open("extract", response.url):
            clear_marks(request, response)
            if is_for_spider(request):
                page = CrawledPage.in_progress[request] = CrawledPage(self.extension)
                page.extraction = ""  # if the rest fails, that is counted
                # Before scrapy-poet and the like add what they have made of the response.
                page.carries_item = carries_item(request)
                reason = skip_reason(request, response, self.extension.config)
                page.extraction = reason or await self._extract(response)
        return response

    async def _extract(self, response: Response) -> Extraction | str:
        """Have a worker extract and fingerprint a page, when it is its site's turn; else return a stat."""
        decided: Deferred[bool] = Deferred()
        turn = self._turns.ask(site_key(response.url), decided.callback)
        seconds, late = 0.0, False
        try:
            if not await result_of(decided):
                return "skipped/slow_site"
            content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
            future = self.extension.workers.submit(Page(response.body, response.url, content_type))
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


class NearDupSpiderMiddleware(Component):
    """Has each page judged before its callback, and its items on their way; see docs/scrapy.md on policies.

    If anything fails here, the page passes and a stat ``neardup/error/…`` counts it.
    """

    hears = ("item_scraped", "item_dropped", "item_error")

    def process_spider_input(self, response: Response) -> None:
        with self.extension.reporter.fails_open("input", response.url):
            request = response.request
            if request is not None and is_for_spider(request):
                page = CrawledPage.in_progress.get(request)
                if page is None or page.begun:  # it did not come by the downloader middleware, or comes again
                    page = CrawledPage.in_progress[request] = CrawledPage(self.extension)
                page.begun = True
                spider = self.extension.crawler.spider
                assert spider is not None
                judge_before_callback(page, response, request, spider)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        page = self._page(response)
        if page is not None:
            if page.output_over is not None:
                # Another middleware has handled an exception of this page, and put other output in its place.
                page.fail()
            page.output_over = False
        try:
            async for output in result:
                if isinstance(output, Request):
                    self._note_link(page, response, output)
                    yield output
                elif page is None or output is None:
                    yield output
                else:
                    for item in await page.pass_on(response, output):
                        yield item
            if page is not None:
                await page.end_output(response)
                page.output_over = True
        finally:
            if page is not None and not page.output_over:
                page.fail()  # the callback has raised, or nobody asks for the rest of its output

    def _note_link(self, page: CrawledPage | None, response: Response, link: Request) -> None:
        with self.extension.reporter.fails_open("output", response.url):
            clear_marks(link)
            link.meta.pop(DEFERRED_KEY, None)
            if self.extension.budget is not None:
                seen = {} if page is None else page.link_parameters
                leads = self.extension.budget.follows(response.url, link, seen)
                if page is not None:
                    page.leads_on |= leads

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
        if page is not None and not dropped_here:
            page.item_lost(item, failed=False)

    def item_error(self, item: Any, response: Response | None) -> None:
        page = self._page(response)
        if page is not None:
            page.item_lost(item, failed=True)

    def _page(self, response: object) -> CrawledPage | None:
        """Return the page of *response*; signals give None or a Failure for items of no callback."""
        if not isinstance(response, Response) or response.request is None:
            return None
        return CrawledPage.in_progress.get(response.request)


def judge_before_callback(page: CrawledPage, response: Response, request: Request, spider: Spider) -> None:
    """Put a function in the place of the request's callback that has the page judged, then calls it.

    ``process_spider_input`` cannot wait, nor does any middleware see whether the callback comes to its end.
    """
    callback: Callable[..., Any] = request.callback or spider._parse
    errback = request.errback
    replaced = request.callback, errback

    @wraps(callback)
    async def judged(answer: Response, /, **kwargs: Any) -> AsyncIterator[Any]:
        # Before anybody can copy or pickle the request.
        request.callback, request.errback = replaced
        if answer is not response:  # somebody has copied the request before
            async for output in await _outputs(callback(answer, **kwargs)):
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
        async for output in await _outputs(result):
            page.note_output(output, request)
            yield output
        page.ended = True

    def missed(failure: Failure) -> Any:
        """Call the errback, if there is one: something has kept the page from its callback."""
        request.callback, request.errback = replaced
        return failure if errback is None else errback(failure)

    request.callback, request.errback = judged, missed


async def _outputs(result: Any) -> AsyncIterator[Any]:
    """Return an iterator over what a callback has returned, of whatever kind, as Scrapy does with it."""
    return as_async_generator(await ensure_awaitable(iterate_spider_output(result)))


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
