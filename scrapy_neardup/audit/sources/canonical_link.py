"""What a page says is its own URL."""

from __future__ import annotations

from urllib.parse import urljoin

from lxml import etree, html

#: Characters of a page in which its head is looked for.
_HEAD = 1 << 18
_PATHS = (
    "//link[contains(concat(' ', normalize-space(translate(@rel, 'CANOIL', 'canoil')), ' '), ' canonical ')]/@href",
    "//meta[@property='og:url']/@content",
)


def canonical_url(page: str, base: str = "") -> str | None:
    """Return the URL in ``<link rel=canonical>``, failing that in ``og:url``; None if the page has neither.

    *base* is the URL that the page was found at.
    """
    tree = parse_head(page)
    return None if tree is None else declared_url(tree, base)


def parse_head(page: str) -> html.HtmlElement | None:
    """Parse the head of a page; None for an empty page, or one that declares an encoding."""
    start = page[:_HEAD]
    end = start.lower().find("</head")
    try:
        return html.fromstring(start[: end if end >= 0 else None])
    except (etree.ParserError, ValueError):
        return None


def declared_url(tree: html.HtmlElement, base: str) -> str | None:
    """Return what `canonical_url` does of a page that is parsed."""
    for path in _PATHS:
        for value in tree.xpath(path):
            try:
                url = urljoin(base, str(value).strip())
            except ValueError:
                continue
            if url.startswith(("http://", "https://")):
                return url
    return None
