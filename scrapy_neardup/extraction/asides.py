"""What stands around an article, such as captions and headings over further ones, and what only seems to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median_low
from typing import TYPE_CHECKING, NamedTuple

import regex

from scrapy_neardup.fingerprint.main_text import quoted_lines

from .blocks import FORM, LISTED, OTHER_ARTICLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .blocks import Block

#: With fewer letters in its paragraphs a page has no article.
ARTICLE = 300
#: So many times the text of all that is in no region is much more than that.
_MUCH_MORE = 1.5
#: The foot of a site has fewer letters in its paragraphs.
_LONG_FOOT = 1200
#: Of a list of other articles: entries of the shortest; letters of the shortest title, and of the median one;
#: blocks between the texts of two entries, paragraphs and letters of an entry, at the most.
_ENTRIES, _TITLE, _LONG_TITLE, _GAP, _PARAGRAPHS, _LONGEST = 3, 5, 20, 12, 2, 600
#: Letters of the other paragraphs of a page with an article, and their least share of all paragraphs.
_ARTICLE, _SHARE = 2 * ARTICLE, 1 / 4
#: Links that lead nowhere else, such as those that unfold an answer.
_NOWHERE = ("#", "javascript:")


class Run(NamedTuple):
    """Neighbouring blocks, as a range of their numbers."""

    begin: int
    end: int


@dataclass(slots=True)
class _Passage:
    """Paragraphs that follow each other in one element, and the longest link before them."""

    parent: int
    #: The first and the last of its blocks, its paragraphs and letters.
    first: int
    last: int
    paragraphs: int
    letters: int
    #: The number of the title's block, None if there is none; free blocks since the passage before.
    title: int | None
    gap: int
    #: What entries of one list have in common: the elements of their titles and texts.
    shape: tuple[str, str, str] | None = None


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


def leave_out_digests(blocks: Sequence[Block], headline: int | None) -> list[int]:
    """Give lists of other articles a region; return the numbers of their blocks.

    They are entries of one shape that no element names, each a link for a title, and a text. They stand below
    an article, or above it, and change every day: copies of it on two sites differ in them.

    Lists are what the page is about, and stay, if few other paragraphs are on the page. A list is part of an
    article that goes on behind it, and if paragraphs beside the list stand in the same element as some in it.
    A link above the *headline*, the number of a block, is no title of what stands below.
    """
    passages = list(_passages(blocks, headline))
    lists = list(_standing_apart(list(_runs(passages, blocks)), passages))
    listed = sum(passage.letters for begin, end in lists for passage in passages[begin:end])
    every = sum(passage.letters for passage in passages)
    if every - listed < max(_ARTICLE, _SHARE * every):
        return []
    numbers = [
        number
        for begin, end in lists
        for number in range(_title(passages[begin]), passages[end - 1].last + 1)
        if not blocks[number].region
    ]
    for number in numbers:
        blocks[number].region, blocks[number].within = "around", LISTED
    return numbers


def _title(passage: _Passage) -> int:
    assert passage.title is not None
    return passage.title


def _passages(blocks: Sequence[Block], headline: int | None) -> Iterator[_Passage]:
    passage: _Passage | None = None
    #: The longest link, and the longest one that the element of the last passage does not hold.
    longest: int | None = None
    outer: int | None = None
    gap = 0
    for number, block in enumerate(blocks):
        if number == headline:
            longest = outer = None
        if block.region:
            continue
        if not block.prose:
            gap += 1
            if _may_be_title(block):
                if longest is None or block.letters > blocks[longest].letters:
                    longest = number
                within = passage is not None and block.parent == passage.parent
                if not within and (outer is None or block.letters > blocks[outer].letters):
                    outer = number
            continue
        own = passage is not None and block.parent == passage.parent
        # A link below a text, in the element of that alone, is part of it, such as "Read more".
        title = longest if own else outer
        if passage is not None and title is None and own:
            passage.last = number
            passage.paragraphs += 1
            passage.letters += block.letters
        else:
            if passage is not None:
                yield passage
            passage = _Passage(block.parent, number, number, 1, block.letters, title, gap)
            if title is not None and number - title <= _GAP:
                passage.shape = (blocks[title].tag, blocks[title].heading, block.tag)
        longest, outer, gap = None, None, 0
    if passage is not None:
        yield passage


def _may_be_title(block: Block) -> bool:
    return block.is_link and block.letters >= _TITLE and not block.href.lstrip().lower().startswith(_NOWHERE)


def _runs(passages: Sequence[_Passage], blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Yield the lists among *passages* as ranges of their numbers, the longest runs of entries of one shape.

    Where one entry is too long, the page is about all of them, as with teasers.
    """
    begin = 0
    for end in range(1, len(passages) + 1):
        if end < len(passages) and _belong_together(passages[end - 1], passages[end], blocks):
            continue
        entries = passages[begin:end]
        if (
            len(entries) >= _ENTRIES
            and entries[0].shape is not None
            and all(each.paragraphs <= _PARAGRAPHS and each.letters <= _LONGEST for each in entries)
            and median_low(blocks[_title(each)].letters for each in entries) >= _LONG_TITLE
        ):
            yield begin, end
        begin = end


def _belong_together(one: _Passage, next_one: _Passage, blocks: Sequence[Block]) -> bool:
    return (
        one.shape is not None
        and one.shape == next_one.shape
        and next_one.gap <= _GAP
        and blocks[_title(one)].text != blocks[_title(next_one)].text
    )


def _standing_apart(
    lists: Sequence[tuple[int, int]], passages: Sequence[_Passage]
) -> Iterator[tuple[int, int]]:
    """Yield those *lists* that are no part of an article, see `leave_out_digests`."""
    first = {passage.parent: number for number, passage in reversed([*enumerate(passages)])}
    last = {passage.parent: number for number, passage in enumerate(passages)}
    #: How far the elements go on that hold the passages before.
    reached, before = -1, 0
    for begin, end in lists:
        for passage in passages[before:begin]:
            reached = max(reached, last[passage.parent])
        before = begin
        own = {passage.parent for passage in passages[begin:end]}
        if reached < end and all(first[each] >= begin and last[each] < end for each in own):
            yield begin, end


def heads_more(text: str) -> bool:
    """Tell whether *text* is a heading over further articles."""
    return _beginnings().match(text) is not None


@cache
def _beginnings() -> regex.Pattern[str]:
    lines = files(__package__).joinpath("headings.txt").read_text("utf-8").split("\n")
    parts = [part.strip() for line in lines if line[:1] not in ("", "#", "[") for part in line.split("|")]
    words = (regex.escape(part.rstrip("$")) + r"\b" * part.endswith("$") for part in parts)
    return regex.compile(rf"\W*+(?:{'|'.join(words)})", regex.IGNORECASE | regex.V1)
