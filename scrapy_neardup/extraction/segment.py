"""Main text by segmentation, the default: the run of a page's blocks that is most of all its article.

Pasternack and Roth, "Extracting Article Text from the Web with Maximum Subsequence Segmentation" (WWW 2009):
each block has a score, paragraphs above zero, all else below; the article is the run with the greatest sum.
All lengths are in letters, see `length`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from statistics import median_low

import mmh3
import regex
from lxml.etree import _Element

from scrapy_neardup.fingerprint.main_text import MainText, ends_sentence, length, quoted_lines, stand_in
from scrapy_neardup.fingerprint.normalise import normalise
from scrapy_neardup.fingerprint.values import occasion

from .blocks import CAPTIONS, LISTED, Block, Layout
from .libraries import SEGMENT
from .parsing import parsed, remove_no_text, titles

#: With fewer letters in its paragraphs a page has no article.
ARTICLE = 300
#: Of a list of other articles: entries of the shortest; letters of the shortest title, and of the median one;
#: and the least share that all other paragraphs of the page have.
_ENTRIES, _TITLE, _LONG_TITLE, _SHARE = 3, 5, 20, 1 / 4

#: A headline has at most so many letters, and at least this share of its words is in a title.
_LONGEST_HEADLINE, _IN_TITLE = 300, 0.6
_WORD = regex.compile(r"\p{Han}|[\p{L}\p{N}--\p{Han}]+", regex.V1)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")  # the same, in half the time

#: Paragraphs count by their length, up to this one ...
_MOST = 600
#: ... less before the headline, and more behind it, the nearer the more: three times as much at the most.
_BEFORE_HEADLINE = 0.4
_BEHIND_HEADLINE = 2.0
_DECAY = 1500
#: What other blocks cost: those in a region; links; lines of tables, lists, paragraphs, headings; others.
_COST_AROUND, _COST_LINK, _COST_LINE, _COST_OTHER = 80, 60, 15, 25
#: A short sentence of at least so many letters costs nothing, half of them count (derived_syndication, 2).
_SHORT_SENTENCE, _SHORT_COUNTS = 15, 0.5
#: Paragraphs that are a smaller share of the page are no article.
_SMALL_SHARE = 1 / 4
#: A text that is a smaller part of what a page shows does not tell it from pages that show other things: an
#: article, and lines.
_OF_ARTICLE, _OF_LINES = 1 / 2, 2 / 3
#: Lines beside the main text that are kept, and words that stand for comments and captions; fewer letters
#: than those have short lines.
_DETAILS, _MARKS, _SHORT = 200, 100, 60


class Segment:
    """The article as the run of blocks with the greatest score; if there is none, the lines of the page."""

    identity = SEGMENT

    def __call__(self, html: str, url: str | None) -> MainText | None:
        return None if (root := parsed(html)) is None else self.text_of(root, html)

    def text_of(self, root: _Element, html: str) -> MainText | None:
        """Return the text of a page; *html* has its title. The tree is changed."""
        remove_no_text(root)
        names = titles(html)
        layout = Layout(root)
        blocks = layout.blocks
        _give_back_article(blocks)
        for block, quoted in zip(blocks, quoted_lines([block.text for block in blocks]), strict=True):
            if quoted:
                block.region = block.region or "quoted"
        named = find_headline(blocks, names)  # a site may have one title for all of its pages
        first_level = [number for number, block in enumerate(blocks) if block.tag == "h1" and block.is_free]
        headline = first_level[0] if named is None and len(first_level) == 1 else named
        _leave_out_digests(blocks, headline)
        run = _best_run(blocks, headline)
        held = (run.start, run.stop - 1, run.start if headline is None else headline)
        inside = layout.container(held) if run else range(len(blocks))
        least = max(ARTICLE, _SMALL_SHARE * _letters(_free(blocks)))
        captions = [block for block in blocks if block.within == CAPTIONS]
        others = [block for block in blocks[run.start : run.stop] if block.prose and block.within != CAPTIONS]
        if _letters(_free(others)) >= max(least, _letters(captions)):
            for block in captions:
                block.region = "around"
        lines = _free(blocks[run.start : run.stop])
        prose = [block for block in lines if block.prose]
        found = _letters(prose)
        begin = run.start if headline is None else min(run.start, headline + 1)
        title = title_of(blocks, names, named)
        details = _details(blocks, begin, run, headline, inside.stop)
        above = [block.text for block in _free(blocks[inside.start : headline or 0])]
        if occasion(normalise("\n".join(above))):
            details[:0] = above
        # What a letter quotes above its own words, or between them, tells it from others that begin alike.
        details += [block.text for block in blocks[begin : run.stop] if block.region == "quoted"]
        is_article = found >= least
        own, shown = prose, blocks[inside.start : inside.stop]
        if not is_article:
            # A page without an article is its lines, without menu and foot; if they are few, links are, too.
            own = _free(shown)
            if _letters(own) < ARTICLE:
                own = [block for block in blocks if not block.region] or blocks
            shown = blocks
        # Comments and captions are no part of the text, but pages of one article may differ in nothing else.
        details[:0] = [mark for block in blocks for mark in _marks(block)][:_MARKS]
        # It may be the same on pages that show different things: a note over a list. Teasers may be entries.
        shown = [block for block in shown if not block.region or block.within in (LISTED, CAPTIONS)]
        if _letters(own) < (_OF_ARTICLE if is_article else _OF_LINES) * _letters(shown):
            details = [*(block.text for block in shown), *details]
        said = [block.text for block in own]
        details = _without(details, said)[:_DETAILS]
        # In so long a text short lines are fingerprinted only if they are most of it, so they stand in their
        # places; but what is on when is told by the first of all lines that have hours.
        is_long = is_article and found >= 2 * ARTICLE
        if is_long and not occasion(normalise("\n".join(details))):
            said = [block.text for block in lines if block.prose or block.letters < _SHORT]
            details = _without(details, said)
        return MainText("\n".join(said), title, "\n".join(details)) if any(said) else None


def _marks(block: Block) -> list[str]:
    """Return words that stand for a comment, or for a caption: three, more than rules forgive."""
    is_caption = block.region == "around" and block.within == CAPTIONS
    number = 3 if is_caption else int(block.prose and block.region == "comments")
    return [stand_in(mmh3.hash64(block.text, seed, signed=False)[0]) for seed in range(number)]


def _without(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return each of the *lines* that is none of *others* once, in order."""
    known = {*others}
    return [line for line in dict.fromkeys(lines) if line not in known]


def _give_back_article(blocks: Sequence[Block]) -> None:
    """Take the region away from what is most of the text, and so the article itself.

    A region "around" is if it has as much prose as there is text in no region, links aside. So are comments
    where there is no other article. Where there is neither, the greater part counts, however short.
    """
    around = Counter[int]()
    for block in blocks:
        if block.prose and block.region == "around":
            around[block.within] += block.letters
    comments = [block for block in blocks if block.region == "comments"]
    for least in (ARTICLE, 1):
        least = max(least, _letters(_free(blocks)))
        for block in blocks:
            if around[block.within] >= least:
                block.region = ""
        free = _free(blocks)
        is_article = _letters([block for block in free if block.prose]) >= ARTICLE
        least = max(ARTICLE, _letters(free))
        if not is_article and _letters([block for block in comments if block.prose]) >= least:
            for block in comments:
                block.region = ""


def _leave_out_digests(blocks: Sequence[Block], headline: int | None) -> None:
    """Give lists of other articles a region.

    They are three or more entries of one shape, each a link for a title, and a text, below an article or
    above it. They stay where few other paragraphs are on the page, or stand in one element with them.
    """
    #: Of each paragraph: its block, and that of the link that is its title.
    texts: list[tuple[int, int | None]] = []
    title: int | None = None
    for number, block in enumerate(blocks):
        if number == headline:
            title = None
        if block.region:
            continue
        if block.prose:
            texts.append((number, title))
            title = None
        elif (
            block.is_link
            and block.letters >= (_TITLE if title is None else blocks[title].letters + 1)
            and not block.href.lstrip().lower().startswith(("#", "javascript:"))  # which unfolds an answer
        ):
            title = number
    found: list[list[tuple[int, int | None]]] = []
    begin = 0
    # What entries of one list have in common: the elements of their titles and texts.
    shapes = [
        () if title is None else (blocks[title].tag, blocks[title].heading, blocks[number].tag)
        for number, title in texts
    ]
    for shape, group in itertools.groupby(shapes):
        end = begin + len([*group])
        if shape and end - begin >= _ENTRIES and _is_apart(blocks, texts, begin, end):
            found.append(texts[begin:end])
        begin = end
    every = sum(blocks[number].letters for number, _ in texts)
    rest = every - sum(blocks[number].letters for entries in found for number, _ in entries)
    if rest < max(2 * ARTICLE, _SHARE * every):
        return
    for entries in found:
        for block in blocks[entries[0][1] : entries[-1][0] + 1]:
            if not block.region:
                block.region, block.within = "around", LISTED


def _is_apart(blocks: Sequence[Block], texts: Sequence[tuple[int, int | None]], begin: int, end: int) -> bool:
    """Tell whether the paragraphs from *begin* to *end* are no part of an article."""
    before = {blocks[number].parent for number, _ in texts[:begin]}
    own = {blocks[number].parent for number, _ in texts[begin:end]}
    behind = {blocks[number].parent for number, _ in texts[end:]}
    titles = [blocks[title].letters for _, title in texts[begin:end] if title is not None]
    return own.isdisjoint(before | behind) and before.isdisjoint(behind) and median_low(titles) >= _LONG_TITLE


def _letters(blocks: Sequence[Block]) -> int:
    return sum(block.letters for block in blocks)


def _free(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks that stand around nothing, and are no links."""
    return [block for block in blocks if block.is_free]


def _best_run(blocks: Sequence[Block], headline: int | None) -> range:
    """Return the run of blocks with the greatest sum of scores, in one pass (Kadane's algorithm)."""
    best, run = 0.0, range(0)
    total, begin, behind = 0.0, 0, 0
    for number, block in enumerate(blocks):
        score = _score(block)
        if headline is not None:
            if number <= headline:
                score *= _BEFORE_HEADLINE if score > 0 and number < headline else 1
            else:
                score *= 1 + _BEHIND_HEADLINE * math.exp(-behind / _DECAY) if score > 0 else 1
                behind += block.letters
        if total <= 0:
            total, begin = 0.0, number
        total += score
        if total > best:
            best, run = total, range(begin, number + 1)
    return run


def _score(block: Block) -> float:
    if block.region:
        return -_COST_AROUND
    if block.prose:
        return min(block.letters, _MOST)
    if block.is_link:
        return -_COST_LINK
    if block.letters >= _SHORT_SENTENCE and ends_sentence(block.text):
        return _SHORT_COUNTS * block.letters
    is_line = block.heading or block.tag in ("li", "dd", "dt", "td", "th", "p", "pre")
    return -_COST_LINE if is_line else -_COST_OTHER


def _details(blocks: Sequence[Block], begin: int, run: range, headline: int | None, end: int) -> list[str]:
    """Return the short lines of the main text, up to where something else begins, at *end* at the latest.

    A heading that is a link is one of them if it does not stand behind the text: it names an entry of a list.
    Behind a text that stands before the headline they are those under the headline.
    """
    lines: list[str] = []
    behind = run.stop if headline is None else max(run.stop, headline + 1)
    for number in (*range(begin, run.stop), *range(behind, end)):
        block = blocks[number]
        if number >= behind and (block.prose or block.region):
            break
        is_entry = number < run.stop and block.heading and not block.region
        if (block.is_free or is_entry) and not (block.prose and number in run):
            lines.append(block.text)
    return lines


def find_headline(blocks: Sequence[Block], names: Sequence[str]) -> int | None:
    """Return the number of the block that repeats the page's title; of several, the most like a headline."""
    known = {word for name in names for word in _words(name.lower())}
    scores = [_likeness(block, known) for block in blocks]
    best = max(scores, default=0.0)
    return scores.index(best) if best else None


def _likeness(block: Block, known: set[str]) -> float:
    """Return how much *block* is like a headline by the words *known* from titles; 0 if it is none."""
    if block.letters > _LONGEST_HEADLINE or block.region in ("comments", "foot"):
        return 0.0
    words = _words(block.text.lower())
    shared = [word for word in words if word in known]
    share = len(shared) / max(len(words), 1)
    if share < _IN_TITLE:
        return 0.0
    score = length("".join(shared)) * share * (2 if block.tag == "h1" else 1.5 if block.heading else 1)
    return score * (0.5 if block.region else 1) * (0.5 if block.is_link else 1)


def _words(text: str) -> list[str]:
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


def title_of(blocks: Sequence[Block], names: Sequence[str], headline: int | None) -> str:
    """Return the words that name the page among those of its site: those of its headline.

    If it has none, or one that is a link to the site, all that it calls itself counts: its titles, and its
    first-level headings.
    """
    if headline is not None:
        block = blocks[headline]
        if not (block.is_link and block.leads_home):
            return block.text
    return " ".join((*names, *(block.text for block in blocks if block.tag == "h1" and block.is_free)))
