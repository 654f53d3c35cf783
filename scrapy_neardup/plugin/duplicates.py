"""The exceptions that stand for a page or an item that the policy drops as a duplicate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_neardup.surrogates import escaped

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict


def describe(verdict: Verdict) -> str:
    """Return a few words that say what a document is a copy of, for log lines and messages.

    >>> from scrapy_neardup.verdict import Verdict
    >>> describe(Verdict("near", url="https://a.example/1", distance=2, similarity=0.97))
    'a near-duplicate of <https://a.example/1> (distance 2, similarity 0.97)'
    """
    kind = {"exact": "an exact copy", "revisit": "an unchanged revisit"}.get(verdict.kind, "a near-duplicate")
    found = []
    if verdict.distance is not None:
        found.append(f"distance {verdict.distance}")
    if verdict.similarity is not None:
        found.append(f"similarity {verdict.similarity:.2f}")
    return f"{kind} of <{verdict.url}> ({', '.join(found)})" if found else f"{kind} of <{verdict.url}>"


class NearDuplicatePage(IgnoreRequest):
    """The page repeats another one, or is an unchanged revisit, and the policy for that is ``drop_page``.

    The request's errback is called with this exception. ``response`` is the page that is dropped; ``verdict``
    says which page it repeats.
    """

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(escaped(f"{response.url} is {describe(verdict)}"))
        self.response = response
        self.verdict = verdict


class NearDuplicateItem(DropItem):
    """The item is dropped: its text repeats that of another item, or its page repeats another page.

    Pipelines after `NearDupPipeline` and listeners to Scrapy's signal ``item_dropped`` meet this exception.
    ``verdict`` says what is repeated. ``page`` is the response if the page is the duplicate, and None if the
    item itself is.
    """

    def __init__(self, item: Any, url: str, verdict: Verdict, page: Response | None = None) -> None:
        # At the default level Scrapy would print each dropped item in full as a warning.
        super().__init__(escaped(f"{url} is {describe(verdict)}"), log_level="DEBUG")
        self.item = item
        self.verdict = verdict
        self.page = page
