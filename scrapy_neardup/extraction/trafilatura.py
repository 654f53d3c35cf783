"""Main text by Trafilatura."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trafilatura

from . import sentences

if TYPE_CHECKING:
    from scrapy_neardup.fingerprint.main_text import MainText


class Trafilatura:
    """The article, without the comments, as Trafilatura's own rules find it, and of that the `sentences`.

    Its fallbacks to other extractors (``fast=False``) take 10 ms more a page and let two copies of a text
    differ more often. Never with ``deduplicate``: its answers would depend on the pages that went before.
    """

    identity = f"trafilatura {trafilatura.__version__} fast, {sentences.IDENTITY}"

    def __call__(self, html: str, url: str | None) -> MainText | None:
        return sentences.main_text(self.lines(html), html)

    def lines(self, html: str) -> str:
        """Return all that it finds."""
        return (
            trafilatura.extract(
                html, fast=True, include_comments=False, deduplicate=False, with_metadata=False
            )
            or ""
        )
