"""A page of a crawl: it is judged before its callback, passes its items on, and is settled in the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.http import Response

from scrapy_neardup.extraction import Extraction
from scrapy_neardup.fingerprint.main_text import changes, paragraphs_of
from scrapy_neardup.fingerprint.signature import Signature
from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.matching.items import (
    MOST_ITEMS,
    Closest,
    Described,
    Difference,
    RepeatedItems,
    is_variant,
    pack,
)
from scrapy_neardup.matching.sites import site_key
from scrapy_neardup.verdict import Verdict

from .budget import LINK_KEY, files_of
from .events import Action
from .extension import NearDupExtension
from .marks import CHANGED_KEY, NearDuplicatePage, clear_marks, mark, put
from .reservations import Patience
from .responses import asks_again, browser_page, declared_canonical, page_url
from .settings import Policy
from .story import PARAGRAPHS, Story, identify, prefers

#: Verdicts on pages that are no copies, but are of use only for their items and links.
NO_TEXT_OF_ITS_OWN = ("too_short", "wall", "template", "boilerplate")
#: Verdicts on pages whose text many pages show, so that only their items tell whether they are copies.
SHOWN_BY_MANY = ("wall", "boilerplate")
_LEARNED = (
    "The field '%(field)s' of items changes from one URL of a page to another, so it no longer tells items "
    "apart. If it should not count from the start, name it in NEARDUP_ITEM_IGNORE."
)


class CrawledPage:
    """One page, from its response to the fate of its last item.

    `judge` is awaited before the page's callback, `pass_on` for each of its items, and `settle` is called
    when Scrapy is done with the page. *Export first, fingerprint second*: the index keeps a page only if its
    output is stored. The object must not refer to the request or the response, the keys by which it is found.
    """

    #: The pages that Scrapy works on, by their requests.
    in_progress: ClassVar[WeakKeyDictionary[Request, CrawledPage]] = WeakKeyDictionary()

    def __init__(self, extension: NearDupExtension) -> None:
        self.extension = extension
        self.reporter = extension.reporter
        #: What a worker has found, or the stat that says why there is nothing; "" if that is counted already.
        self.extraction: Extraction | str = "skipped/not_examined"
        #: Whether its request carries an item, which would be lost if the callback were not called.
        self.carries_item = False
        self.begun = False
        #: Where the page is filed, and the URL that it declares as canonical.
        self.url = self.scope = ""
        self.declared: str | None = None
        self.policy: Policy = extension.config.policy
        self.story = Story(b"")
        #: The page's place in the index; None if it has none.
        self.reservation: Reservation | None = None
        self.patience = Patience(extension.config.pending_timeout)
        #: The kind of its verdict, and the verdict itself if it is reported only once the items are known.
        self.kind = ""
        self.unreported: Verdict | None = None
        #: The verdict if it says that the page repeats a stored one, is its better version, or is unchanged.
        self.matched: Verdict | None = None
        #: The stored item that is most like the first item found to differ from all those stored.
        self.differing: Closest | None = None
        #: Whether the callback has ended, how many items it has yielded, and if it asked for the page again.
        self.ended, self.yielded_items, self.asked_again = False, 0, False
        #: For `Budget`: how this page was linked, if it has links and one leads on, and their parameters.
        self.link, self.has_links, self.leads_on = "", False, False
        self.link_parameters: dict[str, str] = {}
        #: Whether Scrapy has taken all output of the callback; None if it has not begun to.
        self.output_over: bool | None = None
        #: Items passed on, those of them that were stored or lost in a pipeline; and those dropped as copies.
        self.passed_items = self.stored_items = self.lost_items = self.refused_items = 0
        self.failed = False
        #: Asks the index; None if the page is not examined.
        self._reserve: Callable[..., Verdict] | None = None
        #: The first items passed on by their ``id()``, and what each says; None once it is lost.
        self._passed: dict[int, tuple[Any, Described | None]] = {}
        #: An item that is dropped if no other follows.
        self._held: Any = None
        self._repeated: RepeatedItems | None = None
        #: URLs of copies, each with that of the page that is kept, for which no signal was sent yet.
        self._copies: list[tuple[str, str]] = []

    @property
    def drop_reason(self) -> Verdict | None:
        """The verdict for which the page's items may be dropped: `matched`, but for a better version."""
        return self.matched if self.matched is not None and self.matched.kind != "preferred" else None

    # Before the callback

    async def judge(self, response: Response, request: Request) -> NearDuplicatePage | None:
        """Judge the page, mark and report it; return the exception for the errback if it is dropped."""
        extension, config = self.extension, self.extension.config
        clear_marks(request, response)
        signature = self._signature(response.url)
        self.url = page_url(response, request, extension.crawler.request_fingerprinter)
        self.story = Story.of(self.url)
        if signature is None and not config.item_fields:
            return None
        self.policy, named = extension.policy_for(response.url, request)
        self.scope = extension.scope_for(response.url, request)
        # The callback may have asked again, and gives up this time: then there is nothing to repeat.
        self.asked_again |= "retry_times" in request.meta
        self.link = request.meta.get(LINK_KEY, "")
        extension.reservations.when_done(request, self.settle)
        if signature is None:
            return None
        if self.policy == "drop_page" and not named and self.carries_item:
            self.policy = "drop_items"
        named_by = partial(prefers, identify(self.url) if config.prefer_canonical else None)
        how: dict[str, Any] = {"scope": self.scope, "keep_fragment": True, "named_by": named_by}
        self._reserve = partial(extension.detector.reserve, signature, self.url, **how)
        verdict = await self._reserve_place()
        if verdict is None:
            return None
        self.kind = verdict.kind
        found = await self._if_items_agree(verdict) if self.policy == "drop_items" else verdict
        action: Action = "passed"
        if found.is_duplicate:
            self.matched, action = found, self.policy
        elif verdict.kind == "preferred":
            self.matched = verdict
        elif verdict.kind == "revisit" and verdict.unchanged:
            self.matched, self.policy = verdict, self._policy_for_revisit(verdict)
            action = "passed" if self.policy == "tag" else self.policy
        self._note_story(response, found)
        mark(response, verdict, action)
        if action == "drop_items" or verdict.kind == "preferred":
            self.unreported = verdict
        else:
            self._report_verdict(verdict, action)
        await self.reporter.tell_page(response, verdict, action)
        if action != "drop_page":
            return None
        await self.reporter.copies_seen(self._copies, self.story.identifier.hex())
        if (left_open := browser_page(request)) is not None:
            with self.reporter.fails_open("close_page", response.url):
                # A browser that hangs must not keep the crawl from ending.
                await asyncio.wait_for(left_open.close(), extension.browser_page_timeout_seconds)
        return NearDuplicatePage(response, verdict)

    def _signature(self, url: str) -> Signature | None:
        """Return the signature that a worker has made, or count why there is none."""
        found = self.extraction
        if isinstance(found, str):
            if found.startswith("error/"):
                self.reporter.failed(found.removeprefix("error/"), url, trace=False)
            elif found:
                self.reporter.count(found)
            return None
        self.reporter.count("extract_seconds", found.seconds)
        if found.fallback:
            self.reporter.count("extract_fallback")
        if found.reason in ("no_text", "not_text"):
            self.reporter.count(f"skipped/{found.reason}")
        elif found.reason is not None:
            self.reporter.failed(f"extract/{found.reason}", f"{url} {found.detail or ''}", trace=False)
        return found.signature

    async def _reserve_place(self) -> Verdict | None:
        """Ask the index for a verdict and a place; return None if that fails."""
        assert self._reserve is not None
        waits = self.extension.config.revisits != "keep"
        verdict = await self.extension.reservations.final_verdict(
            self._reserve, self.url, self.patience, revisits_wait=waits
        )
        if verdict is not None:
            self.reservation = verdict.reservation
        return verdict

    async def _if_items_agree(self, verdict: Verdict) -> Verdict:
        """Return what a page is if its items agree, after a wait for the first equal one in progress."""
        found = verdict.if_items_agree
        if found is verdict:
            return verdict
        assert found.repeats is not None
        repeats, reservations = found.repeats(), self.extension.reservations
        for place, each in enumerate(repeats):
            if each.pending is None or not each.exact:
                continue
            if not await reservations.settled(each.pending, self.url, self.patience):
                break
            if each.pending.confirmed:
                repeats[place] = each._replace(pending=None, note=each.pending.note)
                break
        return replace(found, repeats=lambda: repeats)

    def _note_story(self, response: Response, verdict: Verdict) -> None:
        """Note story, copies and canonical page; put into meta which paragraphs are new, if it has a text."""
        identifier, before, prefer = self.story.identifier, b"", self.extension.config.prefer_canonical
        if verdict.repeats is not None and verdict.kind in ("exact", "near", "preferred", "revisit"):
            pages = verdict.repeats()
            identifier, _, before = Story.of(pages[0].url, pages[0].note)
            if verdict.is_duplicate:
                self._copies = [(self.url, pages[0].url)]
            elif verdict.kind == "preferred":
                own = identify(self.url)
                self._copies = [(each.url, self.url) for each in pages if prefers(own, each.url, each.note)]
        assert not isinstance(self.extraction, str)  # what it has found was judged
        named = self.declared = declared_canonical(response.url, self.extraction.canonical)
        other = prefer and named is not None and named != self.url and site_key(named) == site_key(self.url)
        canonical = identify(named) if named and other else b""
        now = paragraphs_of(self.extraction.text.text) if self.extraction.text is not None else {}
        if now:
            known = before if verdict.kind == "revisit" else b""
            response.meta[CHANGED_KEY] = changes(known, now)
        self.story = Story(identifier, canonical, b"".join([*now][:PARAGRAPHS]))

    def _policy_for_revisit(self, verdict: Verdict) -> Policy:
        """Return the policy for an unchanged revisit; by ``tag`` it passes."""
        revisits = self.extension.config.revisits
        stored = verdict.repeats()[0] if verdict.repeats is not None else None
        # A page that has stored no item may be a list of links, or its items were not found last time.
        if revisits == "keep" or (stored is not None and stored.note[:2] == pack([])):
            return "tag"
        return "drop_items" if self.carries_item else revisits

    def note_output(self, output: Any, request: Request) -> None:
        """Note what the callback yields."""
        if isinstance(output, Request):
            self.has_links = True
            self.asked_again |= asks_again(output, request)
        elif output is not None:
            self.yielded_items += 1

    # Its items

    async def pass_on(self, response: Response, item: Any) -> list[Any]:
        """Return the items that go on now that the page has yielded *item*: it may be dropped, or held."""
        held, self._held = self._held, None
        several = held is not None or self.yielded_items > 1
        items = [item] if held is None else [held, item]
        return [each for each in items if await self._passes(response, each, several=several)]

    async def end_output(self, response: Response) -> None:
        """Drop the item that was held, if any: it is the page's only one, so the page's text decides."""
        held, self._held = self._held, None
        if held is not None:
            await self._drop(response, held)
        with self.reporter.fails_open("output", response.url):
            self._report_unreported()
            await self.reporter.copies_seen(self._copies, self.story.identifier.hex())

    async def _passes(self, response: Response, item: Any, *, several: bool) -> bool:
        """Whether *item* goes on. Does not raise: if anything fails, the item passes."""
        found = described = None
        with self.reporter.fails_open("output", response.url):
            if self._reserve is not None:
                described = self.extension.item_notes.describe(item)
                found = await self._compare(item, described, several=several)
        if self.policy == "drop_items" and found == "undecided":
            self._held = item
            return False
        if self.policy == "drop_items" and found == "same":
            await self._drop(response, item)
            return False
        self.passed_items += 1
        noted = described is not None and len(self._passed) <= MOST_ITEMS  # of a million in a feed
        if noted or self.extension.config.item_fields:
            self._passed[id(item)] = (item, described)
        with self.reporter.fails_open("output", response.url):
            for field in self.extension.config.cluster_field:
                if not put(item, field, self._story_of(described or {})):
                    self.reporter.count("untaggable")
        if self.extension.config.item_fields:
            self.extension.item_origins[id(item)] = (self.url, self.scope)
        return True

    def _story_of(self, item: Described) -> str:
        """Return the identifier of an item's story: on a list each item has its own, made of what it says.

        The position of an item would not do: a copy of the list may begin with another one.
        """
        number, name = self.passed_items + self.refused_items, self.story.identifier.hex()
        if number == 1 and not self._stored_items().are_lists:
            return name
        return f"{name}-{identify(repr(sorted(item.items()) or number)).hex()[:8]}"

    async def _compare(self, item: Any, described: Described, *, several: bool) -> str:
        """Compare an item with those of the repeated pages; file the page beside them if it differs."""
        # Items of a copy are compared to drop them, and those of a revisit to note new ones.
        dropped = self.policy == "drop_items" and (described or self.kind not in SHOWN_BY_MANY)
        if self.drop_reason is None or not (dropped or self.drop_reason.kind == "revisit"):
            if self.matched is not None and self._stored_items().contradicts(described):
                self._note_difference(self._stored_items().closest(described))
            return ""
        while True:
            stored = self._stored_items()
            found = stored.find(described, several=several)
            if found == "same" and self.kind == "wall" and not stored.varied:
                return ""  # a captcha, whose items say nothing of the page
            if found != "differs":
                return found
            closest = self.differing or stored.closest(described)
            if self.differing is None and self._learn(closest):
                described = self.extension.item_notes.describe(item)
            elif self.reservation is not None or not await self._file_beside(stored):
                self._note_difference(closest)
                return found

    def _stored_items(self) -> RepeatedItems:
        """Return the items of the pages that this one repeats."""
        if self._repeated is None:
            stored = self.matched.repeats if self.matched is not None else None
            self._repeated = RepeatedItems(self.extension.item_notes, [] if stored is None else stored())
        return self._repeated

    def _note_difference(self, closest: Closest) -> None:
        """Note that an item says something else than the stored one that is closest: that is no copy."""
        self.differing = closest
        if self.drop_reason is None or self.drop_reason.is_duplicate:
            self._begin_story()

    def _begin_story(self) -> None:
        """Note that the page is no copy, and the first of its story."""
        self.story, self._copies = self.story._replace(identifier=identify(self.url)), []

    def _learn(self, closest: Closest) -> bool:
        """Learn from an item that differs in one field from that of the same page under another URL."""
        page = closest.page
        if page is None or not page.exact or page.url == self.url or closest.fields < 2:
            return False
        if not (is_variant(self.url, page.url) or self.declared == page.url):
            return False
        field = self.extension.item_notes.learn(closest.differences, min(page.url, self.url, key=len))
        if field is not None:
            self._repeated = None
            self.reporter.log(logging.WARNING, _LEARNED, field=field)
        return field is not None

    async def _file_beside(self, repeated: RepeatedItems) -> bool:
        """File the page beside those that it repeats; return whether another copy has come in meanwhile."""
        assert isinstance(self._reserve, partial)
        beside = self._reserve.keywords.get("beside", frozenset()) | repeated.compared
        self._reserve = partial(self._reserve, beside=beside)
        verdict = await self._reserve_place()
        if verdict is None or not verdict.is_duplicate:
            return False
        self.matched = verdict
        self.unreported, self._repeated = self.unreported and verdict, None
        return True

    async def _drop(self, response: Response, item: Any) -> None:
        assert self.drop_reason is not None
        self.refused_items += 1
        await self.reporter.item_refused(response, item, self.drop_reason)

    # Its fate

    def item_lost(self, item: Any, *, failed: bool) -> None:
        """Note that a pipeline has dropped *item*, or has *failed*."""
        self.lost_items += 1
        # If a pipeline has put another object in its place, or it is one of very many, any may be lost.
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
        """Whether nothing has failed or vanished, and an item is stored, or the page never had any."""
        ended = self.ended and not self.failed and self.output_over is not False
        arrived = self.stored_items + self.lost_items >= self.passed_items
        had_none = self.yielded_items == self.passed_items == 0 and not self.asked_again
        return ended and arrived and (self.stored_items > 0 or had_none)

    def settle(self) -> None:
        """Confirm or release the page's place in the index, and report what was left open. Does not raise."""
        with self.reporter.fails_open("rules", self.url):
            self._tell_known_urls()
        with self.reporter.fails_open("budget", self.url):
            self._tell_budget()
        with self.reporter.fails_open("settle", self.url):
            items = [said for _, said in self._passed.values() if said is not None]
            for key in self._passed:
                self.extension.item_origins.pop(key, None)
            self._report_unreported()
            if self.reservation is None:
                return
            if self.is_stored:
                more = self.passed_items > len(self._passed)
                note = pack(items, self.story.noted(self.url), more=more)
                self.extension.reservations.confirm(self.reservation, note=note)
            else:
                self.extension.reservations.release(self.reservation)

    def _tell_known_urls(self) -> None:
        """Tell those who hold requests back that the page is stored, or a copy."""
        known = self.extension.known_urls
        if known is None or self.kind in ("", "wall"):
            return
        items_dropped = self.ended and not self.failed and self.yielded_items > self.passed_items
        copy = self.drop_reason is not None and (self.policy == "drop_page" or items_dropped)
        if copy or self.is_stored:
            known.has_come(self.url, items=copy or self.stored_items > 0)

    def _tell_budget(self) -> None:
        """Have the budget, if there is one, count whether the page has brought anything new."""
        budget = self.extension.budget
        if budget is None or self.failed or self.kind in ("", "revisit"):
            return
        budget.note_items(self.stored_items)
        story, new = self.story.identifier, self.passed_items > 0
        if self.drop_reason is not None:
            new = new and self.policy == "drop_items"
        elif self.kind not in NO_TEXT_OF_ITS_OWN:
            story, new = identify(self.url), True  # a better version is wanted, too
        elif not isinstance(self.extraction, str) and self.extraction.signature is not None:
            # It may have items or links; no crawl of items needs one without. What it shows is its story.
            items = [
                (sorted(said.items()), files_of(item)) if said else self.url
                for item, said in self._passed.values()
            ]
            more = self.url if self.passed_items > len(items) else ""
            story = identify(f"{self.extraction.signature.digest!r}{items}{more}")
            new = new or not budget.has_items()
        # Without any item and link it may be the answer to too many requests, and not the page.
        if self.ended and not (new or self.yielded_items or self.has_links):
            return
        if change := budget.judged(self.url, self.link, new=new, leads=self.leads_on, story=story):
            self.reporter.count(f"budget/{change}")

    def _report_unreported(self) -> None:
        """Report the page, once, if it is to be judged by its items."""
        verdict, self.unreported = self.unreported, None
        if verdict is None:
            return
        action: Action = "passed" if verdict.kind == "preferred" else "drop_items"
        if verdict.kind in SHOWN_BY_MANY and self.refused_items and not self.passed_items:
            assert self.drop_reason is not None
            verdict = self.drop_reason
        elif verdict.kind in SHOWN_BY_MANY:  # it has no items, or others
            self.matched, action = None, "passed"
            self._begin_story()
        elif self.differing is not None:
            explain = partial(_explanation, verdict, self.differing)
            verdict = replace(verdict, kind="items_differ", unchanged=False, explain=explain)
            action = "passed"
        elif (said_by := self._stored_items().said_by) not in (None, verdict.url):
            told = {**verdict.explanation, "items_of": said_by}
            verdict = replace(verdict, explain=lambda: told)
        self._report_verdict(verdict, action)

    def _report_verdict(self, verdict: Verdict, action: Action) -> None:
        more: dict[str, Any] = {"story": self.story.identifier.hex()}
        if verdict.kind == "preferred":
            more["replaces"] = [url for url, _ in self._copies]
        self.reporter.decided("page", self.url, verdict, action, **more)


def _explanation(match: Verdict, closest: Closest) -> dict[str, Any]:
    first = closest.differences[0] if closest.differences else Difference("", None, None)
    fields = [each.field for each in closest.differences]
    return {**match.explanation, **first._asdict(), "field": first.field or None, "fields": fields}
