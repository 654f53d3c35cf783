"""Tells whether a page asks search engines not to index it.

Of two copies, the one without that wish is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

#: All search engines, and the one that pages are written for.
_AGENTS = ("robots", "googlebot")
_FORBIDDING = frozenset({"noindex", "none"})
#: Directives that have a value after a colon, where others have the name of the search engine before one.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def header_forbids(value: str) -> bool:
    """Tell whether the value of an ``X-Robots-Tag`` header forbids indexing.

    Examples are ``noindex, nofollow`` and ``googlebot: noindex``. A name holds for the directives that follow
    it. Several headers are joined by commas.
    """
    agent = _AGENTS[0]
    for part in value.lower().split(","):
        name, colon, directive = part.partition(":")
        if colon and name.strip() not in _VALUED:
            agent, part = name.strip(), directive
        if agent in _AGENTS and part.strip() in _FORBIDDING:
            return True
    return False


def head_forbids(tree: HtmlElement) -> bool:
    """Tell whether a ``<meta name=robots>`` in the head of a page forbids indexing."""
    return any(
        meta.get("name", "").strip().lower() in _AGENTS
        and not _FORBIDDING.isdisjoint(part.strip() for part in meta.get("content", "").lower().split(","))
        for meta in tree.iter("meta")
    )
