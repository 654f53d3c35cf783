"""Reserves places in the index, waits for pages in progress that a verdict depends on, and settles places."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.asyncio import call_later

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.pending import Pending, Reservation
from scrapy_neardup.verdict import Verdict

from .eventloop import wait_done
from .events import EventReporter

#: Documents that an index on another machine is asked about at a time; others wait for their turn.
ASKED_AT_ONCE = 16
#: Seconds between two looks at which pages Scrapy is done with.
_POLL_SECONDS = 0.05


class Patience:
    """How long one page or item may still wait for others: for all of them together *seconds*."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left = seconds

    async def until(self, subscribe: Callable[[Callable[[object], None]], object]) -> bool:
        """Wait as `wait_done` does; return False if it takes too long."""
        begun = time.monotonic()
        try:
            return await wait_done(subscribe, self.left)
        finally:
            self.left -= time.monotonic() - begun


class Reservations:
    """Reserves documents in the index, and settles each of these reservations exactly once.

    A document that repeats one in progress waits until that is stored or lost, if its `Patience` lasts. With
    *remote* the index is on another machine, so that the event loop must not ask it.
    """

    def __init__(self, crawler: Crawler, reporter: EventReporter, *, remote: bool = False) -> None:
        self.crawler = crawler
        self.reporter = reporter
        self._threads = ThreadPoolExecutor(ASKED_AT_ONCE, "neardup-index") if remote else None
        #: Reservations that are not settled, each with the prefix of the stats that count it.
        self._open: dict[Reservation, str] = {}
        #: Reservations that the next turn of the event loop confirms, and the note on the items of each.
        self._to_confirm: dict[Reservation, bytes] = {}
        #: Functions to call when Scrapy is done with a request, each with the request.
        self._waiting: dict[Callable[[], None], Request] = {}

    async def final_verdict(
        self,
        ask: Callable[[], Verdict],
        url: str,
        patience: Patience,
        *,
        prefix: str = "",
        revisits_wait: bool = False,
    ) -> Verdict | None:
        """Return the final verdict of *ask*, None if none comes in time. Unchanged revisits may wait, too."""
        waited = False
        while True:
            verdict = await self._ask(ask, url, patience, prefix)
            if verdict is None or verdict.pending is None:
                return verdict
            if not (verdict.is_duplicate or (verdict.unchanged and revisits_wait)):
                return verdict
            if not waited:
                self.reporter.count(f"{prefix}waited")
            waited = True
            if not await self.settled(verdict.pending, url, patience):
                return None

    async def settled(self, pending: Pending, url: str, patience: Patience) -> bool:
        """Wait until a document that *url* repeats is stored or lost; report if it is not in time."""
        if await patience.until(pending.add_done_callback):
            return True
        waited = f"{url} has waited {patience.seconds:.0f} seconds, in the end for {pending.url} to be stored"
        self.reporter.failed("pending_timeout", waited, trace=False)
        return False

    async def _ask(
        self, ask: Callable[[], Verdict], url: str, patience: Patience, prefix: str
    ) -> Verdict | None:
        with self.reporter.fails_open("reserve", url):
            if self._threads is None:
                verdict = ask()
            else:
                future = self._threads.submit(ask)
                if not await patience.until(future.add_done_callback):
                    future.cancel()
                    future.add_done_callback(_release)
                    self.reporter.failed("reserve", f"no answer of the index for {url}", trace=False)
                    return None
                try:
                    verdict = future.result()
                except IndexUnavailable:  # the index has logged it, once for all pages
                    self.reporter.count("error/reserve")
                    return None
            if verdict.reservation is not None:
                self._open[verdict.reservation] = prefix
            return verdict
        return None

    def confirm(self, reservation: Reservation, *, note: bytes = b"") -> None:
        """Keep the document and its *note* in the next turn of the event loop, when feeds have the item."""
        if reservation not in self._open:
            return
        if not self._to_confirm:
            call_later(0, self.confirm_stored)
        self._to_confirm[reservation] = note

    def release(self, reservation: Reservation) -> None:
        """Forget the document at once, because its output is not stored."""
        self._settle(reservation, confirmed=False)

    def when_done(self, request: Request, function: Callable[[], None]) -> None:
        """Call *function*, which must not raise, when Scrapy is done with the response to *request*.

        No signal tells, and middlewares add or drop items, so this polls the requests that Scrapy works on.
        """
        if not self._waiting:
            call_later(_POLL_SECONDS, self._call_done)
        self._waiting[function] = request

    def on_its_way(self, request: Request) -> bool:
        """Whether Scrapy works on *request*, or its page is not settled."""
        engine = self.crawler.engine
        scraped = engine.scraper.slot.active if engine.scraper.slot is not None else ()
        return request in engine.downloader.active or request in scraped or request in self._waiting.values()

    def close(self) -> None:
        """Settle all reservations: confirm those whose output is stored, and release the others."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        waiting, self._waiting = self._waiting, {}
        for function in waiting:
            function()
        self.confirm_stored()
        for reservation in list(self._open):
            self.release(reservation)

    def confirm_stored(self) -> None:
        """Flush the feeds, then confirm all reservations that `confirm` was called for."""
        to_confirm, self._to_confirm = self._to_confirm, {}
        if to_confirm:
            with self.reporter.fails_open("flush", "the feeds"):
                _flush_feeds(self.crawler)
        for reservation, note in to_confirm.items():
            self._settle(reservation, confirmed=True, note=note)

    def _call_done(self) -> None:
        with self.reporter.fails_open("settle", "pages that are over"):
            slot = self.crawler.engine.scraper.slot
            for function, request in list(self._waiting.items()):
                if slot is None or request not in slot.active:
                    del self._waiting[function]
                    function()
            if self._waiting:
                call_later(_POLL_SECONDS, self._call_done)

    def _settle(self, reservation: Reservation, *, confirmed: bool, note: bytes = b"") -> None:
        prefix = self._open.pop(reservation, None)
        if prefix is None:
            return
        with self.reporter.fails_open("settle", reservation.url):
            if confirmed:
                reservation.confirm(note=note)
            else:
                reservation.release()
            self.reporter.count(prefix + ("confirmed" if confirmed else "released"))


def _release(future: Future[Verdict]) -> None:
    """Release what nobody waits for any more."""
    if not future.cancelled() and future.exception() is None:
        reservation = future.result().reservation
        if reservation is not None:
            reservation.release()


def _flush_feeds(crawler: Crawler) -> None:
    """Hand the exported items to the operating system, so that they outlive a kill of this process."""
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter is not None else ():
        if slot.file is not None:
            # Closed and remote files have nothing to flush, and a full disk is for the exporter to report.
            with suppress(OSError, ValueError, AttributeError):
                slot.file.flush()
