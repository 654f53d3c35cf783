"""What stands around an article, such as captions and headings over further ones, and what only seems to."""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import regex

from scrapy_neardup.fingerprint.quotations import quoted_lines

from .blocks import FORM, OTHER_ARTICLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .blocks import Block

#: With fewer letters in its paragraphs a page has no article.
ARTICLE = 300
#: So many times the text of all that is in no region is much more than that.
_MUCH_MORE = 1.5
#: The foot of a site has fewer letters in its paragraphs.
_LONG_FOOT = 1200


class Run(NamedTuple):
    """Neighbouring blocks, as a range of their numbers."""

    begin: int
    end: int


def letters_of(blocks: Sequence[Block]) -> int:
    """Return how many letters *blocks* have together."""
    return sum(block.letters for block in blocks)


def give_back_article(blocks: Sequence[Block]) -> None:
    """Take the region away from what is most of the text, and so the article itself.

    So do comments where there is no other article: a forum may call all that is said in it so, the first post
    included.
    """
    large = _large(blocks)
    for block in blocks:
        if block.within in large:
            block.region = ""
    comments = [block for block in blocks if block.region == "comments" and block.within != FORM]
    if (
        letters_of([block for block in comments if block.prose]) >= ARTICLE
        and letters_of([block for block in blocks if block.is_free]) < ARTICLE
    ):
        for block in comments:
            block.region = ""


def _large(blocks: Sequence[Block]) -> set[int]:
    """Return the numbers of the regions that are the main text, see `Block.within`.

    A region "around" is if it has as much prose as there is text in no region, links aside; or as much prose
    as there is in no region, and half as much text again. Teasers of other articles are only on a page that
    has next to nothing else, and so is a long foot: some builders of pages give any part of a page that name.
    """
    prose, text = Counter[int](), Counter[int]()
    around, feet = set[int](), set[int]()
    for block in blocks:
        if not block.is_link and block.region in ("", "around", "foot"):
            text[block.within] += block.letters
            prose[block.within] += block.prose * block.letters
            if block.region:
                (around if block.region == "around" else feet).add(block.within)
    # What stands in no region has the number 0.
    large = {
        each
        for each in around
        if prose[each] >= max(ARTICLE, text[0])
        or (prose[each] >= max(ARTICLE, prose[0]) and text[each] >= _MUCH_MORE * text[0])
    }
    if text[0] < ARTICLE:
        large |= {each for each in feet if prose[each] >= _LONG_FOOT}
    if prose[0] >= 2 * ARTICLE:
        large.discard(OTHER_ARTICLES)
    return large


def leave_out_quotations(blocks: Sequence[Block]) -> None:
    """Give lines that a letter quotes a region, where each is a block."""
    for block, quoted in zip(blocks, quoted_lines([block.text for block in blocks]), strict=True):
        if quoted:
            block.region = block.region or "quoted"


def leave_out_captions(blocks: Sequence[Block]) -> None:
    """Take captions for no paragraphs: the same text on another site has other pictures.

    A page with more captions than paragraphs is about its pictures.
    """
    free = [block for block in blocks if block.is_free]
    captions = [block for block in free if block.caption]
    paragraphs = [block for block in free if block.prose and not block.caption]
    if letters_of(captions) <= letters_of(paragraphs):
        for block in captions:
            block.prose = False


def heads_more(text: str) -> bool:
    """Tell whether *text* is a heading over further articles."""
    return _beginnings().match(text) is not None


@cache
def _beginnings() -> regex.Pattern[str]:
    lines = files(__package__).joinpath("headings.txt").read_text("utf-8").split("\n")
    parts = [part.strip() for line in lines if line[:1] not in ("", "#", "[") for part in line.split("|")]
    words = (regex.escape(part.rstrip("$")) + r"\b" * part.endswith("$") for part in parts)
    return regex.compile(rf"\W*+(?:{'|'.join(words)})", regex.IGNORECASE | regex.V1)
