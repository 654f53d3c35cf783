"""Teasers: short entries of a list that lead to other articles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from lxml.etree import _Element

HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
#: Elements "article" that hold no headline are teasers if there are so many of them, of so few characters
#: each.
_ARTICLES, _TEASER = 4, 1200
#: So many classes of an element are looked at.
_CLASSES = 12


def teasers(body: _Element, over_headline: Container[_Element]) -> set[_Element]:
    """Return the elements "article" that are teasers, if there are several.

    *over_headline* are the elements that hold an h1. Where one entry of a list is too long for a teaser, the
    entries next to it are no teasers either: the page is about all of them.
    """
    short: list[_Element] = []
    long: list[_Element] = []
    for element in body.iter("article"):
        # Those that hold others are passed over: each part of a page is read once.
        if element not in over_headline and element.find(".//article") is None:
            (short if is_short(element, _TEASER) else long).append(element)
    if len(short) < _ARTICLES:
        return set()
    lists: dict[_Element, set[tuple[str, str]]] = {}
    for element in long:
        lists.setdefault(element.getparent(), set()).update(_kinds(element))
    return {
        element
        for element in short
        if (kinds := lists.get(element.getparent())) is None or kinds.isdisjoint(_kinds(element))
    }


def _kinds(element: _Element) -> set[tuple[str, str]]:
    """Return what *element* has in common with other entries of a list: a class and the level of its heading.

    An entry has a heading. Of the classes a few are looked at.
    """
    heading = next((found.tag for found in element.iter(*HEADINGS)), None)
    classes = element.get("class", "").split(maxsplit=_CLASSES)[:_CLASSES] or [""]
    return {(name, heading) for name in classes if heading is not None}


def is_short(element: _Element, most: int) -> bool:
    """Tell whether *element* has at most so many characters of text, of which no more are read."""
    count = 0
    for text in element.itertext():
        count += len(text)
        if count > most:
            return False
    return True
