"""Compares items by the text of their fields."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import run_in_thread

from .duplicates import NearDuplicateItem
from .extension import NearDup
from .filters import MATCH_KEY
from .page_state import match_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_neardup.index.reservation import Reservation
    from scrapy_neardup.verdict import Verdict

#: Characters from which on a text is fingerprinted in a thread: about a millisecond of work.
_LONG = 10_000

#: The reservation of the item in hand. Later pipelines may replace the item, so it cannot be known by its identity;
#: but an item passes all pipelines and has its signal sent in one context.
_in_hand: ContextVar[Reservation | None] = ContextVar("neardup_item", default=None)


class NearDupPipeline:
    """Drops or tags items whose fields named by ``NEARDUP_ITEM_FIELDS`` repeat the text of another item.

    Items are compared with items only, never with pages. Under the policy ``tag`` an item that can hold a field
    ``neardup_match`` gets one; under the other policies NearDuplicateItem is raised.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.extension = NearDup.of(crawler)
        if not self.extension.config.item_fields:
            raise NotConfigured

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline = cls(crawler)
        crawler.signals.connect(pipeline.item_scraped, signals.item_scraped)
        crawler.signals.connect(pipeline.item_lost, signals.item_dropped)
        crawler.signals.connect(pipeline.item_lost, signals.item_error)
        return pipeline

    async def process_item(self, item: Any) -> Any:
        _in_hand.set(None)
        url, verdict = "", None
        with self.extension.journal.fails_open("item", type(item).__name__):
            url, verdict = await self._judge(item)
        if verdict is None:
            return item
        _in_hand.set(verdict.reservation)
        for handler in self.extension.journal.item(item, url, verdict):
            await handler
        if not verdict.is_duplicate:
            return item
        if self.extension.config.policy != "tag":
            raise NearDuplicateItem(item, url, verdict)
        with self.extension.journal.fails_open("item", type(item).__name__):
            self._tag(item, verdict)
        return item

    def item_scraped(self) -> None:
        reservation = _in_hand.get()
        if reservation is not None:
            with self.extension.journal.fails_open("settle", "an item"):
                self.extension.settler.confirm(reservation)

    def item_lost(self) -> None:
        reservation = _in_hand.get()
        if reservation is not None:
            with self.extension.journal.fails_open("settle", "an item"):
                self.extension.settler.release(reservation)

    async def _judge(self, item: Any) -> tuple[str, Verdict | None]:
        fields = self.extension.config.fields_of(item)
        if not fields:
            return self._skip("class")
        adapter = ItemAdapter(item)
        text = "\n".join(_text(adapter.get(name)) for name in fields)
        if not text.strip():
            return self._skip("no_text")
        if len(text) > self.extension.config.max_body_size:
            return self._skip("too_large")
        origin, scope = self.extension.origins.get(id(item), (None, None))
        url = adapter.get("url") or origin
        if not isinstance(url, str):
            return self._skip("no_url")
        if scope is None:
            scope = self.extension.scope_for(url)
        fingerprint = self.extension.detector.fingerprinter.signature
        signature = await run_in_thread(fingerprint, text) if len(text) > _LONG else fingerprint(text)
        scope = f"item:{scope}"
        verdict = self.extension.reserve(signature, url, scope, "item/")
        return url, await self.extension.settled(verdict, signature, url, scope, "item/")

    def _tag(self, item: Any, verdict: Verdict) -> None:
        try:
            ItemAdapter(item)[MATCH_KEY] = match_of(verdict, "tag")
        except KeyError:  # its class declares no such field
            self.extension.journal.count("item/untaggable")

    def _skip(self, reason: str) -> tuple[str, None]:
        self.extension.journal.count(f"item/skipped/{reason}")
        return "", None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(map(_text, value))
    return str(value)
