"""The marks that a verdict leaves on a response or an item, for the callback and the pipelines to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_neardup.surrogates import escaped

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

    from .settings import Policy

#: Key of ``response.meta`` with the kind of the verdict, such as ``unique``.
VERDICT_KEY = "neardup_verdict"
#: Key of ``response.meta`` with what a duplicate repeats, see `match_of`; also a field of items.
MATCH_KEY = "neardup_match"
#: Flag in ``response.flags`` of a duplicate.
FLAG = "neardup"


def match_of(verdict: Verdict, policy: Policy) -> dict[str, Any]:
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


def clear_marks(request: Request, response: Response | None = None) -> None:
    """Remove the marks of an earlier page, which redirects, retries and callbacks copy with its meta."""
    request.meta.pop(MATCH_KEY, None)
    request.meta.pop(VERDICT_KEY, None)
    if response is not None and FLAG in response.flags:
        response.flags.remove(FLAG)
