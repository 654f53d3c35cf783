"""Content areas: in which elements of a page its main text is looked for, and in which it is not."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cssselect import SelectorError
from lxml import etree
from lxml.cssselect import CSSSelector

from scrapy_neardup.errors import ConfigurationError

from .parsing import remove

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element


@dataclass(frozen=True)
class ContentArea:
    """The parts of pages that count, as CSS selectors; none at all stand for the whole page.

    Raises `ConfigurationError` for a selector that is none.
    """

    #: If there are any, nothing counts but the elements that one of them matches, with all that they hold.
    include: tuple[str, ...] = ()
    #: What never counts, inside of these elements, too.
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for selector in (*self.include, *self.exclude):
            _compiled(selector)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def cut(self, root: _Element) -> None:
        """Leave the area alone in the body of a page. The head, where titles stand, stays as it is."""
        remove(root, _matches(root, self.exclude))
        body = root.find("body")
        if self.include and body is not None:
            chosen = _matches(root, self.include)
            if not chosen or chosen[0] not in (root, body):
                body[:] = chosen
                body.text = None
                for element in chosen:
                    element.tail = "\n"

    def identity(self, extractor: str) -> str:
        """Return the identity of *extractor* (an identity, too) in this area."""
        return f"{extractor}; content area {json.dumps(asdict(self))}" if self else extractor


#: All of a page.
WHOLE_PAGE = ContentArea()


@lru_cache(maxsize=256)
def _compiled(selector: str) -> CSSSelector:
    try:
        compiled = CSSSelector(selector, translator="html")
        compiled(etree.Element("html"))  # which finds what the parser of selectors lets pass
        return compiled
    except (SelectorError, etree.XPathError, ValueError, RecursionError) as error:
        # The last two: a control character, and thousands of elements one within the other.
        raise ConfigurationError(
            f"{selector!r} is no CSS selector ({error}): name elements, classes or identifiers, such as"
            " 'article', '.post' or '#content'."
        ) from None


def _matches(root: _Element, selectors: Sequence[str]) -> list[_Element]:
    """Return the outermost elements in *root* that one of *selectors* matches, in the order of the page."""
    every = {element for selector in selectors for element in _compiled(selector)(root)}
    found, within = [], set[object]()
    for element in root.iter() if every else ():
        if element.getparent() in within:
            within.add(element)
        elif element in every:
            found.append(element)
            within.add(element)
    return found
