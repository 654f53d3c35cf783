"""What stands around an article though no element says so: notices of consent, comments, further articles.

Their blocks get a region, see `Block.region`, so that they are no main text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import regex

from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.quotations import quoted_lines
from scrapy_neardup.fingerprint.walls import phrases, subjects

from .block import FORM, LISTED, OTHER_ARTICLES
from .headings import heads_comments, heads_more, speaks_of_consent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .block import Block

#: Elements whose text is a line of the article, such as "Comments" in a list of the parts of a language.
_LINES = ("p", "li", "dt", "dd", "td", "th", "pre")
_SIGNS = regex.compile(r"\W+")
#: With fewer letters in its paragraphs a page has no article.
ARTICLE = 300
#: So many times the text of all that is in no region is much more than that.
MUCH_MORE = 1.5
#: The foot of a site has fewer letters in its paragraphs.
LONG_FOOT = 1200
#: Two blocks that speak of consent are of one notice if the second is at most so many blocks behind the
#: first, and so many blocks behind the last one are part of the notice.
_CONSENT_GAP, _CONSENT_TAIL = 8, 2
#: A notice of one block is no longer.
_CONSENT_ALONE = 500
#: What a notice speaks of beside cookies. Recipes name them, too.
_CONSENT_SUBJECTS = frozenset(("advertising", "browser", "consent", "privacy", "settings", "site"))


class Run(NamedTuple):
    """Neighbouring blocks, as a range of their numbers."""

    begin: int
    end: int


def letters_of(blocks: Sequence[Block]) -> int:
    """Return how many letters *blocks* have together."""
    return sum(block.letters for block in blocks)


def give_back_article(blocks: Sequence[Block], find_headline: Callable[[], int | None]) -> None:
    """Take the region away from what is the article itself.

    A region "around" holds the article if it has as much prose as there is text in no region, links aside. So
    it does if it has as much prose as there is in no region, and half as much text again; and if it has the
    headline of the page, and paragraphs below it, as no advertisement does. Teasers of other articles count
    as the article only on a page that has next to nothing else. So do comments: a forum may call all that is
    said in it so, the first post included. And so does a foot, unless it speaks of consent: some builders of
    pages give any part of a page that name. *find_headline* returns the number of the headline's block.
    """
    headline = find_headline() if _has_prose_around(blocks) else None  # to look for it takes time
    if headline is not None and _is_article(blocks[headline:]):
        within = blocks[headline].within
        for block in blocks:
            if block.within == within:
                block.region = ""
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
        or (prose[each] >= max(ARTICLE, prose[0]) and text[each] >= MUCH_MORE * text[0])
    }
    if text[0] < ARTICLE:
        notices = {block.within for block in blocks if speaks_of_consent(block.text)}
        large |= {each for each in feet - notices if prose[each] >= LONG_FOOT}
    if letters_of([block for block in blocks if block.prose and not block.region]) >= 2 * ARTICLE:
        large.discard(OTHER_ARTICLES)
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


def _has_prose_around(blocks: Sequence[Block]) -> bool:
    """Tell whether any region around, but for teasers, has the paragraphs of an article."""
    prose = Counter[int]()
    for block in blocks:
        prose[block.within] += block.prose * block.letters
    around = {block.within for block in blocks if block.region == "around"} - {OTHER_ARTICLES}
    return any(prose[each] >= ARTICLE for each in around)


def _is_article(blocks: Sequence[Block]) -> bool:
    """Tell whether the region around the first of *blocks*, a headline, is no teaser but an article."""
    headline = blocks[0]
    if headline.region != "around" or headline.within == OTHER_ARTICLES or headline.is_link:
        return False
    return letters_of([each for each in blocks if each.within == headline.within and each.prose]) >= ARTICLE


def leave_out_notices(blocks: Sequence[Block], find_headline: Callable[[], int | None]) -> None:
    """Give notices of consent a region.

    An article may be about cookies: what looks like notices has most of the prose, and the first paragraph
    behind the headline. Such a page keeps all. *find_headline* returns the number of the headline's block.
    """
    notices: list[Block] = []
    for begin, end in _notices(blocks):
        notices += blocks[begin:end]
    taken = {id(block) for block in notices}
    prose = [block for block in blocks if block.prose and not block.region]
    left = letters_of([block for block in prose if id(block) not in taken])
    if left < ARTICLE:
        return
    if left < letters_of(prose) / 2 and (headline := find_headline()) is not None:
        first = next((block for block in blocks[headline:] if block.prose and not block.region), None)
        if id(first) in taken:
            return
    for block in notices:
        block.region = block.region or "around"


def _notices(blocks: Sequence[Block]) -> list[Run]:
    """Return the runs of blocks that speak of consent; a single one only if it is short."""
    runs: list[list[int]] = []
    for number, block in enumerate(blocks):
        if not block.is_free or not _asks_for_consent(block.text):
            continue
        if runs and number - runs[-1][-1] <= _CONSENT_GAP:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [
        Run(numbers[0], _end_of_notice(blocks, numbers))
        for numbers in runs
        if len(numbers) > 1 or blocks[numbers[0]].letters < _CONSENT_ALONE
    ]


def _asks_for_consent(text: str) -> bool:
    """Tell whether *text* reads like a part of a notice of consent."""
    if not speaks_of_consent(text):
        return False
    normalised = normalise(text)
    return bool(phrases(normalised)) or not _CONSENT_SUBJECTS.isdisjoint(subjects(normalised))


def _end_of_notice(blocks: Sequence[Block], numbers: Sequence[int]) -> int:
    """Return where a notice ends whose blocks *numbers* speak of consent: at a heading, or soon."""
    end = numbers[-1] + 1
    if len(numbers) > 1:
        for _ in range(_CONSENT_TAIL):
            if end < len(blocks) and not blocks[end].heading:
                end += 1
    return end


def leave_out_quotations(blocks: Sequence[Block]) -> None:
    """Give lines that a letter quotes a region, where each is a block."""
    for block, quoted in zip(blocks, quoted_lines([block.text for block in blocks]), strict=True):
        if quoted:
            block.region = block.region or "quoted"


def leave_out_comments(blocks: Sequence[Block]) -> None:
    """Give the comments of readers a region: what follows a heading over comments.

    It ends at the next heading of the same level or a higher one. If the words stand in no heading element,
    it goes to the end of the page.
    """
    letters_before = 0
    begun, heading = False, ""
    for block in blocks:
        if begun and heading and block.heading and block.heading <= heading and not heads_others(block.text):
            begun = False
        if begun:
            block.region = block.region or "comments"
        elif block.prose and not block.region:
            letters_before += block.letters
        elif letters_before >= ARTICLE and _may_head(block) and heads_comments(block.text):
            begun, heading = True, block.heading


def _may_head(block: Block) -> bool:
    """Tell whether *block* may be a heading: no link, paragraph, line of a list or cell of a table."""
    return not (block.is_link or block.prose) and (bool(block.heading) or block.tag not in _LINES)


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


def leave_out_other_articles(blocks: Sequence[Block], headline: int | None) -> None:
    """Give further articles of a page a region, such as those that a reader who scrolls on comes to.

    Each has an h1 of its own. The article of the page itself has its *headline*, the number of a block, and
    paragraphs.
    """
    own = 0 if headline is None else blocks[headline].article
    if own and letters_of([block for block in blocks if block.prose and block.article == own]) >= ARTICLE:
        for block in blocks:
            if block.article not in (0, own):
                block.region = block.region or "around"


def told_once(paragraphs: list[Block]) -> list[Block]:
    """Return the *paragraphs* of a text once if all of them come again.

    Some pages have their article twice: for readers and for printers.
    """
    words = [_SIGNS.sub("", block.text) for block in paragraphs]
    again = next((number for number, word in enumerate(words) if number and word == words[0]), len(words))
    if words[again : 2 * again] == words[:again] and letters_of(paragraphs[:again]) >= ARTICLE:
        return paragraphs[:again] + paragraphs[2 * again :]
    return paragraphs


def menus_and_foot(blocks: Sequence[Block]) -> set[int]:
    """Return the numbers of the elements that hold them, see `Block.within`.

    A menu is what stands around the main text and is links for the most part. The main text may stand in
    what is called so by mistake, and teasers of articles are what a page of a list is about. A foot that
    speaks of consent stays: it tells a wall.
    """
    letters: Counter[int] = Counter()
    for block in blocks:
        if block.region == "around" and block.within not in (0, OTHER_ARTICLES, LISTED):
            letters[block.within] += 2 * block.linked - block.letters
    menus = {number for number, more in letters.items() if more >= 0}
    foot = {block.within for block in blocks if block.region == "foot"}
    notices = {block.within for block in blocks if speaks_of_consent(block.text)}
    return menus | (foot - notices)


def heads_others(text: str) -> bool:
    """Tell whether *text* is a heading over what is no part of the article: comments, further articles."""
    return heads_comments(text) or heads_more(text)
