"""What stands around an article though no element says so: notices of consent, further articles.

Their blocks get a region, see `Block.region`, so that they are no main text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.quotations import quoted_lines
from scrapy_neardup.fingerprint.walls import subjects
from scrapy_neardup.fingerprint.wallwords import SUBJECTS

from .block import FORM, LISTED, OTHER_ARTICLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .block import Block

#: With fewer letters in its paragraphs a page has no article.
ARTICLE = 300
#: So many times the text of all that is in no region is much more than that.
MUCH_MORE = 1.5
#: Two blocks that speak of consent are of one notice if the second is at most so many blocks behind the
#: first.
_CONSENT_GAP = 8
#: A notice of one block is no longer.
_CONSENT_ALONE = 500
#: What a notice speaks of beside cookies. Recipes name them, too.
_CONSENT_SUBJECTS = frozenset(("advertising", "browser", "consent", "privacy", "settings", "site"))
#: Words for cookies, which notices of consent have.
_COOKIES = [word.strip() for word in SUBJECTS["cookies"].replace("\n", "|").split("|")]
_ASCII_COOKIES = [*filter(str.isascii, _COOKIES)]


class Run(NamedTuple):
    """Neighbouring blocks, as a range of their numbers."""

    begin: int
    end: int


def letters_of(blocks: Sequence[Block]) -> int:
    """Return how many letters *blocks* have together."""
    return sum(block.letters for block in blocks)


def give_back_article(blocks: Sequence[Block]) -> None:
    """Take the region away from what is the article itself.

    A region "around" holds the article if it has as much prose as there is text in no region, links aside; or
    as much prose as there is in no region, and half as much text again.
    Teasers of other articles count as the article only on a page that has next to nothing else. So do
    comments: a forum may call all that is said in it so, the first post included.
    """
    prose, text = Counter[int](), Counter[int]()
    for block in blocks:
        if not block.is_link and block.region in ("", "around"):
            text[block.within] += block.letters
            prose[block.within] += block.prose * block.letters
    # What stands in no region has the number 0.
    large = {
        each
        for each in prose
        if each
        and prose[each] >= max(ARTICLE, prose[0])
        and (prose[each] >= text[0] or text[each] >= MUCH_MORE * text[0])
    }
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


def leave_out_notices(blocks: Sequence[Block], find_headline: Callable[[], int | None]) -> None:
    """Give notices of consent a region.

    An article may be about cookies: what looks like notices has most of the prose, and the first paragraph
    behind the headline. Such a page keeps all. *find_headline* returns the number of the headline's block.
    """
    notices = [block for begin, end in _notices(blocks) for block in blocks[begin:end]]
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
        Run(numbers[0], numbers[-1] + 1)
        for numbers in runs
        if len(numbers) > 1 or blocks[numbers[0]].letters < _CONSENT_ALONE
    ]


def speaks_of_consent(text: str) -> bool:
    """Tell whether *text* has a word that notices of consent have."""
    folded = text.casefold()
    words = _ASCII_COOKIES if folded.isascii() else _COOKIES
    return any(map(folded.__contains__, words))


def _asks_for_consent(text: str) -> bool:
    """Tell whether *text* reads like a part of a notice of consent."""
    return speaks_of_consent(text) and not _CONSENT_SUBJECTS.isdisjoint(subjects(normalise(text)))


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
