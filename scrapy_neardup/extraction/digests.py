"""Lists of other articles that no element names: entries of one shape, each a link for a title, and a text.

They stand below an article, or above it, and change every day: copies of it on two sites differ in them.
`teasers` knows those whose entries are elements "article".
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from .asides import ARTICLE
from .blocks import LISTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .blocks import Block

#: Entries of the shortest list; letters of the shortest title, and of the median one;
#: blocks between the texts of two entries, paragraphs and letters of an entry, at the most.
_ENTRIES, _TITLE, _LONG_TITLE, _GAP, _PARAGRAPHS, _LONGEST = 3, 5, 20, 12, 2, 600
#: Letters of the other paragraphs of a page with an article, and their least share of all paragraphs.
_ARTICLE, _SHARE = 2 * ARTICLE, 1 / 4
#: Links that lead nowhere else, such as those that unfold an answer.
_NOWHERE = ("#", "javascript:")


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


def leave_out_digests(blocks: Sequence[Block], headline: int | None) -> list[int]:
    """Give lists of other articles a region; return the numbers of their blocks.

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

    Where one entry is too long, the page is about all of them, as with `teasers`.
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
