"""What may happen to a duplicate, and which pages are compared with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from scrapy import Spider

from scrapy_neardup.matching.sites import host_of

Policy = Literal["tag", "drop_items", "drop_page"]
POLICIES: tuple[Policy, ...] = ("tag", "drop_items", "drop_page")

#: What happens to a page that is stored already, under its URL and with its text.
Revisits = Literal["keep", "drop_items", "drop_page"]
REVISITS: tuple[Revisits, ...] = ("keep", "drop_items", "drop_page")

#: From the URL of a document and the spider to the name of the part of the index that it is compared with.
Scope = Callable[[str, Spider], str]
SCOPES: dict[str, Scope] = {
    "global": lambda url, spider: "",
    "spider": lambda url, spider: spider.name,
    "host": lambda url, spider: host_of(url),
}


def scope_named(name: str) -> Scope:
    """Return one of `SCOPES`, or else the scope of just that name."""
    return SCOPES.get(name) or (lambda url, spider: name)
