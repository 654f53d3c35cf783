"""What the head of a page says: its title, which URL it names as its own, whether it may be indexed."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from lxml import etree
from w3lib.encoding import html_to_unicode

from .canonical_link import declared_url, parse_head
from .robots import head_forbids

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD, _TITLE = 1 << 17, 200
_TITLE_TAG = re.compile(r"<title\b[^>]*>([^<]{0,2000})", re.IGNORECASE)


class Head(NamedTuple):
    """What is of interest in the head of a page."""

    #: The canonical URL that it declares, and its title; each is "" if it has none.
    declared: str
    title: str
    #: Whether it asks search engines not to index it.
    noindex: bool


def read_head(body: bytes, content_type: str | None, url: str) -> Head:
    """Read the head of the page at *url*."""
    start = body[:_HEAD]
    end = start.lower().find(b"</head")
    # The charset of a page that does not declare one takes long to guess, and URLs are ASCII.
    _, text = html_to_unicode(
        content_type, start[: end if end >= 0 else None], auto_detect_fun=lambda _: "utf-8"
    )
    found = _TITLE_TAG.search(text)
    title = " ".join(html.unescape(found[1]).split())[:_TITLE] if found else ""
    try:
        tree = parse_head(text)
        if tree is None:
            return Head("", title, noindex=False)
        return Head(declared_url(tree, url) or "", title, head_forbids(tree))
    except etree.LxmlError:  # of what no browser would make sense of
        return Head("", title, noindex=False)


def first_words(text: str) -> str:
    """Return what stands for the title of a text."""
    return " ".join(text[: 4 * _TITLE].split())[: _TITLE // 2]
