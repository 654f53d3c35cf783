"""A page as a list of blocks: the runs of text that a reader sees as one, in the order of the source."""

from __future__ import annotations

import itertools
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from lxml import etree

from scrapy_neardup.fingerprint.paragraphs import length
from scrapy_neardup.fingerprint.quotations import quoted_lines

from .block import FORM, OTHER_ARTICLES, Block
from .lines import wrapped
from .parsing import parsed
from .regions import Region, names, region_of
from .teasers import HEADINGS, is_short, teasers

if TYPE_CHECKING:
    from lxml.etree import _Element

_INVISIBLE = names(
    "script style noscript template iframe svg math select textarea button object head canvas audio video "
    "map datalist input title"
)
_INLINE = names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark o:p nobr q rp rt "
    "ruby s samp small span strike strong sub sup time tt u var wbr"
)
# Elements that hold one paragraph.
_PARAGRAPHS = names("p blockquote")
# Headlines of a page beyond these are not looked for.
_HEADLINES = 20
# A form for a comment has at most so many characters of text. A longer one holds what readers wrote.
_FORM = 1200
# Of an address no more characters are read, since each block of a long link has it.
_ADDRESS = 2000


def blocks_of(html: str) -> list[Block]:
    """Return the blocks of a page; none for one that cannot be parsed."""
    root = parsed(html)
    if root is None:
        return []
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
        #: Lines of the block before the present one, each with its letters of links.
        self._lines: list[tuple[str, int]] = []
        #: Open elements that are blocks: name, region, number of the outermost element that makes the region,
        #: number of the article, number of the element.
        self._path: list[tuple[str, Region, int, int, int]] = []
        self._elements = self._invisible = self._links = self._preformatted = self._captions = 0
        headlines = Counter(
            element for headline in list(body.iter("h1"))[:_HEADLINES] for element in headline.iterancestors()
        )
        self._over_headline = headlines.keys()
        #: Of several articles with a headline each, the elements that hold them.
        self._headed_articles = {
            element
            for element, count in headlines.items()
            if count == 1 and headlines[element.getparent()] > 1 and _has_article(element)
        }
        #: Teasers of other articles.
        self._other_articles = teasers(body, self._over_headline)
        for event, element in etree.iterwalk(body, events=("start", "end", "comment", "pi")):
            if event == "start":
                self._start(element)
                continue
            if event == "end":
                self._end(element)
            if not self._invisible and element is not body and (tail := element.tail):
                self._add(tail)
        self._finish()

    def _start(self, element: _Element) -> None:
        tag = element.tag
        # A page may have all its text in an unclosed button.
        if self._invisible or (tag in _INVISIBLE and (tag != "button" or element.find(".//p") is None)):
            self._invisible += 1
            return
        if tag == "a":
            if "href" in element.attrib:
                self._links += 1
                self._link = element.attrib["href"][:_ADDRESS]
        elif tag == "br":
            if not self._preformatted:
                self._break()
        elif tag == "pre":
            self._open(element)
            self._preformatted += 1
        elif not self._preformatted and tag not in _INLINE:
            self._open(element)
        if text := element.text:
            self._add(text)

    def _end(self, element: _Element) -> None:
        tag = element.tag
        if self._invisible:
            self._invisible -= 1
        elif tag == "a":
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
        region, number, article = self._path[-1][1:4] if self._path else ("", 0, 0)
        if region in ("", "around"):
            others = element in self._other_articles
            own = "around" if others else region_of(element, element in self._over_headline)
            if own != region and own:
                region, number = own, OTHER_ARTICLES if others else self._elements
        if region == "comments" and _is_form(element):
            number = FORM
        if element in self._headed_articles:
            article = self._elements
        self._captions += element.tag == "figcaption"
        self._path.append((element.tag, region, number, article, self._elements))

    def _close(self) -> None:
        self._finish()
        self._captions -= self._path.pop()[0] == "figcaption"

    def _add(self, text: str) -> None:
        if self._text or self._lines or self._links or not text.isspace():
            self._text.append(text)
            if self._links:
                self._linked += length(text.strip())
                self._href = self._link

    def _break(self) -> None:
        """End a line of a block."""
        self._lines.append((" ".join("".join(self._text).split()), self._linked))
        self._text.clear()
        self._linked = 0

    def _finish(self) -> None:
        """Make blocks of what was gathered."""
        if not (self._text or self._lines):  # most elements hold others, and nothing between them
            return
        if self._preformatted:
            self._finish_preformatted()
        elif self._lines:
            self._finish_lines()
        elif self._text:  # most blocks are a line
            self._add_block("".join(self._text), self._linked)
        self._text.clear()
        self._linked = 0
        self._href = ""

    def _finish_lines(self) -> None:
        """Make a block of each line that was gathered, or of several where the text was wrapped by hand."""
        if self._text:
            self._break()
        joined = wrapped([line for line, _ in self._lines])
        part: list[str] = []
        linked = 0
        for (line, more), goes_on in itertools.zip_longest(self._lines, joined):
            part.append(line)
            linked += more
            if not goes_on:
                self._add_block(" ".join(part), linked)
                part, linked = [], 0
        self._lines.clear()

    def _finish_preformatted(self) -> None:
        """Make a block of what was gathered, or several of a letter that quotes another one."""
        gathered = "".join(self._text)
        lines = gathered.split("\n") if ">" in gathered else []
        quoted = quoted_lines(lines)
        if any(quoted):
            for quotes, group in itertools.groupby(zip(quoted, lines, strict=True), key=itemgetter(0)):
                part = [line for _, line in group]
                for text in part if quotes else [" ".join(part)]:
                    self._add_block(text, 0, quoted=quotes)
        else:
            self._add_block(gathered, self._linked)

    def _add_block(self, gathered: str, linked: int, *, quoted: bool = False) -> None:
        text = " ".join(gathered.split())
        if text:
            tag, region, number, article, parent = self._path[-1] if self._path else ("", "", 0, 0, 0)
            if tag in _PARAGRAPHS and len(self._path) > 1:
                parent = self._path[-2][-1]
            around = self._path[-2][0] if len(self._path) > 1 else ""
            heading = around if around in HEADINGS else tag if tag in HEADINGS else ""
            if quoted:
                region = region or "quoted"
            block = Block(
                text,
                linked,
                tag,
                heading,
                region,
                number,
                article,
                self._href,
                parent,
                caption=self._captions > 0,
            )
            self.blocks.append(block)


def _is_form(element: _Element) -> bool:
    """Tell whether *element*, among comments, is a form to write one."""
    return element.tag == "form" and element.find(".//textarea") is not None and is_short(element, _FORM)


def _has_article(element: _Element) -> bool:
    """Tell whether *element* is an "article", or holds one."""
    return element.tag == "article" or element.find(".//article") is not None
