"""Asks the index about documents, and waits where the answer depends on another document in progress."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .eventloop import wait_done

if TYPE_CHECKING:
    from scrapy_neardup.detector import Detector
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.matching.matcher import Preference
    from scrapy_neardup.verdict import Verdict

    from .events import EventReporter
    from .settlement import ReservationTracker


@dataclass(frozen=True, slots=True)
class Document:
    """A page or an item, as the index is asked about it."""

    signature: Signature
    url: str
    #: The part of the index that the document is compared with.
    scope: str
    #: Whether this is an item and no page.
    is_item: bool = False
    #: Whether the page yields an item. Then it takes the place of an equal page that has stored none.
    has_items: bool = False
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
        drops_revisits: bool = False,
    ) -> None:
        self.detector = detector
        self.reservations = reservations
        self.reporter = reporter
        #: How long a document waits for others before it passes unjudged.
        self.timeout_seconds = timeout_seconds
        #: Whether unchanged revisits of pages may be dropped, so that they wait as duplicates do.
        self.drops_revisits = drops_revisits

    def reserve(self, document: Document) -> Verdict | None:
        """Return the verdict of now, with a reservation if the document is new; None if the index failed."""
        verdict = None
        with self.reporter.fails_open("reserve", document.url):
            verdict = self.detector.reserve(
                document.signature,
                document.url,
                scope=document.scope,
                has_items=document.has_items,
                keep_fragment=True,
                preference=document.preference,
            )
            if verdict.reservation is not None:
                self.reservations.hold(verdict.reservation, "item/" if document.is_item else "")
        return verdict

    def depends(self, document: Document, verdict: Verdict) -> bool:
        """Whether what becomes of *document* depends on another one that is in progress."""
        may_be_dropped = verdict.is_duplicate or (
            verdict.unchanged and self.drops_revisits and not document.is_item
        )
        return may_be_dropped and verdict.pending is not None

    async def resolve(self, document: Document, verdict: Verdict | None) -> Verdict | None:
        """Return the final verdict, given the verdict of now.

        Returns None if the index failed, or if other documents were not settled within the time-out.
        """
        deadline = time.monotonic() + self.timeout_seconds
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
            verdict = self.reserve(document)
        return verdict
