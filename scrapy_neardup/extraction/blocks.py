"""A page as a list of blocks: the runs of text that a reader sees as one, in the order of the source."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import regex
from lxml import etree
from lxml.etree import _Element

from scrapy_neardup.fingerprint.main_text import is_paragraph, length, parted

#: What an element holds: comments of readers; the foot of the page, or a notice of consent; navigation,
#: teasers, captions, advertising; or none of these. Lines may be "quoted" from another text.
Region = Literal["", "comments", "foot", "around", "quoted"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What lists of other articles, and captions, are said to be within, see `Block.within`.
LISTED, CAPTIONS = -1, -2
#: Where a link to the first page of a site leads: to a host, or up to a folder, or to the index of one.
_HOME = regex.compile(
    r"(?:(?:https?:)?//[^/?#]*+)?+/?+(?:\.\.?+/)*+(?:\.\.?+|index\.\w++)?+(?:[?#].*+)?+",
    regex.IGNORECASE | regex.V1,
)
_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark o:p nobr q rp rt "
    "ruby s samp small span strike strong sub sup time tt u var wbr"
)
# Elements that hold one paragraph.
_PARAGRAPHS = _names("p blockquote")
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
# Headlines of a page beyond these are not looked for.
_HEADLINES = 20
# What stands behind so many blocks is one more: each takes 5 µs, and few letters in the source.
_MOST = 50_000
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
    def is_free(self) -> bool:
        """Whether it stands in no region, and is no link."""
        return not self.region and not self.is_link

    @property
    def leads_home(self) -> bool:
        """Whether it has a link to the first page of the site, as far as the link alone says so."""
        return bool(self.href) and _HOME.fullmatch(self.href.strip()) is not None


class Layout:
    """The blocks of a page, from which is taken out what is no text, and the elements that hold them.

    One pass over the tree gathers text until a block element begins or ends.
    """

    def __init__(self, root: _Element) -> None:
        body = root.find("body")
        body = root if body is None else body
        self.blocks: list[Block] = []
        #: Of each element, by its number, the greatest number of one within; its blocks follow each other.
        self._last = [sys.maxsize]
        self._text: list[str] = []
        self._linked = 0
        #: Where the last link leads that was met, and that of the text that is being gathered.
        self._link = self._href = ""
        #: Open block elements: name, region, numbers of the outermost element of that region and of this one.
        self._path: list[tuple[str, Region, int, int]] = [("", "", 0, 0)] * 2
        self._links = self._preformatted = 0
        headlines = itertools.islice(body.iter("h1"), _HEADLINES)
        self._over_headline = {element for headline in headlines for element in headline.iterancestors()}
        walk = etree.iterwalk(body, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                self._start(element, element.tag)
                text = element.text
            else:
                self._end(element, element.tag)
                text = element.tail if element is not body else None
            if text and (self._text or self._links or not text.isspace()):
                self._text.append(text)
                if self._links:
                    self._linked += length(text.strip())
                    self._href = self._link
            if len(self.blocks) >= _MOST:
                break
        self._finish()
        del self._path[2:]
        rest = (element.text if event == "start" else element.tail for event, element in walk)
        self._add_block(" ".join(filter(None, rest)), 0)

    def container(self, numbers: Sequence[int]) -> range:
        """Return the numbers of the blocks in the smallest element that holds those of these *numbers*."""
        parents = [self.blocks[number].parent for number in numbers]
        low, high = min(parents), max(parents)
        holder = next(number for number in range(low, -1, -1) if self._last[number] >= high)
        last = self._last[holder]
        found = [number for number, block in enumerate(self.blocks) if holder <= block.parent <= last]
        return range(found[0], found[-1] + 1) if found else range(0)

    def _start(self, element: _Element, tag: str) -> None:
        if tag == "a":
            if "href" in element.attrib:
                self._links += 1
                self._link = element.attrib["href"][:_ADDRESS]
        elif tag == "pre":
            self._open(element, tag)
            self._preformatted += 1
        elif not self._preformatted and tag not in _INLINE:
            if tag != "br":
                self._open(element, tag)
            elif self._text:
                self._finish()

    def _end(self, element: _Element, tag: str) -> None:
        if tag == "a":
            self._links -= "href" in element.attrib
        elif tag == "pre":
            self._close()
            self._preformatted -= 1
        elif self._preformatted:
            self._text.append(" ")
        elif tag not in _INLINE and tag != "br":
            self._close()

    def _open(self, element: _Element, tag: str) -> None:
        if self._text:  # most elements hold others, and nothing between them
            self._finish()
        opened = len(self._last)
        self._last.append(sys.maxsize)
        _, region, number, _ = self._path[-1]
        if not region or region == "around":
            own = region_of(element, element in self._over_headline)
            if own != region and own:
                region, number = own, opened
        self._path.append((tag, region, number, opened))

    def _close(self) -> None:
        if self._text:
            self._finish()
        self._last[self._path.pop()[3]] = len(self._last) - 1

    def _finish(self) -> None:
        """Make a block of what was gathered, and others of what a letter quotes."""
        gathered = "".join(self._text)
        own, quoted = parted(gathered) if self._preformatted else (gathered, "")
        for line in quoted.split("\n") if quoted else ():
            self._add_block(line, 0, quoted=True)
        self._add_block(own, 0 if quoted else self._linked)  # the links of a letter are in what it quotes
        self._text.clear()
        self._linked = 0
        self._href = ""

    def _add_block(self, gathered: str, linked: int, *, quoted: bool = False) -> None:
        text = " ".join(gathered.split())
        if not text:
            return
        (around, _, _, outer), (tag, region, within, parent) = self._path[-2:]
        if tag in _PARAGRAPHS:
            parent = outer
        heading = around if around in _HEADINGS else tag if tag in _HEADINGS else ""
        if quoted:
            region = region or "quoted"
        elif not region and "figcaption" in (around, tag):
            within = CAPTIONS
        self.blocks.append(Block(text, linked, tag, heading, region, within, self._href, parent))


# What the markup says of the parts of a page.

#: Of several regions that the names of an element speak of, the first of these counts.
_FIRST: tuple[Region, ...] = ("comments", "foot", "around", "")
#: Elements whose names say that they stand around the main text.
_AROUND = frozenset(("nav", "footer", "aside", "menu", "dialog"))
#: Those that hold the main text, whatever they are called.
_MAIN = frozenset(("body", "html", "main", "article", "h1", "p"))

# Names in class, id and role are looked at part by part: "post-comments" is "post" and "comments".
_PART = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_COMMENTS = re.compile(
    r"comment(?!ar(?:y|ies)|ator|ing|ed)|disqus|kommentar|komentar|comentario|respond$|reply$|replies$|guestbook$"
    r"|opinie$|otzyvy?$|reactie"
)
_FOOT = _names("foot footer copyright cookie cookies cookiebanner consent gdpr onetrust")
_NOTICES = _names(
    "sidebar sidebar1 sidebar2 related relatedposts recommend"
    " recommended recommendation recommendations popular trending mostread newsletter subscribe subscription"
    " sharedaddy breadcrumb breadcrumbs nav navbar navigation menu promo advert"
    " advertisement ad ads sponsor sponsors sponsored login popup modal overlay teaser teasers calendar"
    " disclaimer pagination pager rail outbrain taboola banner dialog rightcol leftcol paywall author bio"
    " byline feedback share shares sharing social"
)
#: Names that begin so say how a page is laid out ("no-sidebar") or filed ("tag-cookies").
_QUALIFIERS = _names(
    "no has with without is tag category type status js wp theme single margin padding hide show open closed"
    " page"
)
#: A name with such a part is that of a frame, which may hold anything.
_FRAME = re.compile("content|main|body")
_FRAME_OF_COMMENTS = _names("wrap wrapper container content body text list area section thread")
#: Of one attribute, as many names and characters are read.
_NAMES, _CHARACTERS = 12, 600
_PARTS = 4
#: Names, and values of attributes, that are remembered with what they say: the pages of a site have the same
#: few, and many sites have some in common. Crafted ones, long and beyond ASCII, take 22 MB in either memory.
_REMEMBERED = 1 << 13


def region_of(element: _Element, has_headline: bool) -> Region:
    """Return what *element* holds by its name, class, id and role; nothing if it has the headline."""
    tag = element.tag
    if tag in _MAIN or has_headline:
        return ""
    if tag in _AROUND:
        return "foot" if tag == "footer" else "around"
    first = len(_FIRST) - 1
    for attribute in ("class", "id", "role"):
        if value := element.get(attribute):
            first = min(first, _first(value[:_CHARACTERS]))
    return _FIRST[first]


@lru_cache(maxsize=_REMEMBERED)
def _first(value: str) -> int:
    """Return the place in `_FIRST` of what the names in the *value* of an attribute speak of."""
    return min((_FIRST.index(_kind(name)) for name in value.split()[:_NAMES]), default=len(_FIRST) - 1)


@lru_cache(maxsize=_REMEMBERED)
def _kind(name: str) -> Region:
    """Return what an element holds by one of its names."""
    parts = [part.lower() for part in _PART.split(name) if part]
    if not parts or len(parts) > _PARTS or parts[0] in _QUALIFIERS:
        return ""
    said = any(map(_COMMENTS.match, parts))
    if said and (parts[-1] in _FRAME_OF_COMMENTS or _COMMENTS.match(parts[-1])):
        return "comments"
    # Page builders call every part of a page some sort of widget; those of a sidebar are just widgets.
    around = parts[0] == "widget" or not _NOTICES.isdisjoint(parts)
    found: Region = "foot" if not _FOOT.isdisjoint(parts) else "around" if around else ""
    return "" if not found or any(map(_FRAME.search, parts)) else found
