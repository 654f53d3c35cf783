"""A page between the spider middleware's verdict on it and the end of its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_neardup.surrogates import escaped

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.index.reservation import Reservation
    from scrapy_neardup.verdict import Verdict

    from .settings import Policy


@dataclass(eq=False)
class Visit:
    """What is known of a page so far, and whether its reservation may be settled."""

    policy: Policy
    scope: str
    signature: Signature | None = None
    reservation: Reservation | None = None
    #: The verdict that makes it a duplicate.
    match: Verdict | None = None
    #: It is to be settled when Scrapy is done with it.
    watched: bool = False
    #: Signal handlers that are still busy with that.
    handlers: list[Awaitable[object]] = field(default_factory=list)
    #: The callback's output came to its end.
    completed: bool = False
    #: Items that the callback yielded, whatever became of them in other spider middlewares.
    made: int = 0
    #: Iterations of the page's output that have begun, and those of them that have not ended.
    begun: int = 0
    running: int = 0
    #: Items that left this spider middleware: yielded, stored, dropped by a pipeline.
    yielded: int = 0
    stored: int = 0
    dropped: int = 0
    #: The callback or an item failed.
    failed: bool = False
    #: The items themselves while the item pipeline may ask for their URL.
    items: list[Any] = field(default_factory=list)

    @property
    def is_stored(self) -> bool:
        """Whether, at the end, the page counts as stored: it had no items, or at least one of them is stored.

        No item may have vanished on its way, and the callback has been called and has come to its end.
        """
        ended = self.completed and not self.failed and self.running == 0
        arrived = self.stored + self.dropped >= self.yielded
        return ended and arrived and (self.stored > 0 or self.made == self.yielded == 0)

    @property
    def spares_items(self) -> bool:
        """Whether its items may pass although the policy is to drop them: its match has stored none."""
        return self.policy == "drop_items" and self.match is not None and self.match.weak


def match_of(verdict: Verdict, policy: Policy) -> dict[str, Any]:
    """Return what ``response.meta["neardup_match"]`` says: small, and safe to pickle and to export as UTF-8."""
    return {
        "url": None if verdict.url is None else escaped(verdict.url),
        "kind": verdict.kind,
        "distance": verdict.distance,
        "similarity": verdict.similarity,
        "policy": policy,
    }
