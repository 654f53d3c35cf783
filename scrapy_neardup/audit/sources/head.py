"""What the head of a page says: its title and what it tells search engines."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from scrapy_neardup.extraction.decoding import decode_as_declared, parsed

from .indexing import head_indexing
from .records import SILENT

if TYPE_CHECKING:
    from .records import Indexing

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD_BYTES, _TITLE = 1 << 17, 200
#: Characters of a page in which its head is looked for.
_HEAD_CHARACTERS = 1 << 18
#: Links below it may be what readers have written.
_END = re.compile("</head|<body", re.IGNORECASE)
_TITLE_TAG = re.compile(r"<title\b[^<>]*>([^<]{0,2000})", re.IGNORECASE)


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
        tree = parsed(text)
        return Head(title, SILENT if tree is None else head_indexing(tree, url))
    except etree.LxmlError:  # of what no browser would make sense of
        return Head(title, SILENT)


def canonical_url(page: str, base: str = "") -> str | None:
    """Return the URL in ``<link rel=canonical>``, failing that in ``og:url``; None if the page has neither.

    *base* is the URL that the page was found at.
    """
    tree = parsed(_END.split(page[:_HEAD_CHARACTERS], maxsplit=1)[0])
    return None if tree is None else head_indexing(tree, base).declared or None
