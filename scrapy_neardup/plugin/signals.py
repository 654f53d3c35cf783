"""Signals sent during a crawl. Handlers are plain functions, called at once; see docs/scrapy.md."""

from __future__ import annotations

#: ``handler(response, verdict, policy, spider)``: a page repeats a stored one; sent before its callback is called.
page_duplicate = object()

#: ``handler(item, verdict, policy, spider)``: the text of an item repeats that of a stored item.
item_duplicate = object()
