"""Parses pages with lxml, in time linear in their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element


def parsed(html: str, *, huge_tree: bool = False) -> _Element | None:
    """Return the root of a page; None if it has no element.

    *huge_tree* reads elements below 255 others and texts of more than 10 MB, too.
    """
    # What libxml2 is told is the encoding counts more than what the page says. Of text, lxml refuses that of
    # a page that begins with an XML declaration, and takes quadratic time to look for one.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=huge_tree)
    root: _Element | None = etree.fromstring(html.encode("utf-8", "replace"), parser)
    return root
