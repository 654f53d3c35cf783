"""Judges each page as it reaches the spider, and settles it when its output is stored."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.http import Response

from .browser_page import close_page, held_page
from .callback import StandIn
from .duplicates import NearDuplicateItem, NearDuplicatePage
from .extension import NearDup
from .filters import FLAG, MATCH_KEY, VERDICT_KEY, clear_match, is_for_spider
from .page_state import Visit, match_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_neardup.extraction import Extraction
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.verdict import Verdict


class NearDupSpiderMiddleware:
    """Applies the policy to duplicates of stored pages; duplicates of pages in progress wait (see StandIn).

    ``tag`` sets ``response.meta["neardup_match"]`` and the flag ``neardup``; ``drop_items`` does the same and drops
    the items of the page, not its requests; ``drop_page`` raises NearDuplicatePage, which the errback gets.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.extension = NearDup.of(crawler)
        self.visits: WeakKeyDictionary[Response, Visit] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.item_scraped, signals.item_scraped)
        crawler.signals.connect(middleware.item_dropped, signals.item_dropped)
        crawler.signals.connect(middleware.item_error, signals.item_error)
        return middleware

    def process_spider_input(self, response: Response) -> None:
        refusal = None
        with self.extension.journal.fails_open("input", response.url):
            refusal = self._admit(response)
        if refusal is not None:
            raise refusal

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        visit = self.visits.get(response)
        if visit is None:
            async for output in result:
                yield output
            return
        journal = self.extension.journal
        ended = False
        visit.begun += 1
        visit.running += 1
        if visit.begun > 1:
            # This is what another middleware has put in the place of an exception.
            self._fail(visit)
        try:
            async for output in result:
                if isinstance(output, Request):
                    with journal.fails_open("output", response.url):
                        clear_match(output)  # of a copied meta
                elif output is not None:
                    if await self._drops(visit, response, output):
                        continue
                    with journal.fails_open("output", response.url):
                        self._item_yielded(visit, output, response)
                yield output
            ended = True
        finally:
            # Not ended: the callback raised, or nobody asks for the rest.
            visit.running -= 1
            if not ended:
                self._fail(visit)

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        visit = self.visits.get(response)
        if visit is not None:
            self._fail(visit)
        return () if isinstance(exception, NearDuplicatePage) else None

    def item_scraped(self, response: Response | None) -> None:
        visit = self._visit(response)
        if visit is not None:
            visit.stored += 1

    def item_dropped(self, response: Response | None, exception: Exception) -> None:
        visit = self._visit(response)
        # Those that this middleware drops itself have not been yielded.
        if visit is not None and not (
            isinstance(exception, NearDuplicateItem) and exception.page is response
        ):
            visit.dropped += 1

    def item_error(self, response: Response | None) -> None:
        visit = self._visit(response)
        if visit is not None:
            visit.dropped += 1
            self._fail(visit)

    def judge(self, response: Response, visit: Visit, verdict: Verdict) -> None:
        """Apply a final verdict to a page, before its callback."""
        self._hold(visit, verdict, response)
        response.meta[VERDICT_KEY] = verdict.kind
        policy = visit.policy
        if verdict.is_duplicate:
            visit.match = verdict
            policy = "tag" if visit.spares_items else visit.policy
            response.meta[MATCH_KEY] = match_of(verdict, policy)
            response.flags.append(FLAG)
        visit.handlers = self.extension.journal.page(response, verdict, policy)

    def _admit(self, response: Response) -> NearDuplicatePage | None:
        """Judge a page and prepare for its callback; returns the exception if it is not to be called."""
        request = response.request
        if request is None or not is_for_spider(request):
            return None
        clear_match(request, response)
        outcome = self.extension.outcomes.pop(request, "skipped/not_examined")
        signature = self._signature(outcome, response.url)
        if signature is None and not self.extension.config.item_fields:
            return None
        visit = Visit(
            self.extension.policy_for(request), self.extension.scope_for(response.url, request), signature
        )
        self.visits[response] = visit
        if signature is None:
            return None
        verdict = self.extension.reserve(signature, response.url, visit.scope)
        if verdict is None:
            return None
        late = verdict.is_duplicate and verdict.pending is not None
        if not late:
            self.judge(response, visit, verdict)
        refusal = self._refusal(response, visit)
        before = None
        if late or visit.handlers or (refusal is not None and held_page(request)):
            before = partial(self._before_callback, response, request, visit, verdict)
        elif refusal is not None:
            return refusal
        if before is not None or visit.reservation is not None or visit.spares_items:
            assert self.crawler.spider is not None
            StandIn(response, request, visit, self.crawler.spider, before)
        return None

    async def _before_callback(
        self, response: Response, request: Request, visit: Visit, verdict: Verdict
    ) -> NearDuplicatePage | None:
        journal = self.extension.journal
        with journal.fails_open("pending", response.url):
            if verdict.pending is not None:
                journal.count("waited")
                assert visit.signature is not None
                settled = await self.extension.settled(verdict, visit.signature, response.url, visit.scope)
                if settled is not None:
                    self.judge(response, visit, settled)
        for handler in visit.handlers:
            await handler
        refusal = self._refusal(response, visit)
        page = held_page(request)
        if refusal is not None and page is not None:
            with journal.fails_open("close_page", response.url):
                await close_page(page)
        return refusal

    def _refusal(self, response: Response, visit: Visit) -> NearDuplicatePage | None:
        if visit.match is None or visit.policy != "drop_page":
            return None
        return NearDuplicatePage(response, visit.match)

    async def _drops(self, visit: Visit, response: Response, item: Any) -> bool:
        """Whether *item* is dropped because its page is a duplicate. Does not raise."""
        if visit.match is None or visit.policy != "drop_items":
            return False
        journal = self.extension.journal
        if visit.spares_items:
            visit.match = None
            with journal.fails_open("pending", response.url):
                await self._claim(visit, response)
        if visit.match is None:
            return False
        journal.count("dropped/item")
        with journal.fails_open("output", response.url):
            await self.crawler.signals.send_catch_log_async(
                signals.item_dropped,
                item=item,
                response=response,
                spider=self.crawler.spider,
                exception=NearDuplicateItem(item, response.url, visit.match, response),
            )
        return True

    async def _claim(self, visit: Visit, response: Response) -> None:
        """Have a copy of pages without items take their place, now that it brings one; unless another has."""
        assert visit.signature is not None
        journal = self.extension.journal
        verdict = await self.extension.settled(
            self.extension.reserve(visit.signature, response.url, visit.scope, has_items=True),
            visit.signature,
            response.url,
            visit.scope,
            has_items=True,
        )
        if verdict is None:
            return
        self._hold(visit, verdict, response)
        if not verdict.is_duplicate:
            journal.count("replaced")
            return
        visit.match = verdict
        response.meta[MATCH_KEY] = match_of(verdict, visit.policy)
        for handler in journal.page_again(response, verdict, visit.policy):
            await handler

    def _signature(self, outcome: Extraction | str, url: str) -> Signature | None:
        journal = self.extension.journal
        if isinstance(outcome, str):
            if outcome:
                journal.count(outcome)
            return None
        journal.count("extract_seconds", outcome.seconds)
        if outcome.fallback:
            journal.count("extract_fallback")
        if outcome.reason in ("no_text", "not_text"):
            journal.count(f"skipped/{outcome.reason}")
        elif outcome.reason is not None:
            journal.failed(f"extract/{outcome.reason}", f"{url} {outcome.detail or ''}".rstrip(), trace=False)
        return outcome.signature

    def _visit(self, response: Response | None) -> Visit | None:
        # Items of start() come without a response, those of an errback with a Failure.
        return self.visits.get(response) if isinstance(response, Response) else None

    def _item_yielded(self, visit: Visit, item: Any, response: Response) -> None:
        visit.yielded += 1
        if self.extension.config.item_fields:
            visit.items.append(item)
            self.extension.origins[id(item)] = (response.url, visit.scope)
            self._watch(visit, response)

    def _hold(self, visit: Visit, verdict: Verdict, response: Response) -> None:
        visit.reservation = verdict.reservation
        if visit.reservation is not None:
            self._watch(visit, response)

    def _fail(self, visit: Visit) -> None:
        """Release at once: copies may wait for it."""
        visit.failed = True
        if visit.reservation is not None:
            self.extension.settler.release(visit.reservation)

    def _watch(self, visit: Visit, response: Response) -> None:
        if not visit.watched and response.request is not None:
            visit.watched = True
            self.extension.settler.when_over(response.request, partial(self._settle, visit))

    def _settle(self, visit: Visit) -> None:
        with self.extension.journal.fails_open("settle", "a page"):
            for item in visit.items:
                self.extension.origins.pop(id(item), None)
            if visit.reservation is None:
                return
            if visit.is_stored:
                self.extension.settler.confirm(visit.reservation, weak=visit.stored == 0)
            else:
                self.extension.settler.release(visit.reservation)
