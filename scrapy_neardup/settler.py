"""Export first, fingerprint second: when a reservation is confirmed, and when it is released."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .journal import Journal
    from .reservation import Reservation


class Settler:
    """Holds the reservations that this crawl has made and not settled, each with the prefix of its stats."""

    def __init__(self, crawler: Crawler, journal: Journal) -> None:
        self.crawler = crawler
        self.journal = journal
        self._open: dict[Reservation, str] = {}
        self._stored: list[Reservation] = []

    def hold(self, reservation: Reservation, prefix: str = "") -> None:
        """Take charge of *reservation* until it is settled."""
        self._open[reservation] = prefix

    def confirm(self, reservation: Reservation) -> None:
        """Confirm, because its output is stored, once all who listen to ``item_scraped`` have been told.

        Handlers of one signal run in no defined order: in this turn of the loop the feed may still lack the item.
        """
        if reservation not in self._open:
            return
        if not self._stored:
            call_later(0, self._confirm_stored)
        self._stored.append(reservation)

    def release(self, reservation: Reservation) -> None:
        """Release at once: its output is not stored."""
        self._settle(reservation, confirmed=False)

    def close(self) -> None:
        """Confirm what is stored, release what is not."""
        self._confirm_stored()
        for reservation in list(self._open):
            self.release(reservation)

    def _confirm_stored(self) -> None:
        stored, self._stored = self._stored, []
        if stored:
            with self.journal.fails_open("flush", "the feeds"):
                self._flush_feeds()
        for reservation in stored:
            self._settle(reservation, confirmed=True)

    def _settle(self, reservation: Reservation, confirmed: bool) -> None:
        prefix = self._open.pop(reservation, None)
        if prefix is None:
            return
        with self.journal.fails_open("settle", reservation.url):
            if confirmed:
                reservation.confirm()
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
