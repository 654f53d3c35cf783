"""The marks that a verdict leaves on a response or an item, for the callback and the pipelines to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_neardup.surrogates import escaped

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

#: Key of ``response.meta`` with the kind of the verdict, such as ``unique``.
VERDICT_KEY = "neardup_verdict"
#: Key of ``response.meta``, and field of items, with what a duplicate repeats, see `match_of`.
MATCH_KEY = "neardup_match"
#: Key of ``response.meta`` with how much a revisit has changed, see `revisit_of`.
REVISIT_KEY = "neardup_revisit"
#: Key of ``response.meta`` with the page that a ``preferred`` one is a better version of, as in `match_of`.
BETTER_KEY = "neardup_better_than"
#: Flag in ``response.flags`` of a duplicate.
FLAG = "neardup"


def match_of(verdict: Verdict, policy: str) -> dict[str, Any]:
    """Return the value of ``neardup_match``: a small dict that can be pickled, and exported as UTF-8.

    ``distance`` is in bits, ``similarity`` from 0 to 1; either is None if it is not known.
    """
    return {
        "url": None if verdict.url is None else escaped(verdict.url),
        "kind": verdict.kind,
        "distance": verdict.distance,
        "similarity": verdict.similarity,
        "policy": policy,
    }


def revisit_of(verdict: Verdict, policy: str) -> dict[str, Any]:
    """Return the value of ``neardup_revisit``: as `match_of`, and whether the text has changed at all."""
    return {**match_of(verdict, policy), "changed": not verdict.unchanged}


def clear_marks(request: Request, response: Response | None = None) -> None:
    """Remove the marks of an earlier page, which redirects, retries and callbacks copy with its meta."""
    meta = request.meta
    for key in (VERDICT_KEY, MATCH_KEY, REVISIT_KEY, BETTER_KEY):
        meta.pop(key, None)
    if response is not None and FLAG in response.flags:
        response.flags.remove(FLAG)
