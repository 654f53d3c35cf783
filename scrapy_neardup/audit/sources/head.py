"""What the head of a page, or its HTTP headers, say: its title and what it tells search engines.

That is whether it may be indexed, which URL it names as canonical, and where its versions for other languages
are. Of two copies, one that may be indexed is kept.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

import regex
from lxml import etree

from scrapy_neardup.extraction.decoding import decode_as_declared
from scrapy_neardup.extraction.parsing import parsed

from .records import MAX_URL, SILENT, Indexing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lxml.etree import _Element

#: Bytes of a page in which its head is looked for, and characters kept of a title.
_HEAD_BYTES, _TITLE = 1 << 17, 200
#: Characters of a page in which its head is looked for.
_HEAD_CHARACTERS = 1 << 18
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
#: One link of a ``Link`` header (RFC 8288), and a parameter of one.
_LINK = regex.compile(
    r"<([^<>]*+)>((?:\s*+;\s*+[\w*-]++\s*+(?:=\s*+(?:\"[^\"]*+\"|[^\s\",;]*+))?+)*+)", regex.V1
)
_PARAMETER = regex.compile(r";\s*+([\w*-]++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|([^\s\",;]*+)))?+", regex.V1)


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


def headers_indexing(headers: Mapping[str, str], url: str) -> Indexing:
    """Return what the HTTP *headers* (names in lower case) of the page at *url* say."""
    links = []
    for found, _ in zip(_LINK.finditer(headers.get("link", "")), range(_MOST), strict=False):
        parameters = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(found[2])}
        links.append((parameters.get("rel", ""), found[1], parameters.get("hreflang", "")))
    return _of_links(links, url, noindex=header_forbids(headers.get("x-robots-tag", "")))


def head_indexing(tree: _Element, url: str) -> Indexing:
    """Return what the parsed head of the page at *url* says.

    ``og:url`` counts where no canonical URL is named.
    """
    found = zip(tree.iter("link"), range(_MOST), strict=False)
    links = [(each.get("rel", ""), each.get("href", ""), each.get("hreflang", "")) for each, _ in found]
    shared = (meta.get("content", "") for meta in tree.iter("meta") if meta.get("property") == "og:url")
    links += [("canonical", each, "") for each, _ in zip(shared, range(_MOST), strict=False)]
    return _of_links(links, url, noindex=head_forbids(tree))


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


def head_forbids(tree: _Element) -> bool:
    """Tell whether a ``<meta name=robots>`` in the head of a page forbids indexing."""
    return any(
        meta.get("name", "").strip().lower() in _AGENTS
        and not _FORBIDDING.isdisjoint(part.strip() for part in meta.get("content", "").lower().split(","))
        for meta in tree.iter("meta")
    )


def _of_links(links: Iterable[tuple[str, str, str]], base: str, *, noindex: bool) -> Indexing:
    """Return what *links* say: ``rel``, URL and ``hreflang`` each; *base* makes URLs absolute."""
    declared, alternates = "", dict[str, str]()
    for rel, href, language in links:
        try:
            url = urljoin(base, href.strip()) if href.strip() else ""
        except ValueError:  # such as an address in brackets that is none
            continue
        if not url.startswith(("http://", "https://")) or len(url) > MAX_URL:
            continue
        if "canonical" in rel.lower().split():
            declared = declared or url
        elif "alternate" in rel.lower().split() and language.strip():
            alternates.setdefault(language.strip().lower(), url)
    return Indexing(noindex, declared, tuple(alternates.items()))
