"""A page as a list of blocks: the runs of text that a reader sees as one, in the order of the source."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

import regex
from lxml import etree

from scrapy_neardup.fingerprint.main_text import quoted_lines
from scrapy_neardup.fingerprint.paragraphs import ends_sentence, is_paragraph, length

from .regions import Region, names, region_of

if TYPE_CHECKING:
    from collections.abc import Container

    from lxml.etree import _Element

#: What teasers, forms for comments, and lists of other articles are said to be within, see `Block.within`.
OTHER_ARTICLES, FORM, LISTED = -1, -2, -3
#: Where a link to the first page of a site leads: to a host, or up to a folder, or to the index of one.
_HOME = regex.compile(
    r"(?:(?:https?:)?//[^/?#]*+)?+/?+(?:\.\.?+/)*+(?:\.\.?+|index\.\w++)?+(?:[?#].*+)?+",
    regex.IGNORECASE | regex.V1,
)
#: The address of a document, which is read, heard or installed, and not browsed; and the file in it.
_DOCUMENT = regex.compile(
    r"(?!(?:\w++:)?//[^?#/]*+(?:[?#]|\Z))(?:[^?#/]*+/)*+([^?#/:]++)(?<=\.(?:pdf|epub|rtf|txt|od[tsp]|docx?|xlsx?|pptx?|csv|ics|torrent|mp[34]|"
    r"zip|7z|rar|t?gz|exe|msi|dmg|apk|deb|rpm|iso))(?:[?#].*+)?",
    regex.IGNORECASE | regex.DOTALL | regex.V1,
)
_INLINE = names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark o:p nobr q rp rt "
    "ruby s samp small span strike strong sub sup time tt u var wbr"
)
# Elements that hold one paragraph.
_PARAGRAPHS = names("p blockquote")
_HEADINGS = names("h1 h2 h3 h4 h5 h6")
# Headlines of a page beyond these are not looked for.
_HEADLINES = 20
# A form for a comment has at most so many characters of text. A longer one holds what readers wrote.
_FORM = 1200
#: Elements "article" that hold no headline are teasers if there are so many of them, of so few characters.
_ARTICLES, _TEASER = 4, 1200
#: So many classes of an element are looked at.
_CLASSES = 12
# Of an address no more characters are read, since each block of a long link has it.
_ADDRESS = 2000


@dataclass(eq=False, slots=True)
class Block:
    """A run of text without a line break in it."""

    text: str
    #: How many of its letters are of links; `length` counts them.
    linked: int
    #: Name of the element that it stands in.
    tag: str
    #: The heading that it is or stands in, such as "h2"; empty if there is none.
    heading: str
    #: The region that it stands in; and the number of the element that is the region, 0 if there is none.
    region: Region
    within: int
    #: Where its last link leads; empty if there is none.
    href: str
    #: The number of the element that holds it; of a paragraph, the one around that.
    parent: int
    #: Whether it is the caption of a picture.
    caption: bool
    letters: int = field(init=False)
    #: Whether half of it or more are links.
    is_link: bool = field(init=False)
    #: Whether it reads like a paragraph of a text.
    prose: bool = field(init=False)

    def __post_init__(self) -> None:
        self.letters = length(self.text)
        self.linked = min(self.linked, self.letters)
        self.is_link = self.linked * 2 >= self.letters
        self.prose = not self.is_link and is_paragraph(self.text, self.letters)

    @property
    def ends(self) -> bool:
        """Whether it ends like a sentence."""
        return ends_sentence(self.text)

    @property
    def is_free(self) -> bool:
        """Whether it stands in no region, and is no link."""
        return not self.region and not self.is_link

    @property
    def document(self) -> str:
        """The name of the file that it links to, if that is a document; empty if it is none.

        Such a link is an entry of its page, not a way to another one.
        """
        found = _DOCUMENT.fullmatch(self.href.strip()) if self.href and self.is_link else None
        return "" if found is None else found[1]

    @property
    def leads_home(self) -> bool:
        """Whether it has a link to the first page of the site, as far as the link alone says so."""
        return bool(self.href) and _HOME.fullmatch(self.href.strip()) is not None


def blocks_of(root: _Element) -> list[Block]:
    """Return the blocks of a page, from which is taken out what is no text."""
    body = root.find("body")
    return _Walk(root if body is None else body).blocks


class _Walk:
    """One pass over the tree, which gathers text until a block element begins or ends."""

    def __init__(self, body: _Element) -> None:
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._linked = 0
        #: Where the last link leads that was met, and that of the text that is being gathered.
        self._link = self._href = ""
        #: Open elements that are blocks: name, region, number of the outermost element that makes the region,
        #: number of the element.
        self._path: list[tuple[str, Region, int, int]] = []
        self._elements = self._links = self._preformatted = self._captions = 0
        headlines = itertools.islice(body.iter("h1"), _HEADLINES)
        self._over_headline = {element for headline in headlines for element in headline.iterancestors()}
        self._other_articles = _teasers(body, self._over_headline)
        for event, element in etree.iterwalk(body, events=("start", "end")):
            if event == "start":
                self._start(element)
                continue
            self._end(element)
            if element is not body and (tail := element.tail):
                self._add(tail)
        self._finish()

    def _start(self, element: _Element) -> None:
        tag = element.tag
        if tag == "a":
            if "href" in element.attrib:
                self._links += 1
                self._link = element.attrib["href"][:_ADDRESS]
        elif tag == "br":
            if not self._preformatted:
                self._finish()
        elif tag == "pre":
            self._open(element)
            self._preformatted += 1
        elif not self._preformatted and tag not in _INLINE:
            self._open(element)
        if text := element.text:
            self._add(text)

    def _end(self, element: _Element) -> None:
        tag = element.tag
        if tag == "a":
            self._links -= "href" in element.attrib
        elif tag == "pre":
            self._close()
            self._preformatted -= 1
        elif self._preformatted:
            self._text.append(" ")
        elif tag != "br" and tag not in _INLINE:
            self._close()

    def _open(self, element: _Element) -> None:
        self._finish()
        self._elements += 1
        region, number = self._path[-1][1:3] if self._path else ("", 0)
        if region in ("", "around"):
            others = element in self._other_articles
            own = "around" if others else region_of(element, element in self._over_headline)
            if own != region and own:
                region, number = own, OTHER_ARTICLES if others else self._elements
        if region == "comments" and _is_form(element):
            number = FORM
        self._captions += element.tag == "figcaption"
        self._path.append((element.tag, region, number, self._elements))

    def _close(self) -> None:
        self._finish()
        self._captions -= self._path.pop()[0] == "figcaption"

    def _add(self, text: str) -> None:
        if self._text or self._links or not text.isspace():
            self._text.append(text)
            if self._links:
                self._linked += length(text.strip())
                self._href = self._link

    def _finish(self) -> None:
        """Make a block of what was gathered, or several of a letter that quotes another one."""
        if not self._text:  # most elements hold others, and nothing between them
            return
        gathered = "".join(self._text)
        lines = gathered.split("\n") if self._preformatted and ">" in gathered else []
        quoted = quoted_lines(lines)
        if any(quoted):
            for quotes, group in itertools.groupby(zip(quoted, lines, strict=True), key=itemgetter(0)):
                part = [line for _, line in group]
                for text in part if quotes else [" ".join(part)]:
                    self._add_block(text, 0, quoted=quotes)
        else:
            self._add_block(gathered, self._linked)
        self._text.clear()
        self._linked = 0
        self._href = ""

    def _add_block(self, gathered: str, linked: int, *, quoted: bool = False) -> None:
        text = " ".join(gathered.split())
        if not text:
            return
        tag, region, within, parent = self._path[-1] if self._path else ("", "", 0, 0)
        around, _, _, outer = self._path[-2] if len(self._path) > 1 else ("", "", 0, parent)
        if tag in _PARAGRAPHS:
            parent = outer
        heading = around if around in _HEADINGS else tag if tag in _HEADINGS else ""
        if quoted:
            region = region or "quoted"
        self.blocks.append(
            Block(text, linked, tag, heading, region, within, self._href, parent, self._captions > 0)
        )


def _teasers(body: _Element, over_headline: Container[_Element]) -> set[_Element]:
    """Return the elements "article" that are teasers of other articles, if there are several.

    *over_headline* are the elements that hold an h1. Where one entry of a list is too long for a teaser, the
    entries next to it are no teasers either: the page is about all of them.
    """
    short: list[_Element] = []
    lists: dict[_Element, set[tuple[str, str]]] = {}
    for element in body.iter("article"):
        # Those that hold others are passed over: each part of a page is read once.
        if element in over_headline or element.find(".//article") is not None:
            continue
        if _is_short(element, _TEASER):
            short.append(element)
        else:
            lists.setdefault(element.getparent(), set()).update(_kinds(element))
    if len(short) < _ARTICLES:
        return set()
    return {each for each in short if lists.get(each.getparent(), set()).isdisjoint(_kinds(each))}


def _kinds(element: _Element) -> set[tuple[str, str]]:
    """Return what *element* has in common with other entries of a list: a class and the level of its heading.

    An entry has a heading. Of the classes a few are looked at.
    """
    heading = next((found.tag for found in element.iter(*_HEADINGS)), None)
    classes = element.get("class", "").split(maxsplit=_CLASSES)[:_CLASSES] or [""]
    return {(name, heading) for name in classes if heading is not None}


def _is_form(element: _Element) -> bool:
    """Tell whether *element*, among comments, is a form to write one."""
    return element.tag == "form" and element.find(".//textarea") is not None and _is_short(element, _FORM)


def _is_short(element: _Element, most: int) -> bool:
    """Tell whether *element* has at most so many characters of text, of which no more are read."""
    count = 0
    for text in element.itertext():
        count += len(text)
        if count > most:
            return False
    return True
