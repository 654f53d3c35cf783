"""Main text by Trafilatura."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex
import trafilatura

from . import sentences

if TYPE_CHECKING:
    from scrapy_neardup.fingerprint.main_text import MainText

#: The tags of what a form offers to choose from, and of scripts, which may write such tags.
_CHOICE = regex.compile(
    r"<(?P<end>/?+)(?P<name>select|datalist|script)(?=[\s/>])[^<>]*+>?+", regex.IGNORECASE | regex.V1
)


class Trafilatura:
    """The article, without the comments, as Trafilatura's own rules find it, and of that the `sentences`.

    Its fallbacks to other extractors (``fast=False``) take 10 ms more a page and let two copies of a text
    differ more often. Never with ``deduplicate``: its answers would depend on the pages that went before.
    """

    identity = f"trafilatura {trafilatura.__version__} fast without choices, {sentences.IDENTITY}"

    def __call__(self, html: str, url: str | None) -> MainText | None:
        return sentences.main_text(self.lines(html), html)

    def lines(self, html: str) -> str:
        """Return all that it finds."""
        return (
            trafilatura.extract(
                _without_choices(html),
                fast=True,
                include_comments=False,
                deduplicate=False,
                with_metadata=False,
            )
            or ""
        )


def _without_choices(html: str) -> str:
    """Return *html* without the lists that its forms offer to choose from.

    Of a page without an article they would be most of the text, and forms of all sites have the same ones,
    such as the countries of the world.
    """
    kept, start = [], 0
    opened: regex.Match[str] | None = None
    for tag in _CHOICE.finditer(html):
        name = tag["name"].lower()
        if not tag["end"]:
            opened = tag
        elif opened is not None and opened["name"].lower() == name != "script":
            kept.append(html[start : opened.start()])
            start = tag.end()
        if tag["end"]:
            opened = None
    return " ".join((*kept, html[start:]))
