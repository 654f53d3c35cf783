"""The reservations of a crawl: each is confirmed once its output is stored, or released if it is lost."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_neardup.index.reservation import Reservation

    from .events import EventReporter

#: Seconds between two looks at which pages Scrapy is done with.
_POLL_SECONDS = 0.05


class ReservationTracker:
    """Holds the reservations that this crawl has made, and settles each of them exactly once.

    A confirmed document outlives a kill of this process no sooner than the items that were exported for it:
    local feed files are flushed before a reservation is confirmed.
    """

    def __init__(self, crawler: Crawler, reporter: EventReporter) -> None:
        self.crawler = crawler
        self.reporter = reporter
        #: Reservations that are not settled, each with the prefix of the stats that count it.
        self._open: dict[Reservation, str] = {}
        #: Reservations that the next turn of the event loop confirms, and the note on the items of each.
        self._to_confirm: dict[Reservation, bytes] = {}
        #: Functions to call when Scrapy is done with a request, each with the request.
        self._waiting: dict[Callable[[], None], Request] = {}

    def hold(self, reservation: Reservation, stats_prefix: str = "") -> None:
        """Take charge of *reservation* until it is settled, at the latest when the crawl ends."""
        self._open[reservation] = stats_prefix

    def confirm(self, reservation: Reservation, *, note: bytes = b"") -> None:
        """Keep the document, because its output is stored, with the *note* on its items.

        This happens in the next turn of the event loop. Handlers of the signal ``item_scraped`` run in no
        defined order, so in this turn the feed may still lack the item.
        """
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

        By then each item of the page is stored or lost. Scrapy sends no signal for this, and counting items
        does not tell: a spider middleware nearer to the engine may drop items or make several of one, and may
        never ask for a page's output. So this looks, again and again, at the set of requests that Scrapy
        works on.
        """
        if not self._waiting:
            call_later(_POLL_SECONDS, self._call_done)
        self._waiting[function] = request

    def close(self) -> None:
        """Settle all reservations: confirm those whose output is stored, and release the others."""
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
                flush_feeds(self.crawler)
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
        stats_prefix = self._open.pop(reservation, None)
        if stats_prefix is None:
            return
        with self.reporter.fails_open("settle", reservation.url):
            if confirmed:
                reservation.confirm(note=note)
            else:
                reservation.release()
            self.reporter.count(stats_prefix + ("confirmed" if confirmed else "released"))


def flush_feeds(crawler: Crawler) -> None:
    """Hand the exported items to the operating system, so that they outlive a kill of this process."""
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter is not None else ():
        if slot.file is not None:
            # Closed and remote files have nothing to flush, and a full disk is for the exporter to report.
            with suppress(OSError, ValueError, AttributeError):
                slot.file.flush()
