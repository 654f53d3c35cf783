"""A page of a crawl: it is judged before its callback, passes its items on, and is settled in the end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from scrapy import Request

from scrapy_neardup.matching.items import Closest, Described, Difference, RepeatedItems, is_variant, pack

from .outcome import NearDuplicatePage, clear_marks, mark
from .responses import asks_again, browser_page, carries_item, declared_canonical, page_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from scrapy_neardup.extraction import Extraction
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.index.reservation import Reservation
    from scrapy_neardup.verdict import Verdict

    from .budget import Budget
    from .events import Action
    from .extension import NearDupExtension
    from .settings import Policy

#: Message about a field that says nothing, shown once for each field.
LEARNED = (
    "The field '%(field)s' of items changes from one URL of a page to another, so it no longer tells items "
    "apart. If it should not count from the start, name it in NEARDUP_ITEM_IGNORE."
)


class Page:
    """One page, from its response to the fate of its last item.

    `judge` is awaited before the page's callback, `pass_on` for each of its items, and `settle` is called
    when Scrapy is done with the page. *Export first, fingerprint second*: the index keeps a page only if its
    output is stored. The object must not refer to the request or the response, the keys by which it is found.

    Under ``drop_items`` the items decide: on one site an item is dropped only if one of a page that it
    repeats says the same. On two sites title, date and author differ by nature, so there the text decides,
    unless a page has several items, or several pages of one site share the text and have different items.
    """

    #: The pages that Scrapy works on, by their requests.
    in_progress: ClassVar[WeakKeyDictionary[Request, Page]] = WeakKeyDictionary()

    def __init__(
        self, extension: NearDupExtension, outcome: Extraction | str = "skipped/not_examined"
    ) -> None:
        self.extension = extension
        #: What the downloader middleware has found: an extraction, or the stat that counts why there is none,
        #: which is empty if it was counted already.
        self.outcome = outcome
        #: The callback's arguments that the request had before its response came, of which components such as
        #: scrapy-poet make others.
        self.arguments: frozenset[str] | None = None
        self.begun = False
        #: Where the page is filed.
        self.url = self.scope = ""
        self.policy: Policy = extension.config.policy
        #: The page's place in the index; None if it has none.
        self.reservation: Reservation | None = None
        #: What the page is, and the verdict if it repeats a stored one, or is an unchanged revisit.
        self.kind = ""
        self.match: Verdict | None = None
        #: What the first item that differs from those of the repeated pages is most like.
        self.differing: Closest | None = None
        #: Whether the callback has ended, how many items it has yielded, and whether it asked for the page
        #: again.
        self.ended, self.yielded_items, self.asked_again = False, 0, False
        #: How often output of this page was begun, and how many such iterations run now.
        self.outputs_begun = self.outputs_running = 0
        #: Items passed on, and how many of them Scrapy has stored or dropped.
        self.passed_items = self.stored_items = self.dropped_items = 0
        self.failed = False
        #: Asks the index; None if the page is not examined.
        self._reserve: Callable[..., Verdict] | None = None
        #: The items passed on by their ``id()``, and what each says; None once it is lost.
        self._passed: dict[int, tuple[Any, Described | None]] = {}
        #: Whether the page has yielded a link that no page has yielded before, see `Budget.follows`.
        self.linked = False
        #: An item of which only those that follow can tell whether it is dropped.
        self._held: Any = None
        self._repeated: RepeatedItems | None = None
        self._to_report: Verdict | None = None
        self._will_be_settled = False

    # Before the callback

    async def judge(self, response: Response, request: Request) -> NearDuplicatePage | None:
        """Judge the page, mark and report it; return the exception for the errback if it is dropped."""
        verdict = await self._verdict(response, request)
        if verdict is not None:
            await self._decided(response, request, verdict)
        if self.match is None or self.policy != "drop_page":
            return None
        if (left_open := browser_page(request)) is not None:
            with self.extension.reporter.fails_open("close_page", response.url):
                # A browser that hangs must not keep the crawl from ending.
                await asyncio.wait_for(left_open.close(), self.extension.browser_page_timeout_seconds)
        return NearDuplicatePage(response, self.match)

    def saw(self, output: Any, request: Request) -> None:
        """Note what the callback yields."""
        if isinstance(output, Request):
            self.asked_again |= asks_again(output, request)
        elif output is not None:
            self.yielded_items += 1

    async def _verdict(self, response: Response, request: Request) -> Verdict | None:
        """Ask the index about the page; return None if the page is not examined, or if that fails."""
        extension, config = self.extension, self.extension.config
        clear_marks(request, response)
        signature = self._signature(response.url)
        if signature is None and not config.item_fields:
            return None
        self.url = page_url(response, request, extension.crawler.request_fingerprinter)
        self.policy, named = extension.policy_for(response.url, request)
        self.scope = extension.scope_for(response.url, request)
        # The callback may have asked again, and gives up this time: then there is nothing to repeat.
        self.asked_again |= "retry_times" in request.meta
        if signature is None:
            return None
        if self.policy == "drop_page" and not named and carries_item(request, self.arguments):
            self.policy = "drop_items"  # only the callback has the item
        canonical = declared_canonical(response) if config.prefer_canonical else None
        self._reserve = partial(
            extension.detector.reserve,
            signature,
            self.url,
            scope=self.scope,
            keep_fragment=True,
            named_by=self._named_by(),
        )
        verdict = await extension.reservations.judge(
            self._reserve, self.url, revisits_wait=config.revisits != "keep"
        )
        if verdict is not None:
            self._take(verdict, request)
            if self.reservation is not None and canonical not in (None, self.url):
                extension.canonical[hash(self.url)] = hash(canonical)
        return verdict

    async def _decided(self, response: Response, request: Request, verdict: Verdict) -> None:
        """Apply a final verdict to the page: mark the response and report the verdict."""
        action: Action = "passed"
        self.kind = verdict.kind
        if self.extension.budget is not None:
            self._settle_in_the_end(request)
        if verdict.is_duplicate:
            self.match, action = verdict, self.policy
        elif verdict.kind == "revisit" and verdict.unchanged:
            self.match, self.policy = verdict, self._revisit_policy(verdict, request)
            action = "passed" if self.policy == "tag" else self.policy
        mark(response, verdict, "keep" if (verdict.kind, action) == ("revisit", "passed") else action)
        reporter = self.extension.reporter
        if action == "drop_items":  # it is reported once its items are known
            self._to_report = verdict
            self._settle_in_the_end(request)
        else:
            reporter.decided("page", self.url, verdict, action)
        await reporter.tell_page(response, verdict, action)

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

    def _named_by(self) -> Callable[[str], bool] | None:
        """Return what tells whether a page names this one as canonical; None if no setting asks for it."""
        if not self.extension.config.prefer_canonical:
            return None
        named = self.extension.canonical
        return lambda other: named.get(hash(other)) == hash(self.url)

    # Its items

    async def pass_on(self, response: Response, item: Any) -> list[Any]:
        """Return the items that go on now that the page has yielded *item*: it may be dropped, or held."""
        held, self._held = self._held, None
        several = held is not None or self.yielded_items > 1
        items = [item] if held is None else [held, item]
        return [each for each in items if await self._passes(response, each, several=several)]

    async def end_output(self, response: Response) -> None:
        """Drop the item that was held: the page has no further one, so its text decides."""
        held, self._held = self._held, None
        if held is not None:
            await self._drop(response, held)
        with self.extension.reporter.fails_open("output", response.url):
            self._report()

    async def _passes(self, response: Response, item: Any, *, several: bool) -> bool:
        """Whether *item* goes on. Does not raise: if anything fails, the item passes."""
        found = described = None
        with self.extension.reporter.fails_open("output", response.url):
            if self._reserve is not None:
                described = self.extension.item_notes.describe(item)
                # Items of a copy are compared to drop them, and those of a revisit to note new ones.
                if self.match is not None and (self.policy == "drop_items" or self.match.kind == "revisit"):
                    found = await self._compare(response, item, described, several=several)
        if self.policy == "drop_items":
            if found == "undecided":
                self._held = item
                return False
            if found == "same":
                await self._drop(response, item)
                return False
        self.passed_items += 1
        self._passed[id(item)] = (item, described)
        if self.extension.config.item_fields:
            self.extension.item_origins[id(item)] = (self.url, self.scope)
            if response.request is not None:
                self._settle_in_the_end(response.request)
        return True

    async def _compare(self, response: Response, item: Any, described: Described, *, several: bool) -> str:
        """Compare an item with those of the repeated pages; file the page beside them if it differs."""
        learned = True
        while learned or self.reservation is None:
            if self._repeated is None:
                assert self.match is not None
                repeats = self.match.repeats() if self.match.repeats is not None else []
                self._repeated = RepeatedItems(self.extension.item_notes, repeats)
            found = self._repeated.find(described, several=several)
            if found != "differs":
                return found
            closest = self.differing or self._repeated.closest(described)
            learned = self.differing is None and self._learn(response, closest)
            if learned:
                described = self.extension.item_notes.describe(item)
            elif self.reservation is None and not await self._file_beside(response):
                break
        self.differing = self.differing or closest
        return found

    def _learn(self, response: Response, closest: Closest) -> bool:
        """Learn from an item that differs in one field from that of the same page under another URL."""
        page = closest.page
        if page is None or not page.exact or page.url == self.url or closest.fields < 2:
            return False
        if not (is_variant(self.url, page.url) or declared_canonical(response) == page.url):
            return False
        field = self.extension.item_notes.learn(closest.differences, page.url.partition("?")[0])
        if field is not None:
            self._repeated = None
            self.extension.reporter.warn_once(LEARNED, self.url, field=field)
        return field is not None

    async def _file_beside(self, response: Response) -> bool:
        """File the page beside those that it repeats; return whether another copy has come in meanwhile."""
        assert isinstance(self._reserve, partial)
        assert self._repeated is not None
        beside = self._reserve.keywords.get("beside", frozenset()) | self._repeated.compared
        self._reserve = partial(self._reserve, beside=beside)
        verdict = await self.extension.reservations.judge(
            self._reserve, self.url, revisits_wait=self.extension.config.revisits != "keep"
        )
        if verdict is None or response.request is None:
            return False
        self._take(verdict, response.request)
        if not verdict.is_duplicate:
            return False
        self.match, self._repeated = verdict, None
        self._to_report = self._to_report and verdict
        return True

    async def _drop(self, response: Response, item: Any) -> None:
        assert self.match is not None
        with self.extension.reporter.fails_open("output", response.url):
            await self.extension.reporter.item_refused(response, item, self.match)

    # Its fate

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
        """Whether the page counts as stored: nothing has failed or vanished, and one item is stored.

        Or it never had any, and was not asked for again.
        """
        ended = self.ended and not self.failed and self.outputs_running == 0
        arrived = self.stored_items + self.dropped_items >= self.passed_items
        had_none = self.yielded_items == self.passed_items == 0 and not self.asked_again
        return ended and arrived and (self.stored_items > 0 or had_none)

    def settle(self) -> None:
        """Confirm or release the page's place in the index, and report what was left open. Does not raise."""
        with self.extension.reporter.fails_open("settle", self.url):
            items = [described for _, described in self._passed.values() if described is not None]
            for key in self._passed:
                self.extension.item_origins.pop(key, None)
            self._report()
            if self.extension.budget is not None:
                self._spend(self.extension.budget)
            if self.reservation is None:
                return
            if self.is_stored:
                self.extension.reservations.confirm(self.reservation, note=pack(items))
            else:
                self.extension.reservations.release(self.reservation)

    def _spend(self, budget: Budget) -> None:
        """Count whether the page has brought anything new."""
        if self.failed or self.kind in ("", "revisit", "too_short", "wall"):
            return
        kept = self.policy == "drop_items" and self.passed_items > 0
        change = budget.judged(self.url, new=self.match is None or kept or self.linked)
        if change is not None:
            self.extension.reporter.count(f"budget/{change}")

    def _report(self) -> None:
        """Report the page, once, if it is to be judged by its items."""
        verdict, self._to_report = self._to_report, None
        if verdict is None:
            return
        action: Action = "drop_items"
        if self.differing is not None:
            explain = partial(_told, verdict, self.differing)
            verdict = replace(verdict, kind="items_differ", unchanged=False, explain=explain)
            action = "passed"
        self.extension.reporter.decided("page", self.url, verdict, action)

    def _take(self, verdict: Verdict, request: Request) -> None:
        """Give the page the reservation that came with *verdict*, if any, to be settled in the end."""
        self.reservation = verdict.reservation
        if self.reservation is not None:
            self._settle_in_the_end(request)

    def _settle_in_the_end(self, request: Request) -> None:
        if not self._will_be_settled:
            self._will_be_settled = True
            self.extension.reservations.when_done(request, self.settle)


def _told(match: Verdict, closest: Closest) -> dict[str, Any]:
    first = closest.differences[0] if closest.differences else Difference("", None, None)
    return {
        **match.explanation,
        "field": first.field or None,
        "value": first.value,
        "stored": first.stored,
        "fields": [each.field for each in closest.differences],
    }
