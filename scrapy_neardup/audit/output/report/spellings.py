"""Two URLs of one page that differ in spelling only: slash, case, www, scheme and the like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_neardup.audit.urls import Url

_MOBILE = re.compile(r"^(?:www\.)?(?:m|mobile|amp)\.(?=.*\.)")
_SLASHES = re.compile("/{2,}")
_INDEX = re.compile(r"/(?:index|default|home)\.[a-z]{2,5}$", re.IGNORECASE)
_EXTENSION = re.compile(r"\.(?:html?|php|aspx?|jsp)$", re.IGNORECASE)
_OTHER_VERSION = re.compile(r"/(?:amp|print|printable|mobile)(?=/|$)", re.IGNORECASE)

#: Each spelling by its name: the part of a URL that it is in, and how to undo it there; in this order.
SPELLINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "http and https": ("scheme", lambda scheme: scheme.replace("https", "http")),
    "with and without www.": ("host", lambda host: host.removeprefix("www.")),
    "mobile host (m., mobile., amp.)": ("host", lambda host: _MOBILE.sub("", host)),
    "double slashes": ("path", lambda path: _SLASHES.sub("/", path)),
    "percent-encoding": ("path", lambda path: unquote(path, errors="replace")),
    "letter case": ("path", str.lower),
    "index file (/index.html)": ("path", lambda path: _INDEX.sub("/", path)),
    "AMP, print or mobile version": ("path", lambda path: _OTHER_VERSION.sub("", path) or "/"),
    "trailing slash": ("path", lambda path: path.rstrip("/") or "/"),
    "file extension (.html)": ("path", lambda path: _EXTENSION.sub("", path)),
    "order of parameters": ("query", lambda query: tuple(sorted(query))),
}
SAME_URL = "the same URL twice"
#: The parts of a URL, those whose spelling is undone soonest first.
_PARTS = ("scheme", "query", "host", "path")


def spelling_differences(a: Url, b: Url) -> list[str]:
    """Return the names of the spellings that *a* and *b* differ in; [] if they differ in more than that."""
    differ = {part: pair for part in _PARTS if (pair := (getattr(a, part), getattr(b, part)))[0] != pair[1]}
    if not differ:
        return [SAME_URL]
    if any(_undo(part, one) != _undo(part, other) for part, (one, other) in differ.items()):
        return []
    return [
        name
        for name, (part, _) in SPELLINGS.items()
        if part in differ and _undo(part, differ[part][0], name) != _undo(part, differ[part][1], name)
    ]


def _undo(part: str, value: Any, but: str = "") -> Any:
    for name, (where, undo) in SPELLINGS.items():
        if where == part and name != but:
            value = undo(value)
    return value
