"""The exceptions by which copies are dropped."""

from __future__ import annotations

from typing import Any

from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import Response

from scrapy_neardup.arguments import escaped
from scrapy_neardup.verdict import Verdict


def describe(verdict: Verdict) -> str:
    """Return a few words that say what a document is a copy of, for log lines and messages."""
    kind = {"exact": "an exact copy", "revisit": "an unchanged revisit"}.get(verdict.kind, "a near-duplicate")
    found = []
    if verdict.distance is not None:
        found.append(f"distance {verdict.distance}")
    if verdict.similarity is not None:
        found.append(f"similarity {verdict.similarity:.2f}")
    return f"{kind} of <{verdict.url}>" + (f" ({', '.join(found)})" if found else "")


class NearDuplicatePage(IgnoreRequest):
    """The errback of a page that is dropped gets this: ``verdict`` says what ``response`` repeats."""

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(escaped(f"{response.url} is {describe(verdict)}"))
        self.response = response
        self.verdict = verdict


class NearDuplicateItem(DropItem):
    """Listeners to Scrapy's ``item_dropped`` meet this; ``page`` is the response if that is the duplicate."""

    def __init__(self, item: Any, url: str, verdict: Verdict, page: Response | None = None) -> None:
        # At the default level Scrapy would print each dropped item in full as a warning.
        super().__init__(escaped(f"{url} is {describe(verdict)}"), log_level="DEBUG")
        self.item = item
        self.verdict = verdict
        self.page = page
