"""Main text by segmentation, the default: the run of a page's blocks that is most of all its article.

Pasternack and Roth, "Extracting Article Text from the Web with Maximum Subsequence Segmentation" (WWW 2009):
every block of the page has a score, paragraphs above zero, all else below, and the article is the run of
neighbours with the greatest sum. So two pages with one text yield the same paragraphs, whatever stands around
them. docs/quality.md compares it with Trafilatura.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.fingerprint.paragraphs import length
from scrapy_neardup.fingerprint.prose import SENTENCE

from . import sentences
from .asides import (
    ARTICLE,
    Run,
    give_back_article,
    heads_others,
    leave_out_captions,
    leave_out_comments,
    leave_out_notices,
    leave_out_other_articles,
    leave_out_quotations,
    letters_of,
    menus_and_foot,
    told_once,
)
from .block import FORM, LISTED, OTHER_ARTICLES
from .blocks import blocks_of
from .digests import leave_out_digests
from .headings import heads_more
from .headline import find_headline, only_first_level_heading, title_of
from .titles import titles
from .trafilatura import Trafilatura

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .block import Block

# All lengths are in letters, see `length`.

#: Paragraphs count by their length, up to this one ...
_MOST = 600
#: ... less before the headline, and more behind it, the nearer the more: three times as much at the most.
_BEFORE_HEADLINE = 0.4
_BEHIND_HEADLINE = 2.0
_DECAY = 1500
#: What other blocks cost: what stands in a region; links; headings over further articles; other headings;
#: lines of tables, lists and paragraphs; other lines.
_COST_AROUND, _COST_LINK, _COST_MORE, _COST_HEADING, _COST_LINE, _COST_OTHER = 80, 60, 300, 10, 15, 25
#: A short sentence of at least so many letters costs nothing: its letters count half.
_SHORT_SENTENCE, _SHORT_COUNTS = 15, 0.5
#: Paragraphs that are a smaller share of the page are no article.
_SMALL_SHARE = 1 / 4
#: Where paragraphs are a smaller share of the run, as in lists, its short lines are main text, too.
_PROSE = 0.5
#: A text that is a smaller part of what a page shows, or of the prose in that, does not tell it from pages
#: that show other things. So it is with less than half of a page whose headline stands apart from the text.
_SMALL_PART, _SMALL_PART_OF_PROSE, _SMALL_PART_APART = 1 / 3, 1 / 2, 1 / 2
#: Nor with less than half of a page that lists so many entries before it: headings that are links. A category
#: of a shop may have a long text under its products, the same on all pages of the list.
_ENTRIES, _SMALL_PART_OF_LIST = 6, 1 / 2
#: Nor does a text that is less than this part of a page without an article: any part may have been found.
_SMALL_PART_OF_LINES = 2 / 3
#: So many blocks may stand in one line of what Trafilatura finds.
_IN_ONE_LINE = 4
#: Short lines of the main text that are kept; and how many blocks before its first paragraph may be some.
_DETAILS, _LEAD = 200, 15
#: To find that many short lines of a page, so many times as many are looked at.
_LOOKED_FOR = 5


class Segment:
    """The article as the run of blocks with the greatest score; if there is none, what Trafilatura finds."""

    def __init__(self) -> None:
        self._otherwise = Trafilatura()
        self.identity = f"segment 13, {self._otherwise.identity}"

    def __call__(self, html: str, url: str | None) -> MainText | None:
        names = titles(html)
        blocks = blocks_of(html)
        give_back_article(blocks, lambda: find_headline(blocks, names))
        leave_out_notices(blocks, lambda: find_headline(blocks, names))
        leave_out_quotations(blocks)
        leave_out_comments(blocks)
        leave_out_captions(blocks)
        headline = find_headline(blocks, names)
        leave_out_other_articles(blocks, headline)
        named = headline  # a site may have one title for all of its pages
        if headline is None:
            headline = only_first_level_heading(blocks)
        run = _best_run(blocks, headline)
        digests = leave_out_digests(blocks, headline)
        if digests:
            digests = [number for number in digests if run.begin <= number < run.end]
            run = _best_run(blocks, headline)
        lines = _free(blocks[run.begin : run.end])
        prose = [block for block in lines if block.prose]
        found = letters_of(prose)
        begin = _beginning(blocks, headline, run)
        title = title_of(blocks, names, named, run)
        details = _details(blocks, begin, run, headline)
        # They tell pages of a site from each other that have an introduction in common.
        details += [blocks[number].text for number in digests][: _DETAILS - len(details)]
        # So does what a letter quotes above its own words, or between them.
        above = begin if headline is None else min(begin, headline)
        quoted = [block.text for block in blocks[above : run.end] if block.region == "quoted"]
        details += quoted[: _DETAILS - len(details)]
        if found < max(ARTICLE, _SMALL_SHARE * letters_of(_free(blocks))):
            other = self._other(html, title, blocks, details)
            return other and _completed(other, blocks, headline, run, _SMALL_PART_OF_LINES)
        kept = told_once(prose) if found >= _PROSE * letters_of(lines) else lines
        text = MainText("\n".join(block.text for block in kept), title, "\n".join(details))
        return _completed(text, blocks, headline, run)

    def _other(
        self, html: str, title: str, blocks: Sequence[Block], details: Sequence[str]
    ) -> MainText | None:
        """Return what Trafilatura finds, without menus, foot, what is quoted, and the form for a comment.

        It takes all lines of a page that has no article. *details* are the short lines of what comes nearest
        to one: a place or a colour in them may be all that tells the page from others.
        """
        around = menus_and_foot(blocks)
        without = [
            block.within in around or block.within == FORM or block.region == "quoted" for block in blocks
        ]
        shown = [block.text for block, out in zip(blocks, without, strict=True) if not out]
        left_out = _in_one_line([block for block, out in zip(blocks, without, strict=True) if out])
        left_out -= {*map(_bare, shown)}
        found = self._otherwise.lines(html)
        lines = [
            line
            for line in found.split("\n")
            if not all(bare in left_out or not bare for bare in map(_bare, line.split("|")))
        ]
        if found and not lines:  # It took a sidebar for the article of a page with a line or two of its own.
            lines = [block.text for block in _free(blocks)]
        text, left_out_of_text = sentences.divided("\n".join(lines), lambda: "\n".join(shown))
        return MainText(text, title, "\n".join((left_out_of_text, *details)).strip()) if text else None


def _in_one_line(blocks: Sequence[Block]) -> set[str]:
    """Return the bare text of each of *blocks*, and of each few that follow each other in one element.

    Trafilatura has elements that stand side by side in one line, such as the entries of a foot.
    """
    bare = [_bare(block.text) for block in blocks]
    found = {*bare}
    for number, block in enumerate(blocks):
        line = bare[number]
        for next_number in range(number + 1, min(number + _IN_ONE_LINE, len(blocks))):
            if blocks[next_number].within != block.within:
                break
            line += bare[next_number]
            found.add(line)
    return found


def _bare(line: str) -> str:
    """Return *line* without what only divides: spaces, and the mark of a list's entry."""
    return "".join(line.removeprefix("- ").split())


def _completed(
    text: MainText, blocks: Sequence[Block], headline: int | None, run: Run, part: float = _SMALL_PART
) -> MainText:
    """Return *text* with all that the page shows outside its regions, if it is less than *part* of that.

    Such a text may be the same on pages that show different things: a note over a list or a calendar, some
    of the entries of a list. So may a note in a sidebar, if there is no other paragraph. Then the *headline*
    stands in another region, and the list with it. Teasers between the headline and the *run* of the text are
    no further articles, but what the page lists; so are all teasers of a page without a headline.
    """
    apart = headline is not None and blocks[headline].region == "around"
    listed = range(len(blocks)) if headline is None else range(headline, run.begin)
    shown = [
        block
        for number, block in enumerate(blocks)
        if not block.region
        or block.within == LISTED
        or (apart and block.region == "around")
        or (number in listed and block.within == OTHER_ARTICLES)
    ]
    prose = [block for block in shown if block.prose]
    part = max(part, _SMALL_PART_APART) if apart else part
    entries = (bool(block.heading) and block.is_link and not block.region for block in blocks[: run.end])
    if sum(entries) >= _ENTRIES:
        part = max(part, _SMALL_PART_OF_LIST)
    if length(text.text) >= max(part * letters_of(shown), _SMALL_PART_OF_PROSE * letters_of(prose)):
        return text
    # Each is looked for in all of the text, so they are not too many.
    lines = [*dict.fromkeys(block.text for block in shown)][: _LOOKED_FOR * _DETAILS]
    known = {*text.details.split("\n")}
    others = [line for line in lines if line in known or line not in text.text]
    return text._replace(details="\n".join(others[:_DETAILS]))


def _free(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks that stand around nothing, and are no links."""
    return [block for block in blocks if block.is_free]


def _best_run(blocks: Sequence[Block], headline: int | None) -> Run:
    """Return the run of blocks with the greatest sum of scores, in one pass (Kadane's algorithm)."""
    best, run = 0.0, Run(0, 0)
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
            best, run = total, Run(begin, number + 1)
    return run


def _score(block: Block) -> float:
    if block.region:
        return -_COST_AROUND
    if block.prose:
        return min(block.letters, _MOST)
    if block.is_link:
        return -_COST_LINK
    if (block.heading or block.letters < SENTENCE) and heads_more(block.text):
        return -_COST_MORE
    if block.heading:
        return -_COST_HEADING
    if block.letters >= _SHORT_SENTENCE and block.ends:
        return _SHORT_COUNTS * block.letters
    return -_COST_LINE if block.tag in ("li", "dd", "dt", "td", "th", "p", "pre") else -_COST_OTHER


def _beginning(blocks: Sequence[Block], headline: int | None, run: Run) -> int:
    """Return the number of the first block of the main text, which is the one behind the headline.

    If there is no headline before the *run*, the lines right before the run are part of the main text.
    """
    if headline is not None and headline < run.begin:
        return headline + 1
    begin = run.begin
    while begin > max(0, run.begin - _LEAD) and blocks[begin - 1].is_free:
        begin -= 1
    return begin


def _details(blocks: Sequence[Block], begin: int, run: Run, headline: int | None) -> list[str]:
    """Return the short lines of the main text, up to where something else begins.

    A heading that is a link is one of them if it does not stand behind the text: it names an entry of a list.
    So is a link to a document, with the name of the file: lists of other documents may have the same words.

    Behind a text that stands before the headline, such as a line that runs over all pages of a site, they are
    those under the headline.
    """
    lines: list[str] = []
    behind = run.end if headline is None else max(run.end, headline + 1)
    for number in (*range(begin, run.end), *range(behind, len(blocks))):
        block = blocks[number]
        if number >= behind and (block.prose or block.region or heads_others(block.text)):
            break
        if len(lines) == _DETAILS:
            break
        names_entry = number < run.end and block.heading and not block.region
        is_paragraph = block.prose and run.begin <= number < run.end
        document = "" if block.region else block.document
        if document:
            lines.append(f"{block.text} {document}")
        elif (block.is_free or names_entry) and not is_paragraph:
            lines.append(block.text)
    return lines
