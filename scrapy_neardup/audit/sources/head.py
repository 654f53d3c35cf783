"""What the head of a page and its robots header say: its title and what it tells search engines.

Of two copies, one that may be indexed is kept.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import islice
from typing import NamedTuple
from urllib.parse import urljoin

from lxml import etree

from scrapy_neardup.extraction.decoding import decode_as_declared
from scrapy_neardup.extraction.parsing import parsed

from .records import MAX_URL, SILENT, Indexing

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD_BYTES, _TITLE = 1 << 17, 200
#: Links below it may be what readers have written.
_END = re.compile("</head|<body", re.IGNORECASE)
_TITLE_TAG = re.compile(r"<title\b[^<>]*>([^<]{0,2000})", re.IGNORECASE)
#: All search engines, and the one that pages are written for.
_AGENTS = ("robots", "googlebot")
_FORBIDDING = frozenset({"noindex", "none"})
#: Directives that have a value after a colon, where others have the name of the search engine before one.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
#: Links of one page, and versions of it, that are looked at.
_MOST = 200


class Head(NamedTuple):
    """What is of interest in the head of a page."""

    #: Its title; "" if it has none.
    title: str
    #: What it tells search engines.
    indexing: Indexing


def read_head(body: bytes, content_type: str | None, url: str) -> Head:
    """Read the head of the page at *url*."""
    # The charset of a page that does not declare one takes long to guess, and URLs are ASCII.
    _, text = decode_as_declared(body[:_HEAD_BYTES], content_type, lambda _: "utf-8")
    text = _END.split(text, maxsplit=1)[0]
    found = _TITLE_TAG.search(text)
    title = " ".join(unescape(found[1]).split())[:_TITLE] if found else ""
    try:
        return Head(title, _head_indexing(text, url))
    except etree.LxmlError:  # of what no browser would make sense of
        return Head(title, SILENT)


def canonical_url(page: str, base: str = "") -> str | None:
    """Return the URL in ``<link rel=canonical>``, failing that in ``og:url``; None if the page has neither.

    *base* is the URL that the page was found at.
    """
    return _head_indexing(_END.split(page[: 2 * _HEAD_BYTES], maxsplit=1)[0], base).declared or None


def _head_indexing(head: str, url: str) -> Indexing:
    """Return what the *head* of the page at *url* says; ``og:url`` counts where no canonical URL is named."""
    tree = parsed(head)
    if tree is None:
        return SILENT
    found = islice(tree.iter("link"), _MOST)
    links = [(each.get("rel", ""), each.get("href", ""), each.get("hreflang", "")) for each in found]
    metas = [
        (each.get("name", ""), each.get("property"), each.get("content", "")) for each in tree.iter("meta")
    ]
    links += [("canonical", content, "") for _, shared, content in metas if shared == "og:url"][:_MOST]
    said = (content.lower().split(",") for name, _, content in metas if name.strip().lower() in _AGENTS)
    noindex = any(part.strip() in _FORBIDDING for parts in said for part in parts)
    declared, alternates = "", dict[str, str]()
    for rel, href, language in links:
        try:
            absolute = urljoin(url, href.strip()) if href.strip() else ""
        except ValueError:  # such as an address in brackets that is none
            continue
        if not absolute.startswith(("http://", "https://")) or len(absolute) > MAX_URL:
            continue
        if "canonical" in rel.lower().split():
            declared = declared or absolute
        elif "alternate" in rel.lower().split() and language.strip():
            alternates.setdefault(language.strip().lower(), absolute)
    return Indexing(noindex, declared, tuple(alternates.items()))


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
