"""A page between the spider middleware's verdict on it and the end of its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .surrogates import escaped

if TYPE_CHECKING:
    from .reservation import Reservation
    from .settings import Policy
    from .verdict import Verdict


@dataclass(eq=False)
class Visit:
    """What is known of a page so far, and whether its reservation may be settled."""

    policy: Policy
    scope: str
    reservation: Reservation | None = None
    #: The verdict that makes it a duplicate.
    match: Verdict | None = None
    #: Iterations of its output that have begun and not ended.
    running: int = 0
    #: Its items: yielded, stored, dropped by a pipeline.
    yielded: int = 0
    stored: int = 0
    dropped: int = 0
    #: The callback or an item failed.
    failed: bool = False
    #: The items themselves while the item pipeline may ask for their URL.
    items: list[Any] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether all output is yielded and every item has met its fate."""
        return self.running == 0 and self.stored + self.dropped >= self.yielded

    @property
    def is_stored(self) -> bool:
        """Whether, at the end, the page counts as stored: it had no items, or at least one of them is stored."""
        return not self.failed and (self.stored > 0 or self.yielded == 0)


def match_of(verdict: Verdict, policy: Policy) -> dict[str, Any]:
    """Return what ``response.meta["neardup_match"]`` says: small, and safe to pickle and to export as UTF-8."""
    return {
        "url": None if verdict.url is None else escaped(verdict.url),
        "kind": verdict.kind,
        "distance": verdict.distance,
        "similarity": verdict.similarity,
        "policy": policy,
    }
