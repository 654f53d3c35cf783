"""Export first, fingerprint second: when a reservation is confirmed, and when it is released."""

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

    from .events import Journal

#: Seconds between two looks which pages Scrapy is done with.
_INTERVAL = 0.05


class Settler:
    """Holds the reservations that this crawl has made and not settled, each with the prefix of its stats."""

    def __init__(self, crawler: Crawler, journal: Journal) -> None:
        self.crawler = crawler
        self.journal = journal
        self._open: dict[Reservation, str] = {}
        #: Those to be confirmed, and whether as weak ones.
        self._stored: dict[Reservation, bool] = {}
        #: What to do when Scrapy is done with a request, and with which.
        self._waiting: dict[Callable[[], None], Request] = {}

    def hold(self, reservation: Reservation, prefix: str = "") -> None:
        """Take charge of *reservation* until it is settled."""
        self._open[reservation] = prefix

    def confirm(self, reservation: Reservation, *, weak: bool = False) -> None:
        """Confirm, because its output is stored, once all who listen to ``item_scraped`` have been told.

        A *weak* one had no output that is stored.

        Handlers of one signal run in no defined order: in this turn of the loop the feed may still lack the item.
        """
        if reservation not in self._open:
            return
        if not self._stored:
            call_later(0, self._confirm_stored)
        self._stored[reservation] = weak

    def release(self, reservation: Reservation) -> None:
        """Release at once: its output is not stored."""
        self._settle(reservation, confirmed=False)

    def when_over(self, request: Request, function: Callable[[], None]) -> None:
        """Call *function*, which must not raise, when Scrapy is done with the response to *request*.

        All its items have then met their fate. Nothing else tells so: one may vanish in a spider middleware nearer
        to the engine than ours, or become several there, and a page's output may never be asked for. Scrapy sends no
        signal for it, but keeps account of what it works on.
        """
        if not self._waiting:
            call_later(_INTERVAL, self._look)
        self._waiting[function] = request

    def close(self) -> None:
        """Confirm what is stored, release what is not."""
        waiting, self._waiting = self._waiting, {}
        for function in waiting:
            function()
        self._confirm_stored()
        for reservation in list(self._open):
            self.release(reservation)

    def _look(self) -> None:
        with self.journal.fails_open("settle", "pages that are over"):
            slot = self.crawler.engine.scraper.slot
            for function, request in list(self._waiting.items()):
                if slot is None or request not in slot.active:
                    del self._waiting[function]
                    function()
            if self._waiting:
                call_later(_INTERVAL, self._look)

    def _confirm_stored(self) -> None:
        stored, self._stored = self._stored, {}
        if stored:
            with self.journal.fails_open("flush", "the feeds"):
                self._flush_feeds()
        for reservation, weak in stored.items():
            self._settle(reservation, confirmed=True, weak=weak)

    def _settle(self, reservation: Reservation, *, confirmed: bool, weak: bool = False) -> None:
        prefix = self._open.pop(reservation, None)
        if prefix is None:
            return
        with self.journal.fails_open("settle", reservation.url):
            if confirmed:
                reservation.confirm(weak=weak)
            else:
                reservation.release()
            self.journal.count(prefix + ("confirmed" if confirmed else "released"))

    def _flush_feeds(self) -> None:
        """Hand the exported items to the operating system, so that they outlive a kill of this process."""
        exporter = self.crawler.get_extension(FeedExporter)
        for slot in exporter.slots if exporter is not None else ():
            if slot.file is not None:
                # Closed or remote files have nothing to flush; a full disk is for the exporter to report.
                with suppress(OSError, ValueError, AttributeError):
                    slot.file.flush()
