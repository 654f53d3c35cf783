"""What a verdict leaves: marks on responses and items, and the exceptions by which copies are dropped."""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import Response

from scrapy_neardup.arguments import escaped
from scrapy_neardup.matching.items import fields_of
from scrapy_neardup.verdict import Verdict

#: Key of ``response.meta``, and field of items, with what a duplicate repeats, see `match_of`.
MATCH_KEY = "neardup_match"
#: Keys of ``response.meta``: the kind of the verdict; if a revisit has changed; what the page is better than.
VERDICT_KEY, REVISIT_KEY, BETTER_KEY = "neardup_verdict", "neardup_revisit", "neardup_better_than"
#: Key of ``response.meta`` with which paragraphs are new, under NEARDUP_CHANGES.
CHANGED_KEY = "neardup_changed"
#: Flag in ``response.flags`` of a duplicate.
FLAG = "neardup"


def match_of(verdict: Verdict, policy: str) -> dict[str, Any]:
    """Return the value of ``neardup_match``: a small dict that can be pickled, and exported as UTF-8."""
    return {
        "url": None if verdict.url is None else escaped(verdict.url),
        "kind": verdict.kind,
        "distance": verdict.distance,
        "similarity": verdict.similarity,
        "policy": policy,
    }


def put(item: Any, field: str, value: Any) -> bool:
    """Set a field of *item*; return False if it has none of that name, is frozen, or takes no such value."""
    fields = fields_of(item)
    try:
        if fields is not None:
            fields[field] = value
    except (KeyError, AttributeError, TypeError, ValueError):
        return False
    return fields is not None


def clear_marks(request: Request, response: Response | None = None) -> None:
    """Remove the marks of an earlier page, which redirects, retries and callbacks copy with its meta."""
    meta = request.meta
    for key in (VERDICT_KEY, MATCH_KEY, REVISIT_KEY, BETTER_KEY, CHANGED_KEY):
        meta.pop(key, None)
    if response is not None and FLAG in response.flags:
        response.flags.remove(FLAG)


def policy_of(action: str) -> str:
    """Return the policy that an action carries out; ``keep`` if nothing was done."""
    return "keep" if action == "passed" else action


def mark(response: Response, verdict: Verdict, action: str) -> None:
    """Mark *response*, in its meta and flags, with its verdict and with what it repeats."""
    response.meta[VERDICT_KEY] = verdict.kind
    match = match_of(verdict, policy_of(action))
    if verdict.is_duplicate:
        response.meta[MATCH_KEY] = match
        if FLAG not in response.flags:
            response.flags.append(FLAG)
    elif verdict.kind == "revisit":
        response.meta[REVISIT_KEY] = {**match, "changed": not verdict.unchanged}
    elif verdict.kind == "preferred":
        response.meta[BETTER_KEY] = match


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
