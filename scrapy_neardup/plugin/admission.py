"""What happens to a page before its callback: it is judged, may wait for another page, and may be dropped."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from .browser_page import close_page, page_left_open
from .callback import WatchedCallback
from .duplicates import NearDuplicatePage
from .filters import is_for_spider
from .marks import FLAG, MATCH_KEY, VERDICT_KEY, clear_marks, match_of
from .page_state import PageState
from .pending import Document

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.extraction import Extraction
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.verdict import Verdict

    from .extension import NearDupExtension
    from .pages import PageTracker


class PageAdmission:
    """Decides whether a page is a duplicate, and whether its callback or its errback is called."""

    def __init__(self, crawler: Crawler, extension: NearDupExtension, pages: PageTracker) -> None:
        self.crawler = crawler
        self.extension = extension
        self.pages = pages

    def admit(self, response: Response) -> NearDuplicatePage | None:
        """Judge a page and prepare for its callback.

        Returns the exception for the errback if the page is dropped, else None.

        This cannot wait, as ``process_spider_input`` cannot. Where there is something to wait for, the page
        gets a `WatchedCallback` that waits and decides later.
        """
        request = response.request
        if request is None or not is_for_spider(request):
            return None
        clear_marks(request, response)
        signature = self.signature_of(
            self.extension.outcomes.pop(request, "skipped/not_examined"), response.url
        )
        if signature is None and not self.extension.config.item_fields:
            return None
        page = PageState(self.extension.policy_for(request), self.extension.scope_for(response.url, request))
        self.pages.add(response, page)
        if signature is None:
            return None
        page.document = Document(signature, response.url, page.scope)
        verdict = self.extension.pending.reserve(page.document)
        if verdict is None:
            return None
        repeats_pending = verdict.is_duplicate and verdict.pending is not None
        if not repeats_pending:
            self.judge(response, page, verdict)
        refusal = self._refusal(response, page)
        before = None
        if repeats_pending or page.signal_handlers or (refusal is not None and page_left_open(request)):
            before = partial(self._before_callback, response, request, page, page.document, verdict)
        elif refusal is not None:
            return refusal
        if before is not None or page.reservation is not None or page.spares_items:
            assert self.crawler.spider is not None
            WatchedCallback(response, request, page, self.crawler.spider, before).install()
        return None

    def judge(self, response: Response, page: PageState, verdict: Verdict) -> None:
        """Apply a final verdict to a page: mark the response and report the verdict."""
        self.pages.take_reservation(page, response, verdict)
        response.meta[VERDICT_KEY] = verdict.kind
        policy = page.policy
        if verdict.is_duplicate:
            page.match = verdict
            policy = "tag" if page.spares_items else page.policy
            response.meta[MATCH_KEY] = match_of(verdict, policy)
            response.flags.append(FLAG)
        page.signal_handlers = self.extension.reporter.page_judged(response, verdict, policy)

    async def take_place_of_weak(self, response: Response, page: PageState, document: Document) -> None:
        """Have a page with an item take the place of the pages like it that have stored no item.

        Another copy may have stored an item first. Then the page becomes an ordinary duplicate of that copy.
        """
        reporter = self.extension.reporter
        document = replace(document, has_items=True)
        verdict = await self.extension.pending.resolve(document, self.extension.pending.reserve(document))
        if verdict is None:
            return
        self.pages.take_reservation(page, response, verdict)
        if not verdict.is_duplicate:
            reporter.count("replaced")
            return
        page.match = verdict
        response.meta[MATCH_KEY] = match_of(verdict, page.policy)
        for handler in reporter.page_judged_again(response, verdict, page.policy):
            await handler

    def signature_of(self, outcome: Extraction | str, url: str) -> Signature | None:
        """Return the signature that the downloader middleware found, or count why there is none.

        *outcome* is a value of `NearDupExtension.outcomes`.
        """
        reporter = self.extension.reporter
        if isinstance(outcome, str):
            if outcome:
                reporter.count(outcome)
            return None
        reporter.count("extract_seconds", outcome.seconds)
        if outcome.fallback:
            reporter.count("extract_fallback")
        if outcome.reason in ("no_text", "not_text"):
            reporter.count(f"skipped/{outcome.reason}")
        elif outcome.reason is not None:
            reporter.failed(
                f"extract/{outcome.reason}", f"{url} {outcome.detail or ''}".rstrip(), trace=False
            )
        return outcome.signature

    async def _before_callback(
        self, response: Response, request: Request, page: PageState, document: Document, verdict: Verdict
    ) -> NearDuplicatePage | None:
        """Wait for what there is to wait for; return the exception for the errback if the page is dropped."""
        reporter = self.extension.reporter
        with reporter.fails_open("pending", response.url):
            if verdict.pending is not None:
                reporter.count("waited")
                final = await self.extension.pending.resolve(document, verdict)
                if final is not None:
                    self.judge(response, page, final)
        for handler in page.signal_handlers:
            await handler
        refusal = self._refusal(response, page)
        browser_page = page_left_open(request)
        if refusal is not None and browser_page is not None:
            with reporter.fails_open("close_page", response.url):
                await close_page(browser_page, self.extension.browser_page_timeout_seconds)
        return refusal

    def _refusal(self, response: Response, page: PageState) -> NearDuplicatePage | None:
        if page.match is None or page.policy != "drop_page":
            return None
        return NearDuplicatePage(response, page.match)
