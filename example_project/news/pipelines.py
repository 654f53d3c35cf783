"""Checks items before the feed stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from news.items import ArticleItem


class RequireText:
    """Drops items without a title or text: there is nothing in them to index.

    A page whose items are all dropped is not remembered either, so a later copy of it is judged as new.
    """

    def process_item(self, item: ArticleItem) -> ArticleItem:
        if not item.title or not item.text:
            raise DropItem(f"no title or no text: {item.url}", log_level="INFO")
        return item
