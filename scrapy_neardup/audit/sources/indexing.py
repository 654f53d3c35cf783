"""What a page tells search engines, in its head or in its HTTP headers.

That is whether it may be indexed, which URL it names as canonical, and where its versions for other languages
are. Of two copies, one that may be indexed is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin

import regex

from .limits import MAX_URL
from .records import Indexing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lxml.etree import _Element

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
    for rel, url, language in _absolute(links, base):
        if "canonical" in rel:
            declared = declared or url
        elif "alternate" in rel and language:
            alternates.setdefault(language, url)
    return Indexing(noindex, declared, tuple(alternates.items()))


def _absolute(links: Iterable[tuple[str, str, str]], base: str) -> Iterator[tuple[list[str], str, str]]:
    for rel, href, language in links:
        if not href.strip():
            continue
        try:
            url = urljoin(base, href.strip())
        except ValueError:  # such as an address in brackets that is none
            continue
        if url.startswith(("http://", "https://")) and len(url) <= MAX_URL:
            yield rel.lower().split(), url, language.strip().lower()
