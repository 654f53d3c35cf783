"""The tree of a page, and what is taken out of it: what no reader sees, and what is not to count."""

from __future__ import annotations

import html as htmllib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice

import mmh3
import regex
from lxml import etree
from lxml.etree import _Element

from scrapy_neardup.errors import ConfigurationError

_END = re.compile(r"</(?:html|body)\s*>", re.IGNORECASE)
_DECLARATION = re.compile(r"\A\s*<\?xml\b[^<>]{0,1000}>?", re.IGNORECASE)
#: A long tag, and in it one of thousands of attributes, which take libxml2 quadratic time. Neither passes
#: over a < or >, which may stand in a script.
_MAYBE_LONG = re.compile(r"<[a-z][^<>]{4096,}>?", re.IGNORECASE)
_LONG = (
    r"""<([a-z][a-z0-9:-]*+)"""
    r"""(?:\s++[^\s<>="']++(?:=(?:"[^"<>]*+"|'[^'<>]*+'|[^\s<>"']*+))?+){1000,}+[^<>]*+>?+"""
)
#: How the last error of libxml2 reads if it stopped: at 255 nested elements, or in a text of 10 MB.
_LIMIT = "XML_PARSE_HUGE"
#: What elements are called that go; no page has capitals in the names of elements, as lxml reads them.
_REMOVED = "REMOVED"

#: Elements whose content is no text of a page, such as what a form offers to choose from.
_NO_TEXT = ("script", "style", "select", "datalist", "svg", "math", "map", "title")
#: Elements whose content browsers do not show, or show in a small box.
_NOT_SHOWN = (
    "template", "noscript", "iframe", "textarea", "button", "object", "video", "audio", "canvas",
    "select", "datalist",
)  # fmt: skip
#: Elements that hold all of a page, which its scripts show later.
_WHOLE = frozenset(("html", "head", "body", "main"))
#: An element with none of these attributes is shown, unless it is a dialog.
_TELLING = frozenset(("hidden", "aria-hidden", "style", "popover"))
_HIDING = regex.compile(
    r"(?:^|;)\s*+(?:display\s*+:\s*+none|visibility\s*+:\s*+(?:hidden|collapse))\s*+(?:!|;|$)",
    regex.IGNORECASE | regex.V1,
)
#: React sends late parts of a page in a hidden element with such an id, and moves them to where they belong.
_AWAITED = re.compile(r"S:[0-9a-f]+\Z", re.IGNORECASE)


#: Characters of a page in which its titles stand, and of the longest title that is read.
_HEAD, _LONGEST = 1 << 18, 1000
#: How many links of a head are looked at.
_MOST_LINKS = 500
#: What a link of the head refers to, without leading dots and query; and where the head ends.
_LINKED = re.compile(r"""<link\b[^<>]*?\bhref\s*=\s*["']?[./]*([^"'<>?\s]+)[^<>]*""", re.IGNORECASE)
_BODY = re.compile("</head|<body", re.IGNORECASE)
_METADATA = re.compile(
    r"""<meta\s[^<>]*?\b(?:name|property|http-equiv)\s*=\s*["']?([\w:.-]+)""", re.IGNORECASE
)
_TITLE = regex.compile(r"<title\b[^<>]*+>([^<]*+)", regex.IGNORECASE | regex.V1)
_META = regex.compile(r"<meta\b[^<>]*+>", regex.IGNORECASE | regex.V1)
_SHARED = regex.compile(
    r"""\b(?:property|name)\s*+=\s*+["']?+og:title(?![\w:\-])""", regex.IGNORECASE | regex.V1
)
_CONTENT = regex.compile(r"""\bcontent\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", regex.IGNORECASE | regex.V1)


def in_one_document(html: str) -> str:
    """Return *html* without its XML declaration and the end tags of documents.

    The bytes that it tells of are text now. Browsers show what stands behind an end tag; libxml2 drops it.
    """
    return _END.sub("", _DECLARATION.sub("", html, count=1))


def parsed(html: str, *, huge_tree: bool = False) -> _Element | None:
    """Return the root of a page as `parsed_whole` does."""
    return parsed_whole(html, huge_tree=huge_tree)[0]


def parsed_whole(html: str, *, huge_tree: bool = False) -> tuple[_Element | None, bool]:
    """Return the root of a page, None if it has no element, and whether that is all of the page.

    *huge_tree* reads elements below 255 others and texts of more than 10 MB, too.
    """
    # Compiled when it is first used: the process of the crawl imports this, too.
    html = _MAYBE_LONG.sub(lambda tag: regex.sub(_LONG, r"<\1>", tag[0], 0, regex.I | regex.V1), html)
    # What libxml2 is told is the encoding counts more than what the page says. Of text, lxml refuses that of
    # a page that begins with an XML declaration, and takes quadratic time to look for one.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=huge_tree)
    root = etree.fromstring(html.encode("utf-8", "replace"), parser)
    return root, not (len(parser.error_log) and _LIMIT in parser.error_log[-1].message)


def written(root: _Element) -> str:
    """Return the markup of a page."""
    return str(etree.tostring(root, encoding="unicode", method="html"))


def canonical_of(root: _Element) -> str:
    """Return what the head links as canonical, or "": in the body readers may have written a link."""
    heads = root.iterchildren("head")
    links = islice((link for head in heads for link in head.iterchildren("link")), _MOST_LINKS)
    found = (link.get("href") for link in links if "canonical" in link.get("rel", "").lower().split())
    return next((each.strip() for each in filter(None, found) if len(each) <= _LONGEST), "")


def template_of(html: str) -> int:
    """Return a number below 65,536 of the longest path of a style sheet in a page's head, without digits.

    Pages of one template have the same, and other sites hardly ever. Without any, its metadata counts.
    """
    head = html[:_HEAD]
    links = _LINKED.finditer(_BODY.split(head, maxsplit=1)[0])
    sheets = sorted(re.sub(r"\d+", "", link[1]) for link in links if "stylesheet" in link[0].lower())
    told = max(sheets, key=len) if sheets else "\n".join(sorted({*_METADATA.findall(head)}))
    return mmh3.hash(told.encode("utf-8", "replace"), signed=False) % 0xFFFF + 1


def remove_no_text(root: _Element) -> None:
    """Take out what has letters and yet is no text."""
    etree.strip_elements(root, *_NO_TEXT, etree.Comment, etree.PI, with_tail=False)


def remove_hidden(root: _Element) -> bool:
    """Take out what readers do not see, as far as the markup tells; return whether there was any."""
    maybe = (each for each in root.iter("*") if each.tag == "dialog" or not _TELLING.isdisjoint(each.keys()))
    hidden = [element for element in maybe if element.tag not in _WHOLE and _hides(element)]
    remove(root, hidden)
    named = next(root.iter(*_NOT_SHOWN), None) is not None
    if named:
        etree.strip_elements(root, *_NOT_SHOWN, with_tail=False)
    return named or bool(hidden)


def _hides(element: _Element) -> bool:
    attributes = element.attrib
    hidden = attributes.get("hidden")
    return (
        (
            hidden is not None
            and hidden.strip().lower() != "until-found"
            and not _AWAITED.match(attributes.get("id", ""))
        )
        or "popover" in attributes
        or (element.tag == "dialog" and "open" not in attributes)
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _HIDING.search(attributes.get("style", "")) is not None
    )


def remove(root: _Element, elements: Iterable[_Element]) -> None:
    """Take *elements* out of *root*; the text behind each stays. Root and body stay, empty."""
    found = False
    for element in elements:
        if element is root or element.tag == "body":
            element[:] = []
            element.text = None
        else:
            element.tag = _REMOVED
            found = True
    # Text cannot be moved by hand: lxml refuses the control characters that its parser lets pass.
    if found:
        etree.strip_elements(root, _REMOVED, with_tail=False)


def titles(html: str) -> list[str]:
    """Return the title of a page, and the one under which it is shared; those that it has."""
    head = html[:_HEAD]
    found = []
    if (title := _TITLE.search(head)) is not None:
        found.append(title[1])
    for meta in _META.finditer(head):
        if _SHARED.search(meta[0]) is not None:
            found += ["".join(values) for values in _CONTENT.findall(meta[0])][:1]
            break
    shown = (" ".join(htmllib.unescape(title[:_LONGEST]).split()) for title in found)
    return [title for title in dict.fromkeys(shown) if title]


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


@lru_cache(maxsize=256)
def _compiled(selector: str) -> etree.XPath:
    from cssselect import SelectorError  # which few crawls need
    from lxml.cssselect import CSSSelector

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
