"""Two URLs of one page that differ in spelling only: slash, case, www, scheme and the like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable

    from .urls import Url

_INDEX = re.compile(r"/(?:index|default|home)\.[a-z]{2,5}$", re.IGNORECASE)
_EXTENSION = re.compile(r"\.(?:html?|php|aspx?|jsp)$", re.IGNORECASE)
_OTHER_VERSION = re.compile(r"/(?:amp|print|printable|mobile)(?=/|$)", re.IGNORECASE)

#: Each spelling by its name, and how to undo it; in this order.
SPELLINGS: dict[str, Callable[[Url], Url]] = {
    "http and https": lambda url: url._replace(scheme=url.scheme.replace("https", "http")),
    "with and without www.": lambda url: url._replace(host=url.host.removeprefix("www.")),
    "mobile host (m., mobile., amp.)": lambda url: url._replace(
        host=re.sub(r"^(?:www\.)?(?:m|mobile|amp)\.(?=.*\.)", "", url.host)
    ),
    "double slashes": lambda url: url._replace(path=re.sub("/{2,}", "/", url.path)),
    "percent-encoding": lambda url: url._replace(path=unquote(url.path, errors="replace")),
    "letter case": lambda url: url._replace(path=url.path.lower()),
    "index file (/index.html)": lambda url: url._replace(path=_INDEX.sub("/", url.path)),
    "AMP, print or mobile version": lambda url: url._replace(path=_OTHER_VERSION.sub("", url.path) or "/"),
    "trailing slash": lambda url: url._replace(path=url.path.rstrip("/") or "/"),
    "file extension (.html)": lambda url: url._replace(path=_EXTENSION.sub("", url.path)),
    "order of parameters": lambda url: url._replace(query=tuple(sorted(url.query))),
}
SAME_URL = "the same URL twice"


def spelling_differences(a: Url, b: Url) -> list[str]:
    """Return the names of the spellings that *a* and *b* differ in; [] if they differ in more than that."""
    if a == b:
        return [SAME_URL]
    if _undo(a) != _undo(b):
        return []
    return [name for name in SPELLINGS if _undo(a, name) != _undo(b, name)]


def _undo(url: Url, but: str = "") -> Url:
    for name, undo in SPELLINGS.items():
        if name != but:
            url = undo(url)
    return url
