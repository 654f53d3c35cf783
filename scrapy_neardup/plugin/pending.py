"""Asks the index about documents, and waits where the answer depends on another document in progress."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_neardup.errors import IndexUnavailable

from .eventloop import wait_done

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy_neardup.detector import Detector
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.matching.decision import Preference
    from scrapy_neardup.verdict import Verdict

    from .events import EventReporter
    from .settlement import ReservationTracker


#: Documents that an index on another machine is asked about at a time; others wait for their turn.
ASKED_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Document:
    """A page or an item, as the index is asked about it."""

    signature: Signature
    url: str
    #: The part of the index that the document is compared with.
    scope: str
    #: Whether this is an item and no page.
    is_item: bool = False
    #: URLs and notes of documents that it is stored beside although it may repeat them: its items differ.
    beside: frozenset[tuple[str, bytes]] = frozenset()
    #: Says which near-duplicates this page is better than; None if it is better than none.
    preference: Preference | None = None


class PendingResolver:
    """Reserves documents, and resolves verdicts that are not final.

    A document that repeats one in progress can be judged only when the other one is stored or lost. If the
    other one is stored, the document is a duplicate. If it is lost, the index is asked again: the document
    may be the first of its kind now, or repeat a third one.
    """

    def __init__(
        self,
        detector: Detector,
        reservations: ReservationTracker,
        reporter: EventReporter,
        timeout_seconds: float,
        *,
        drops_revisits: bool,
    ) -> None:
        self.detector = detector
        self.reservations = reservations
        self.reporter = reporter
        #: How long a document waits for others before it passes unjudged.
        self.timeout_seconds = timeout_seconds
        #: Whether unchanged revisits of pages may be dropped, so that they wait as duplicates do.
        self.drops_revisits = drops_revisits
        #: Whether the index is on another machine, so that the event loop must not ask it.
        self.remote = detector.index.remote
        self._threads = ThreadPoolExecutor(ASKED_AT_ONCE, "neardup-index") if self.remote else None

    def reserve(self, document: Document) -> Verdict | None:
        """Return the verdict of now, with a reservation if the document is new; None if the index failed."""
        verdict = None
        with self.reporter.fails_open("reserve", document.url):
            verdict = self._judged(document)
            self._hold(document, verdict)
        return verdict

    def deadline(self) -> float:
        """Return until when a document that is asked about now waits, by the monotonic clock."""
        return time.monotonic() + self.timeout_seconds

    async def settle(self, document: Document) -> Verdict | None:
        """Return the final verdict; None if the index failed, or if there is none within the time-out."""
        deadline = self.deadline()
        return await self.resolve(document, await self.ask(document, deadline), deadline)

    async def ask(self, document: Document, deadline: float) -> Verdict | None:
        """Do what `reserve` does, but ask an index on another machine in a thread, until the *deadline*."""
        if self._threads is None:
            return self.reserve(document)
        verdict = None
        with self.reporter.fails_open("reserve", document.url):
            future = self._threads.submit(self._judged, document)
            if not await wait_done(future.add_done_callback, deadline - time.monotonic()):
                if not future.cancel():
                    future.add_done_callback(_release)
                self.reporter.failed("reserve", f"no answer of the index for {document.url}", trace=False)
                return None
            try:
                verdict = future.result()
            except IndexUnavailable:  # the index has logged it, once for all pages
                self.reporter.count("error/reserve")
                return None
            self._hold(document, verdict)
        return verdict

    def close(self) -> None:
        """Ask nothing any more."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def depends(self, document: Document, verdict: Verdict) -> bool:
        """Whether what becomes of *document* depends on another one that is in progress."""
        may_be_dropped = verdict.is_duplicate or (
            verdict.unchanged and self.drops_revisits and not document.is_item
        )
        return may_be_dropped and verdict.pending is not None

    async def resolve(self, document: Document, verdict: Verdict | None, deadline: float) -> Verdict | None:
        """Return the final verdict, given the verdict of now.

        Returns None if the index failed, or if other documents were not settled by the *deadline*.
        """
        while verdict is not None and self.depends(document, verdict):
            pending = verdict.pending
            assert pending is not None
            if not await wait_done(pending.add_done_callback, deadline - time.monotonic()):
                message = f"waited {self.timeout_seconds:.0f} seconds for {pending.url} to be stored"
                self.reporter.failed(
                    "item_pending_timeout" if document.is_item else "pending_timeout",
                    f"{document.url} {message}",
                    trace=False,
                )
                return None
            verdict = await self.ask(document, deadline)
        return verdict

    def _judged(self, document: Document) -> Verdict:
        return self.detector.reserve(
            document.signature,
            document.url,
            scope=document.scope,
            beside=document.beside,
            keep_fragment=True,
            preference=document.preference,
        )

    def _hold(self, document: Document, verdict: Verdict) -> None:
        if verdict.reservation is not None:
            self.reservations.hold(verdict.reservation, "item/" if document.is_item else "")


def _release(future: Future[Verdict]) -> None:
    """Release what nobody waits for any more."""
    if not future.cancelled() and future.exception() is None:
        reservation = future.result().reservation
        if reservation is not None:
            reservation.release()
