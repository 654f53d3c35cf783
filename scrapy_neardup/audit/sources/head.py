"""What the head of a page says: its title, which URL it names as its own, whether it may be indexed."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple
from urllib.parse import urljoin

from lxml import etree, html
from w3lib.encoding import html_to_unicode

from .robots import head_forbids

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD_BYTES, _TITLE = 1 << 17, 200
#: Characters of a page in which its head is looked for.
_HEAD_CHARACTERS = 1 << 18
#: Where a page names its canonical URL; ``rel`` may have other words, too, in any case.
_REL = "concat(' ', normalize-space(translate(@rel, 'CANOIL', 'canoil')), ' ')"
_PATHS = (f"//link[contains({_REL}, ' canonical ')]/@href", "//meta[@property='og:url']/@content")
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
    start = body[:_HEAD_BYTES]
    end = start.lower().find(b"</head")
    # The charset of a page that does not declare one takes long to guess, and URLs are ASCII.
    _, text = html_to_unicode(
        content_type, start[: end if end >= 0 else None], auto_detect_fun=lambda _: "utf-8"
    )
    found = _TITLE_TAG.search(text)
    title = " ".join(unescape(found[1]).split())[:_TITLE] if found else ""
    try:
        tree = _parse_head(text)
        if tree is None:
            return Head("", title, noindex=False)
        return Head(_declared_url(tree, url) or "", title, head_forbids(tree))
    except etree.LxmlError:  # of what no browser would make sense of
        return Head("", title, noindex=False)


def first_words(text: str) -> str:
    """Return what stands for the title of a text."""
    return " ".join(text[: 4 * _TITLE].split())[: _TITLE // 2]


def canonical_url(page: str, base: str = "") -> str | None:
    """Return the URL in ``<link rel=canonical>``, failing that in ``og:url``; None if the page has neither.

    *base* is the URL that the page was found at.
    """
    tree = _parse_head(page)
    return None if tree is None else _declared_url(tree, base)


def _parse_head(page: str) -> html.HtmlElement | None:
    """Parse the head of a page; None for an empty page, or one that declares an encoding."""
    start = page[:_HEAD_CHARACTERS]
    end = start.lower().find("</head")
    try:
        return html.fromstring(start[: end if end >= 0 else None])
    except (etree.ParserError, ValueError):
        return None


def _declared_url(tree: html.HtmlElement, base: str) -> str | None:
    """Return the canonical URL that a parsed head declares, see `canonical_url`; *base* makes it absolute."""
    for path in _PATHS:
        for value in tree.xpath(path):
            try:
                url = urljoin(base, str(value).strip())
            except ValueError:
                continue
            if url.startswith(("http://", "https://")):
                return url
    return None
