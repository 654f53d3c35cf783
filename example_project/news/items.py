"""What the crawl stores of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class ArticleItem:
    url: str
    site: str
    language: str
    title: str
    text: str
    #: What the page repeats (url, kind, distance, similarity); only with the policy "tag".
    neardup: dict[str, Any] | None = None
