"""What is raised for a duplicate that the policy drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem, IgnoreRequest

from scrapy_neardup.surrogates import escaped

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict


def describe(verdict: Verdict) -> str:
    """Say in a few words what a document is a copy of.

    >>> from scrapy_neardup.verdict import Verdict
    >>> describe(Verdict("near", url="https://a.example/1", distance=2, similarity=0.97))
    'a near-duplicate of <https://a.example/1> (distance 2, similarity 0.97)'
    """
    kind = "an exact copy" if verdict.kind == "exact" else "a near-duplicate"
    found = []
    if verdict.distance is not None:
        found.append(f"distance {verdict.distance}")
    if verdict.similarity is not None:
        found.append(f"similarity {verdict.similarity:.2f}")
    return f"{kind} of <{verdict.url}> ({', '.join(found)})" if found else f"{kind} of <{verdict.url}>"


class NearDuplicatePage(IgnoreRequest):
    """The page repeats another one and the policy is ``drop_page``. The request's errback gets it."""

    def __init__(self, response: Response, verdict: Verdict) -> None:
        super().__init__(escaped(f"{response.url} is {describe(verdict)}"))
        self.response = response
        self.verdict = verdict


class NearDuplicateItem(DropItem):
    """The item repeats another one and the policy is to drop: by its own text, or because its *page* is a copy."""

    def __init__(self, item: Any, url: str, verdict: Verdict, page: Response | None = None) -> None:
        # At the default level Scrapy would print each dropped item in full as a warning.
        super().__init__(escaped(f"{url} is {describe(verdict)}"), log_level="DEBUG")
        self.item = item
        self.verdict = verdict
        self.page = page
