"""What happens to a page before its callback: it is judged, may wait for another page, and may be dropped."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy_neardup.matching.decision import Preference

from .browser_page import close_page, page_left_open
from .callback import WatchedCallback
from .canonical import CanonicalMemory, declared_canonical
from .closing import origin_of
from .duplicates import NearDuplicatePage
from .filters import is_for_spider
from .marks import (
    BETTER_KEY,
    FLAG,
    MATCH_KEY,
    REVISIT_KEY,
    VERDICT_KEY,
    clear_marks,
    match_of,
    revisit_of,
)
from .page_state import PageState
from .pending import Document
from .sparing import CarriedItemKeeper

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.extraction import Extraction
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.verdict import Verdict

    from .extension import NearDupExtension
    from .pages import PageTracker
    from .report_file import Action


class PageAdmission:
    """Decides whether a page is a duplicate, and whether its callback or its errback is called."""

    def __init__(self, crawler: Crawler, extension: NearDupExtension, pages: PageTracker) -> None:
        self.crawler = crawler
        self.extension = extension
        self.pages = pages
        self.canonical = CanonicalMemory()
        self.carried_items = CarriedItemKeeper(extension.reporter)

    def admit(self, response: Response) -> NearDuplicatePage | None:
        """Judge a page and prepare for its callback.

        Returns the exception for the errback if the page is dropped, else None. This cannot wait, as
        ``process_spider_input`` cannot. Where there is something to wait for, the page gets a
        `WatchedCallback` that waits and decides later.
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
        url = self.extension.url_of(response, request)
        policy, named = self.extension.policy_for(response.url, request)
        page = PageState(
            url,
            policy,
            self.extension.scope_for(response.url, request),
            spares_carried=not named,
            arguments=self.extension.arguments.pop(request, None),
            # The callback may have done so, and gives up this time: then there is nothing to repeat.
            asked_again="retry_times" in request.meta,
        )
        self.pages.add(response, page)
        if signature is None:
            return None
        page.document = Document(signature, url, page.scope, preference=self._preference(response, page))
        if self.extension.pending.remote:
            asks = partial(self._ask_before_callback, response, request, page, page.document)
            assert self.crawler.spider is not None
            WatchedCallback(response, request, page, self.crawler.spider, asks).install()
            return None
        verdict = self.extension.pending.reserve(page.document)
        if verdict is None:
            return None
        repeats_pending = self.extension.pending.depends(page.document, verdict)
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
        if page.reservation is not None and page.canonical:
            self.canonical.note(page.url, page.canonical)
        response.meta[VERDICT_KEY] = verdict.kind
        action: Action = "passed"
        if verdict.is_duplicate:
            page.match = verdict
            self.carried_items.prepare(response, page)
            action = "tag" if page.spares_items else page.policy
            response.meta[MATCH_KEY] = match_of(verdict, action)
            response.flags.append(FLAG)
        elif verdict.kind == "revisit":
            revisits = self.extension.config.revisits
            # One that has stored no items may be a list of links, or its items were not found last time.
            if verdict.unchanged and not verdict.weak and revisits != "keep":
                page.match, page.policy = verdict, revisits
                self.carried_items.prepare(response, page)
                action = page.policy
            response.meta[REVISIT_KEY] = revisit_of(verdict, "keep" if action == "passed" else action)
        elif verdict.kind == "preferred":
            response.meta[BETTER_KEY] = match_of(verdict, action)
        page.signal_handlers = self.extension.reporter.page_judged(page.url, response, verdict, action)
        ends = self.extension.no_new_pages
        if ends.pages and ends.judged(page.url, origin_of(response), verdict):
            self.extension.reporter.site_ended(page.url)

    async def take_place_of_weak(self, response: Response, page: PageState, document: Document) -> None:
        """Have a page that yields an item take the place of pages like it that have stored none.

        Another copy may have stored an item first. Then the page becomes an ordinary duplicate of that copy.
        """
        reporter = self.extension.reporter
        document = replace(document, has_items=True)
        pending = self.extension.pending
        verdict = await pending.settle(document)
        if verdict is None:
            return
        self.pages.take_reservation(page, response, verdict)
        if not verdict.is_duplicate:
            reporter.count("replaced")
            return
        page.match = verdict
        response.meta[MATCH_KEY] = match_of(verdict, page.policy)
        for handler in reporter.page_judged_again(page.url, response, verdict, page.policy):
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

    async def _ask_before_callback(
        self, response: Response, request: Request, page: PageState, document: Document
    ) -> NearDuplicatePage | None:
        """Judge a page by an index on another machine, then go on with `_before_callback`."""
        deadline = self.extension.pending.deadline()
        verdict = await self.extension.pending.ask(document, deadline)
        if verdict is None:
            return None
        if not self.extension.pending.depends(document, verdict):
            with self.extension.reporter.fails_open("input", response.url):
                self.judge(response, page, verdict)
        return await self._before_callback(response, request, page, document, verdict, deadline)

    async def _before_callback(
        self,
        response: Response,
        request: Request,
        page: PageState,
        document: Document,
        verdict: Verdict,
        deadline: float | None = None,
    ) -> NearDuplicatePage | None:
        """Wait for what there is to wait for; return the exception for the errback if the page is dropped.

        Other documents are waited for until the *deadline*, or without one until the time-out from now on.
        """
        reporter = self.extension.reporter
        with reporter.fails_open("pending", response.url):
            if self.extension.pending.depends(document, verdict):
                reporter.count("waited")
                until = self.extension.pending.deadline() if deadline is None else deadline
                final = await self.extension.pending.resolve(document, verdict, until)
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

    def _preference(self, response: Response, page: PageState) -> Preference | None:
        """Say which near-duplicates the page is better than; None if the settings do not ask for it."""
        config = self.extension.config
        if config.prefer_canonical:
            page.canonical = declared_canonical(response)
        elif config.prefer_longer is None:
            return None
        return Preference(
            math.inf if config.prefer_longer is None else 1 + config.prefer_longer,
            partial(self._is_named_by, page.url) if config.prefer_canonical else None,
        )

    def _is_named_by(self, url: str, other: str) -> bool:
        return self.canonical.names(other, url)

    def _refusal(self, response: Response, page: PageState) -> NearDuplicatePage | None:
        if page.match is None or page.policy != "drop_page":
            return None
        return NearDuplicatePage(response, page.match)
