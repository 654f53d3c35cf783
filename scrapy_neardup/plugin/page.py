"""A page of a crawl: it is judged before its callback, passes its items on, and is settled in the end."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from scrapy_neardup.matching.decision import Preference
from scrapy_neardup.matching.items import Described, Difference, Found, RepeatedItems, is_variant, pack

from .callback import Called, WatchedCallback
from .canonical import declared_canonical
from .closing import origin_of
from .outcome import NearDuplicatePage, clear_marks, mark_better, mark_duplicate, mark_revisit, mark_verdict
from .pending import Document
from .responses import browser_page, carries_item, carries_value, close_browser_page

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.extraction import Extraction
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.index.reservation import Reservation
    from scrapy_neardup.verdict import Verdict

    from .events import Action
    from .extension import NearDupExtension
    from .rules import Policy

#: Warning about pages whose callback is not called, shown once in a crawl.
DROPPED_CARRIED = (
    "<%(url)s> is dropped because it is a copy or an unchanged revisit; but its request carries values in "
    "cb_kwargs or meta. If such pages complete items of earlier ones, name the policy for them, by a rule "
    "{'url': …, 'policy': 'drop_items'} in NEARDUP_RULES or by meta; or pass the item itself on."
)
#: Message about a field that says nothing, shown once for each field.
LEARNED = (
    "The field '%(field)s' of items changes from one URL of a page to another, so it no longer tells items "
    "apart. If it should not count from the start, name it in NEARDUP_ITEM_IGNORE."
)


class Page:
    """One page, from its response to the fate of its last item.

    `judge` is asked before the page's callback, `pass_on` for each of its items, `settle` when Scrapy is done
    with the page. *Export first, fingerprint second*: the index keeps a page only if its output is stored, so
    no page is ever dropped as the copy of a page that was lost. The object must not refer to the request or
    the response, which are the keys under which it is found.

    A page whose text repeats a stored one is dropped or tagged by the policy. Under ``drop_items`` its items
    decide: on one site an item is dropped only if an item of a page that it repeats says the same. On two
    sites title, date and author differ by nature, so there the text decides, unless one of the pages has
    several items, or several pages of one site share the text and have different items.
    """

    #: The pages that Scrapy works on, by their requests.
    in_progress: ClassVar[WeakKeyDictionary[Request, Page]] = WeakKeyDictionary()

    def __init__(
        self, extension: NearDupExtension, outcome: Extraction | str = "skipped/not_examined"
    ) -> None:
        self.extension = extension
        #: What the downloader middleware has found: an extraction, or the name of the stat that counts why
        #: there is none, which is empty if a failure was counted already.
        self.outcome = outcome
        #: Names of the callback's arguments that the request had before its response came. What components
        #: put there later, such as the page objects of scrapy-poet, is made of the response.
        self.arguments: frozenset[str] | None = None
        #: The URL that the page is filed under.
        self.url = ""
        #: The policy for this page, if it is a duplicate.
        self.policy: Policy = extension.config.policy
        #: The part of the index that the page is compared with.
        self.scope = ""
        #: What the index is asked about; None if the page is not examined.
        self.document: Document | None = None
        #: The page's place in the index; None if it has none.
        self.reservation: Reservation | None = None
        #: The verdict on a page that repeats a stored one, or is an unchanged revisit.
        self.match: Verdict | None = None
        #: The URL that the page declares as canonical, if the settings ask for it.
        self.canonical: str | None = None
        #: The first item that is told from those of the repeated pages.
        self.differing: Found | None = None
        self.called = Called()
        #: How often output of this page was begun, and how many such iterations run now. More than one means
        #: that another middleware has handled an exception.
        self.outputs_begun = self.outputs_running = 0
        #: Items passed on, and how many of them Scrapy has stored or dropped.
        self.passed_items = self.stored_items = self.dropped_items = 0
        #: Whether the callback or an item has failed.
        self.failed = False
        #: The items passed on by their ``id()``, and what each says; None once it is lost.
        self._passed: dict[int, tuple[Any, Described | None]] = {}
        #: An item of which only those that follow can tell whether it is dropped.
        self._held: Any = None
        #: The items of the stored pages that this one repeats.
        self._repeated: RepeatedItems | None = None
        self._origin = 0
        self._handlers: list[Awaitable[object]] = []
        self._reports_later = False
        self._will_be_settled = False

    # Before the callback

    def judge(self, response: Response, request: Request) -> NearDuplicatePage | None:
        """Judge the page and prepare for its callback.

        Returns the exception for the errback if the page is dropped, else None. This cannot wait, as
        ``process_spider_input`` cannot. Where there is something to wait for, the page gets a
        `WatchedCallback` that waits and decides later.
        """
        clear_marks(request, response)
        extension = self.extension
        signature = self._signature(response.url)
        if signature is None and not extension.config.item_fields:
            return None
        self.url = extension.url_of(response, request)
        self.policy, named = extension.policy_for(response.url, request)
        self.scope = extension.scope_for(response.url, request)
        # The callback may have asked again, and gives up this time: then there is nothing to repeat.
        self.called.asked_again = "retry_times" in request.meta
        if signature is None:
            return None
        if self.policy == "drop_page" and not named and carries_item(request, self.arguments):
            self.policy = "drop_items"  # only the callback has the item
        self._origin = origin_of(response)
        self.document = Document(signature, self.url, self.scope, preference=self._preference(response))
        if extension.pending.remote:
            self._watch(response, request, partial(self._before_callback, response, request, None))
            return None
        verdict = extension.pending.reserve(self.document)
        if verdict is None:
            return None
        waits = extension.pending.depends(self.document, verdict)
        if not waits:
            self._decided(response, request, verdict)
        refusal = self._refusal(response)
        if waits or self._handlers or (refusal is not None and browser_page(request) is not None):
            self._watch(response, request, partial(self._before_callback, response, request, verdict))
        elif refusal is not None:
            return refusal
        elif self.reservation is not None or self.match is not None:
            self._watch(response, request, None)
        return None

    async def _before_callback(
        self, response: Response, request: Request, verdict: Verdict | None
    ) -> NearDuplicatePage | None:
        """Wait for what there is to wait for; return the exception for the errback if the page is dropped.

        Without a *verdict* the index, which is on another machine, is asked first.
        """
        pending, reporter = self.extension.pending, self.extension.reporter
        assert self.document is not None
        deadline = pending.deadline()
        open_ = verdict is None or pending.depends(self.document, verdict)
        with reporter.fails_open("pending", response.url):
            if verdict is None:
                verdict = await pending.ask(self.document, deadline)
            if verdict is not None and pending.depends(self.document, verdict):
                reporter.count("waited")
                verdict = await pending.resolve(self.document, verdict, deadline)
            if open_ and verdict is not None:
                self._decided(response, request, verdict)
        for handler in self._handlers:
            await handler
        refusal = self._refusal(response)
        if refusal is not None and (left_open := browser_page(request)) is not None:
            with reporter.fails_open("close_page", response.url):
                await close_browser_page(left_open, self.extension.browser_page_timeout_seconds)
        return refusal

    def _decided(self, response: Response, request: Request, verdict: Verdict) -> None:
        """Apply a final verdict to the page: mark the response and report the verdict."""
        self._take(verdict, request)
        if self.reservation is not None and self.canonical:
            self.extension.canonical.note(self.url, self.canonical)
        mark_verdict(response, verdict)
        action: Action = "passed"
        if verdict.is_duplicate:
            self.match = verdict
            action = self.policy
            mark_duplicate(response, verdict, action)
        elif verdict.kind == "revisit":
            if verdict.unchanged:
                self.match = verdict
                self.policy = self._revisit_policy(verdict, request)
                action = "passed" if self.policy == "tag" else self.policy
            mark_revisit(response, verdict, "keep" if action == "passed" else action)
        elif verdict.kind == "preferred":
            mark_better(response, verdict, action)
        if action == "drop_page" and carries_value(request, self.arguments):
            self.extension.reporter.log.warn_once(DROPPED_CARRIED, self.url)
        self._handlers = self.extension.reporter.page_signals(response, verdict, action)
        self._reports_later = action == "drop_items"
        if self._reports_later:
            self._settle_in_the_end(request)
        else:
            self._report(verdict, action)

    def _revisit_policy(self, verdict: Verdict, request: Request) -> Policy:
        """Return what happens to an unchanged revisit; ``tag`` stands for nothing."""
        revisits = self.extension.config.revisits
        stored = verdict.repeats()[0] if verdict.repeats is not None else None
        # A page that has stored no item may be a list of links, or its items were not found last time.
        if revisits == "keep" or (stored is not None and stored.note == pack([])):
            return "tag"
        if revisits == "drop_page" and carries_item(request, self.arguments):
            return "drop_items"
        return revisits

    def _report(self, verdict: Verdict, action: Action) -> None:
        extension = self.extension
        extension.reporter.page_decided(self.url, verdict, action)
        if extension.no_new_pages.judged(self.url, self._origin, verdict):
            extension.reporter.site_ended(self.url)

    def _signature(self, url: str) -> Signature | None:
        """Return the signature that the downloader middleware has found, or count why there is none."""
        reporter, outcome = self.extension.reporter, self.outcome
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
            detail = f"{url} {outcome.detail or ''}".rstrip()
            reporter.failed(f"extract/{outcome.reason}", detail, trace=False)
        return outcome.signature

    def _preference(self, response: Response) -> Preference | None:
        """Say which near-duplicates the page is better than; None if the settings do not ask for it."""
        config = self.extension.config
        if config.prefer_canonical:
            self.canonical = declared_canonical(response)
        elif config.prefer_longer is None:
            return None
        return Preference(
            math.inf if config.prefer_longer is None else 1 + config.prefer_longer,
            partial(self._is_named_by, self.url) if config.prefer_canonical else None,
        )

    def _is_named_by(self, url: str, other: str) -> bool:
        return self.extension.canonical.names(other, url)

    def _refusal(self, response: Response) -> NearDuplicatePage | None:
        if self.match is None or self.policy != "drop_page":
            return None
        return NearDuplicatePage(response, self.match)

    def _watch(self, response: Response, request: Request, before: Any) -> None:
        spider = self.extension.crawler.spider
        assert spider is not None
        WatchedCallback(response, request, self.called, spider, before).install()

    # Its items

    async def pass_on(self, response: Response, item: Any) -> list[Any]:
        """Return the items that go on now that the page has yielded *item*: it may be dropped, or held."""
        held, self._held = self._held, None
        several = held is not None or self.called.items > 1
        items = [item] if held is None else [held, item]
        return [each for each in items if await self._passes(response, each, several=several)]

    async def end_output(self, response: Response) -> None:
        """Drop the item that was held: the page has no further one, so its text decides. Report the page."""
        held, self._held = self._held, None
        if held is not None:
            await self._drop(response, held)
        with self.extension.reporter.fails_open("output", response.url):
            self._report_items()

    async def _passes(self, response: Response, item: Any, *, several: bool) -> bool:
        """Whether *item* goes on. Does not raise: if anything fails, the item passes."""
        reporter = self.extension.reporter
        found = described = None
        with reporter.fails_open("output", response.url):
            if self.document is not None:
                described = self.extension.item_notes.describe(item)
                if self._is_compared:
                    found = await self._compare(response, item, described, several=several)
        if found is not None and self.policy == "drop_items":
            if found.kind == "undecided":
                self._held = item
                return False
            if found.kind == "same":
                await self._drop(response, item)
                return False
        self.passed_items += 1
        self._passed[id(item)] = (item, described)
        if self.extension.config.item_fields:
            self.extension.item_origins[id(item)] = (self.url, self.scope)
            if response.request is not None:
                self._settle_in_the_end(response.request)
        return True

    @property
    def _is_compared(self) -> bool:
        """Whether the page's items are: those of a copy, to drop them, and of a revisit, to note new ones."""
        return self.match is not None and (self.policy == "drop_items" or self.match.kind == "revisit")

    async def _compare(self, response: Response, item: Any, described: Described, *, several: bool) -> Found:
        """Compare an item with those of the repeated pages; file the page beside them if it differs."""
        learned = True
        while learned or self.reservation is None:
            if self._repeated is None:
                assert self.match is not None
                repeats = self.match.repeats() if self.match.repeats is not None else []
                self._repeated = RepeatedItems(self.extension.item_notes, repeats)
            found = self._repeated.find(described, several=several)
            if found.kind != "differs":
                return found
            learned = self._learn(response, found)
            if learned:
                described = self.extension.item_notes.describe(item)
            elif self.reservation is None and not await self._file_beside(response):
                break
        self.differing = self.differing or found
        return found

    def _learn(self, response: Response, found: Found) -> bool:
        """Learn from an item that differs in a few fields from that of the same page under another URL."""
        closest = found.closest
        if closest is None or 2 * len(found.differences) > max(found.fields, 1):
            return False
        same_page = is_variant(self.url, closest.url) or declared_canonical(response) == closest.url
        if not same_page:
            return False
        field = self.extension.item_notes.learn(found.differences, closest.url, unchanged=closest.exact)
        if field is not None:
            self.extension.reporter.log.warn_once(LEARNED, self.url, field=field)
        return field is not None

    async def _file_beside(self, response: Response) -> bool:
        """File the page beside those whose text it repeats, since its items say something else.

        Returns whether the items have to be compared again: another copy may have come in meanwhile.
        """
        assert self.document is not None
        assert self._repeated is not None
        self.document = replace(self.document, beside=self.document.beside | self._repeated.compared)
        verdict = await self.extension.pending.settle(self.document)
        if verdict is None or response.request is None:
            return False
        self._take(verdict, response.request)
        if not verdict.is_duplicate:
            return False
        self.match, self._repeated = verdict, None
        return True

    async def _drop(self, response: Response, item: Any) -> None:
        assert self.match is not None
        with self.extension.reporter.fails_open("output", response.url):
            await self.extension.reporter.item_refused(response, item, self.match)

    # Its fate

    def item_stored(self) -> None:
        """Note that an item of the page is stored."""
        self.stored_items += 1

    def item_lost(self, item: Any, *, failed: bool) -> None:
        """Note that a pipeline has dropped *item*, or has *failed*."""
        self.dropped_items += 1
        # If a pipeline has put another object in its place, nobody knows which one it was.
        for key in [id(item)] if id(item) in self._passed else [*self._passed]:
            self._passed[key] = (self._passed[key][0], None)
        if failed:
            self.fail()

    def fail(self) -> None:
        """Note that the page has failed, and release its reservation at once: copies may wait for it."""
        self.failed = True
        if self.reservation is not None:
            self.extension.reservations.release(self.reservation)

    @property
    def is_stored(self) -> bool:
        """Whether the page counts as stored, once Scrapy is done with it.

        It does if its callback was called and has ended without failure, if no item has vanished on its way,
        and if at least one item is stored, or the page never had any and was not asked for again.
        """
        ended = self.called.ended and not self.failed and self.outputs_running == 0
        arrived = self.stored_items + self.dropped_items >= self.passed_items
        had_none = self.called.items == self.passed_items == 0 and not self.called.asked_again
        return ended and arrived and (self.stored_items > 0 or had_none)

    def settle(self) -> None:
        """Confirm or release the page's place in the index, and report what was left open. Does not raise."""
        with self.extension.reporter.fails_open("settle", self.url):
            items = [described for _, described in self._passed.values() if described is not None]
            for key in self._passed:
                self.extension.item_origins.pop(key, None)
            self._report_items()
            if self.reservation is None:
                return
            if self.is_stored:
                self.extension.item_notes.remember(self.reservation.url, items)
                self.extension.reservations.confirm(self.reservation, note=pack(items))
            else:
                self.extension.reservations.release(self.reservation)

    def _report_items(self) -> None:
        """Report the page if it was to be judged by its items."""
        if not self._reports_later or self.match is None:
            return
        self._reports_later = False
        if self.differing is None:
            self._report(self.match, "drop_items")
            return
        verdict = replace(
            self.match,
            kind="items_differ",
            unchanged=False,
            explain=partial(_told, self.match, self.differing),
        )
        self._report(verdict, "passed")

    def _take(self, verdict: Verdict, request: Request) -> None:
        """Give the page the reservation that came with *verdict*, if any, to be settled in the end."""
        self.reservation = verdict.reservation
        if self.reservation is not None:
            self._settle_in_the_end(request)

    def _settle_in_the_end(self, request: Request) -> None:
        if not self._will_be_settled:
            self._will_be_settled = True
            self.extension.reservations.when_done(request, self.settle)


def _told(match: Verdict, found: Found) -> dict[str, Any]:
    first = found.differences[0] if found.differences else Difference("", None, None)
    return {
        **match.explanation,
        "field": first.field or None,
        "value": first.value,
        "stored": first.stored,
        "fields": [each.field for each in found.differences],
    }
