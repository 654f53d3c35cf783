"""What the head of a page says: its title and what it tells search engines."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree, html

from scrapy_neardup.extraction.decoding import decode_as_declared

from .indexing import head_indexing
from .records import SILENT

if TYPE_CHECKING:
    from .records import Indexing

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD_BYTES, _TITLE = 1 << 17, 200
#: Characters of a page in which its head is looked for.
_HEAD_CHARACTERS = 1 << 18
_TITLE_TAG = re.compile(r"<title\b[^<>]*>([^<]{0,2000})", re.IGNORECASE)


class Head(NamedTuple):
    """What is of interest in the head of a page."""

    #: Its title; "" if it has none.
    title: str
    #: What it tells search engines.
    indexing: Indexing


def read_head(body: bytes, content_type: str | None, url: str) -> Head:
    """Read the head of the page at *url*."""
    start = body[:_HEAD_BYTES]
    end = start.lower().find(b"</head")
    # The charset of a page that does not declare one takes long to guess, and URLs are ASCII.
    _, text = decode_as_declared(start[: end if end >= 0 else None], content_type, lambda _: "utf-8")
    found = _TITLE_TAG.search(text)
    title = " ".join(unescape(found[1]).split())[:_TITLE] if found else ""
    try:
        tree = _parse_head(text)
        return Head(title, SILENT if tree is None else head_indexing(tree, url))
    except etree.LxmlError:  # of what no browser would make sense of
        return Head(title, SILENT)


def canonical_url(page: str, base: str = "") -> str | None:
    """Return the URL in ``<link rel=canonical>``, failing that in ``og:url``; None if the page has neither.

    *base* is the URL that the page was found at.
    """
    tree = _parse_head(page)
    return None if tree is None else head_indexing(tree, base).declared or None


def _parse_head(page: str) -> html.HtmlElement | None:
    """Parse the head of a page; None for an empty page, or one that declares an encoding."""
    start = page[:_HEAD_CHARACTERS]
    end = start.lower().find("</head")
    try:
        return html.fromstring(start[: end if end >= 0 else None])
    except (etree.ParserError, ValueError):
        return None
