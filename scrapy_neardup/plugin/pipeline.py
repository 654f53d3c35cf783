"""The item pipeline: items are compared by the text of their fields."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.fingerprint import simhash
from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.matching.items import fields_of
from scrapy_neardup.matching.records import filed_url
from scrapy_neardup.verdict import Verdict

from .events import Action
from .extension import Component
from .marks import MATCH_KEY, NearDuplicateItem, match_of, put
from .reservations import Patience

#: A text of more characters than this is fingerprinted in a thread: it may be made to take long.
_THREAD_CHARACTERS = 4_000

#: The reservation of the item that is in the pipelines. Later ones may replace the item by another object,
#: but the calls of all pipelines for one item, and of the handlers of its signal, share one context.
_reservation: ContextVar[Reservation | None] = ContextVar("neardup_item", default=None)


class NearDupPipeline(Component):
    """Drops or tags items that repeat the text of another, even one in the pipelines: NEARDUP_ITEM_FIELDS."""

    hears = ("item_scraped", "item_dropped", "item_error")

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not self.extension.config.item_fields:
            raise NotConfigured
        # Tables of characters are made for the first text that needs them, which takes up to .1 s.
        for text in ("a", "é", "𝄞"):
            simhash(text)

    async def process_item(self, item: Any) -> Any:
        _reservation.set(None)
        url, verdict = "", None
        with self.extension.reporter.fails_open("item", type(item).__name__):
            url, verdict = await self._judge(item)
        if verdict is None:
            return item
        _reservation.set(verdict.reservation)
        tags = self.extension.config.policy == "tag"
        action: Action = ("tag" if tags else "drop_item") if verdict.is_duplicate else "passed"
        self.extension.reporter.decided("item", url, verdict, action)
        if action == "passed":
            return item
        if action == "drop_item":
            raise NearDuplicateItem(item, url, verdict)
        with self.extension.reporter.fails_open("item", type(item).__name__):
            if not put(item, MATCH_KEY, match_of(verdict, "tag")):
                self.extension.reporter.count("item/untaggable")
        return item

    def item_scraped(self) -> None:
        self._settle(self.extension.reservations.confirm)

    def item_dropped(self) -> None:
        self._settle(self.extension.reservations.release)

    item_error = item_dropped

    def _settle(self, settle: Callable[[Reservation], None]) -> None:
        reservation = _reservation.get()
        if reservation is not None:
            with self.extension.reporter.fails_open("settle", "an item"):
                settle(reservation)

    async def _judge(self, item: Any) -> tuple[str, Verdict | None]:
        """Return the item's URL and the verdict on it, which is None if the item cannot be compared."""
        adapter = fields_of(item) or {}
        text = "\n".join(_text(adapter.get(name)) for name in self.extension.config.item_fields)
        page_url, scope = self.extension.item_origins.get(id(item), (None, None))
        if not text.strip():
            return self._skip("no_text")
        if len(text) > self.extension.config.max_body_size:
            return self._skip("too_large")
        own = _text(adapter.get("url")).strip().partition("\n")[0]  # item loaders put it into a list
        url = own or page_url
        if not url:
            return self._skip("no_url")
        scope = self.extension.scope_for(url) if scope is None else scope
        sign = self.extension.detector.fingerprinter.signature
        signature = await run_in_thread(sign, text) if len(text) > _THREAD_CHARACTERS else sign(text)
        filed = filed_url(url) if own else url
        ask = partial(
            self.extension.detector.reserve, signature, filed, scope=f"item:{scope}", keep_fragment=True
        )
        patience = Patience(self.extension.config.pending_timeout)
        return url, await self.extension.reservations.final_verdict(ask, filed, patience, prefix="item/")

    def _skip(self, reason: str) -> tuple[str, None]:
        self.extension.reporter.count(f"item/skipped/{reason}")
        return "", None


def _text(value: Any) -> str:
    """Return the text of a field's value; those in a list are joined by line feeds."""
    if isinstance(value, (list, tuple)):
        return "\n".join(map(_text, value))
    return "" if value is None else str(value)
