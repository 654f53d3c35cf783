"""Judges each page as it reaches the spider, and settles it when its output is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.http import Response

from .exceptions import NearDuplicatePage
from .extension import NearDup
from .gate import FLAG, MATCH_KEY, VERDICT_KEY, clear_match, is_for_spider
from .latecomer import Latecomer
from .visit import Visit, match_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from .extraction import Extraction
    from .fingerprint.signature import Signature
    from .verdict import Verdict


class NearDupSpiderMiddleware:
    """Applies the policy to duplicates of stored pages; duplicates of pages in progress wait (see Latecomer).

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
        visit = None
        with self.extension.journal.fails_open("input", response.url):
            visit = self._admit(response)
        if visit is not None and visit.match is not None and visit.policy == "drop_page":
            raise NearDuplicatePage(response, visit.match)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        visit = self.visits.get(response)
        if visit is None:
            async for output in result:
                yield output
            return
        journal = self.extension.journal
        completed = False
        visit.running += 1
        try:
            async for output in result:
                if isinstance(output, Request):
                    with journal.fails_open("output", response.url):
                        clear_match(output)  # of a copied meta
                elif output is not None:
                    if visit.match is not None and visit.policy == "drop_items":
                        journal.count("dropped/item")
                        continue
                    with journal.fails_open("output", response.url):
                        self._item_yielded(visit, output, response)
                yield output
            completed = True
        finally:
            # Not completed: the callback raised, or nobody asks for the rest.
            visit.running -= 1
            self._settle(visit, failed=not completed)

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any] | None:
        visit = self.visits.get(response)
        if visit is not None:
            self._settle(visit, failed=True)
        return () if isinstance(exception, NearDuplicatePage) else None

    def item_scraped(self, response: Response | None) -> None:
        visit = self._visit(response)
        if visit is not None:
            visit.stored += 1
            self._settle(visit)

    def item_dropped(self, response: Response | None) -> None:
        visit = self._visit(response)
        if visit is not None:
            visit.dropped += 1
            self._settle(visit)

    def item_error(self, response: Response | None) -> None:
        visit = self._visit(response)
        if visit is not None:
            visit.dropped += 1
            self._settle(visit, failed=True)

    def judge(self, response: Response, visit: Visit, verdict: Verdict) -> None:
        """Apply a final verdict to a page, before its callback."""
        visit.reservation = verdict.reservation
        response.meta[VERDICT_KEY] = verdict.kind
        if verdict.is_duplicate:
            visit.match = verdict
            response.meta[MATCH_KEY] = match_of(verdict, visit.policy)
            response.flags.append(FLAG)
        self.extension.journal.page(response, verdict, visit.policy)

    def _admit(self, response: Response) -> Visit | None:
        request = response.request
        if request is None or not is_for_spider(request):
            return None
        clear_match(request, response)
        outcome = self.extension.outcomes.pop(request, "skipped/not_examined")
        signature = self._signature(outcome, response.url)
        if signature is None and not self.extension.config.item_fields:
            return None
        visit = Visit(self.extension.policy_for(request), self.extension.scope_for(response.url, request))
        self.visits[response] = visit
        if signature is None:
            return visit
        verdict = self.extension.reserve(signature, response.url, visit.scope)
        if verdict is None:
            return visit
        if verdict.is_duplicate and verdict.pending is not None:
            Latecomer(self, response, request, visit, signature, verdict).stand_in()
        else:
            self.judge(response, visit, verdict)
        return visit

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

    def _settle(self, visit: Visit, *, failed: bool = False) -> None:
        visit.failed |= failed
        with self.extension.journal.fails_open("settle", "a page"):
            if visit.reservation is not None:
                if visit.failed or (visit.ended and not visit.is_stored):
                    self.extension.settler.release(visit.reservation)
                elif visit.ended:
                    self.extension.settler.confirm(visit.reservation)
            if visit.ended:
                for item in visit.items:
                    self.extension.origins.pop(id(item), None)
                visit.items.clear()
