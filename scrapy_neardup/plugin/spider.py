"""The spider middleware: it judges each page before its callback, and counts its items as they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, signals

from .admission import PageAdmission
from .closing import pass_origin
from .duplicates import NearDuplicateItem, NearDuplicatePage
from .extension import NearDupExtension
from .marks import clear_marks
from .pages import PageTracker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from .page_state import PageState

#: Warning about a copy that looks like a list, shown once in a crawl.
DROPPED_SEVERAL = (
    "Several items of <%(url)s> are dropped because its main text is that of another page. If such pages "
    "are lists whose entries are no part of that text, keep their items by a rule "
    "{'url': …, 'policy': 'tag'} in NEARDUP_RULES."
)


class NearDupSpiderMiddleware:
    """Asks the index about each page, and applies the policy to duplicates.

    - ``tag`` sets ``response.meta["neardup_match"]`` and the flag ``neardup`` in ``response.flags``.
    - ``drop_items`` does the same, and drops the items of the page. Its requests are followed. The items are
      kept if the page that is repeated has stored none.
    - ``drop_page`` does not call the callback. The request's errback is called with `NearDuplicatePage`.

    A page that repeats a page in progress waits, before its callback, until the other page is stored or lost.
    If anything fails here, the page passes and a stat ``neardup/error/…`` counts it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.extension = NearDupExtension.of(crawler)
        self.pages = PageTracker(self.extension)
        self.admission = PageAdmission(crawler, self.extension, self.pages)

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
            refusal = self.admission.admit(response)
        if refusal is not None:
            raise refusal

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        page = self.pages.find(response)
        if page is None:
            async for output in result:
                if isinstance(output, Request):
                    self._mark(output, response)
                yield output
            return
        reporter = self.extension.reporter
        ended = False
        page.outputs_begun += 1
        page.outputs_running += 1
        if page.outputs_begun > 1:
            # Another middleware has handled an exception of this page, and has put other output in its place.
            self.pages.fail(page)
        try:
            async for output in result:
                if isinstance(output, Request):
                    self._mark(output, response)
                elif output is not None:
                    if await self._drops(page, response, output):
                        continue
                    with reporter.fails_open("output", response.url):
                        self.pages.pass_item(page, response, output)
                yield output
            ended = True
        finally:
            page.outputs_running -= 1
            if not ended:  # the callback has raised, or nobody asks for the rest of its output
                self.pages.fail(page)

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        page = self.pages.find(response)
        if page is not None:
            self.pages.fail(page)
        return () if isinstance(exception, NearDuplicatePage) else None

    def item_scraped(self, response: Response | None) -> None:
        page = self.pages.find(response)
        if page is not None:
            page.stored_items += 1

    def item_dropped(self, response: Response | None, exception: Exception) -> None:
        page = self.pages.find(response)
        dropped_here = isinstance(exception, NearDuplicateItem) and exception.page is response
        if page is not None and not dropped_here:  # items dropped here are not among the passed ones
            page.dropped_items += 1

    def item_error(self, response: Response | None) -> None:
        page = self.pages.find(response)
        if page is not None:
            page.dropped_items += 1
            self.pages.fail(page)

    def _mark(self, request: Request, response: Response) -> None:
        """Give a request that a page yields the marks that it is to have, and no others. Does not raise."""
        with self.extension.reporter.fails_open("output", response.url):
            clear_marks(request)
            if self.extension.no_new_pages.pages:
                pass_origin(response, request)

    async def _drops(self, page: PageState, response: Response, item: Any) -> bool:
        """Whether *item* is dropped because its page is a duplicate. Does not raise."""
        if page.match is None or page.policy != "drop_items":
            return False
        reporter = self.extension.reporter
        keeps = True
        with reporter.fails_open("output", response.url):
            keeps = self.admission.carried_items.keeps(page, response, item)
        if keeps:
            return False
        if page.spares_items:
            page.match = None
            with reporter.fails_open("pending", response.url):
                assert page.document is not None
                await self.admission.take_place_of_weak(response, page, page.document)
        if page.match is None:
            return False
        reporter.count("dropped/item")
        page.refused_items += 1
        if page.refused_items > 1 and page.match.is_duplicate:
            reporter.log.warn_once(DROPPED_SEVERAL, page.url)
        with reporter.fails_open("output", response.url):
            await self.crawler.signals.send_catch_log_async(
                signals.item_dropped,
                item=item,
                response=response,
                spider=self.crawler.spider,
                exception=NearDuplicateItem(item, response.url, page.match, response),
            )
        return True
