"""Which page a page names as its canonical version, and which pages of a crawl have named which."""

from __future__ import annotations

import re
from collections import OrderedDict
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from scrapy.http import Response

#: Bytes of a page in which the link is looked for.
_HEAD = 1 << 17
#: Bytes of all Link headers together in which it is looked for: a page may come with hundreds of long ones.
_HEADERS = 1 << 14
_END = re.compile(rb"</head|<body", re.IGNORECASE)
_LINK = re.compile(rb"<link\s([^<>]{1,2500})>", re.IGNORECASE)
_REL, _HREF = (
    re.compile(rf"""\b{name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>;]+))""", re.IGNORECASE)
    for name in ("rel", "href")
)
_HEADER = re.compile(r"""<([^<>]{1,2500})>([^<>,]{0,200})""")
#: How many pages are remembered: those that were met last.
REMEMBERED = 100_000


def declared_canonical(response: Response) -> str | None:
    """Return the canonical URL that a page declares in a link header or element, without its fragment."""
    header = b",".join(response.headers.getlist("Link"))[:_HEADERS].decode("latin-1")
    for target, parameters in _HEADER.findall(header):
        if "canonical" in _value(_REL, parameters).lower().split():
            return _absolute(response.url, target)
    # A link in the body may come from what readers have written.
    head = _END.split(response.body[:_HEAD], maxsplit=1)[0]
    for found in _LINK.finditer(head):
        tag = found[1].decode("utf-8", "replace")
        if "canonical" in _value(_REL, tag).lower().split():
            return _absolute(response.url, unescape(_value(_HREF, tag)))
    return None


def _value(attribute: re.Pattern[str], tag: str) -> str:
    found = attribute.search(tag)
    return next(filter(None, found.groups()), "") if found else ""


def _absolute(base: str, target: str) -> str | None:
    try:
        url = safe_url_string(urljoin(base, target.strip())).partition("#")[0]
    except ValueError:  # such as an unclosed bracket
        return None
    return url if target and url.startswith(("http://", "https://")) else None


class CanonicalMemory:
    """Remembers which canonical version each of the last *most* pages has named, if it was another page.

    URLs are kept as Python's hashes, which differ from process to process: no site can craft one that
    collides.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._named: OrderedDict[int, int] = OrderedDict()

    def note(self, url: str, canonical: str) -> None:
        """Remember that the page at *url* names *canonical*."""
        if url == canonical:
            return
        self._named[hash(url)] = hash(canonical)
        self._named.move_to_end(hash(url))
        if len(self._named) > self._most:
            self._named.popitem(last=False)

    def names(self, url: str, canonical: str) -> bool:
        """Whether the page at *url* has named *canonical*."""
        return self._named.get(hash(url)) == hash(canonical)
