"""What the head of a page says: its title, and which URL it names as its own."""

from __future__ import annotations

import html
import re

from lxml import etree
from w3lib.encoding import html_to_unicode

from .canonicallink import canonical_url

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD, _TITLE = 1 << 17, 200
_TITLE_TAG = re.compile(r"<title\b[^>]*>([^<]{0,2000})", re.IGNORECASE)


def read_head(body: bytes, content_type: str | None, url: str) -> tuple[str, str]:
    """Return the canonical URL that a page declares and its title; each is "" if it has none."""
    start = body[:_HEAD]
    end = start.lower().find(b"</head")
    # The charset of a page that does not declare one takes long to guess, and URLs are ASCII.
    _, text = html_to_unicode(
        content_type, start[: end if end >= 0 else None], auto_detect_fun=lambda _: "utf-8"
    )
    found = _TITLE_TAG.search(text)
    title = " ".join(html.unescape(found[1]).split())[:_TITLE] if found else ""
    try:
        return canonical_url(text, url) or "", title
    except etree.LxmlError:  # of what no browser would make sense of
        return "", title


def first_words(text: str) -> str:
    """Return what stands for the title of a text."""
    return " ".join(text[: 4 * _TITLE].split())[: _TITLE // 2]
