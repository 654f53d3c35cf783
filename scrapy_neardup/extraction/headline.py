"""The headline of a page, and what names the page among those of its site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex

from scrapy_neardup.fingerprint.paragraphs import length

from .asides import ARTICLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .asides import Run
    from .block import Block

#: A headline has at least so many letters, but an h1 with less goes before one that is not free; at most so
#: many; and so much of it is in the title, of an h1 less.
_HEADLINE, _LONGEST_HEADLINE, _HEADLINE_IN_TITLE, _H1_IN_TITLE = 8, 300, 0.7, 0.5

_WORD = regex.compile(r"\p{Han}|[\p{L}\p{N}--\p{Han}]+", regex.V1)


def find_headline(blocks: Sequence[Block], names: Sequence[str]) -> int | None:
    """Return the number of the block that repeats the page's title; of several, the most like a headline."""
    known = {word for name in names for word in _WORD.findall(name.lower())}
    if not known:
        return next((number for number, block in enumerate(blocks) if block.tag == "h1"), None)
    best, found, short = 0.0, None, None
    # Of several articles the page's own mostly comes first.
    first = next((block.article for block in blocks if block.article), 0)
    for number, block in enumerate(blocks):
        if block.letters > _LONGEST_HEADLINE or block.region in ("comments", "foot"):
            continue
        if block.is_link and block.region and not block.heading:  # of a menu
            continue
        words = _WORD.findall(block.text.lower())
        shared = [word for word in words if word in known]
        asked = _H1_IN_TITLE if block.tag == "h1" else _HEADLINE_IN_TITLE
        if len(shared) < asked * len(words) and not (block.is_free and _is_labelled(block.text, known)):
            continue
        if block.letters < _HEADLINE:
            if block.tag == "h1" and shared and short is None:
                short = number
            continue
        score = length("".join(shared)) * (2 if block.tag == "h1" else 1.5 if block.heading else 1)
        score *= (0.5 if block.region else 1) * (0.5 if block.is_link else 1)
        score *= 1 if block.article in (0, first) else 0.5
        if score > best:
            best, found = score, number
    # A link may be the site's name, and so may what stands around.
    if short is not None and found is not None and not blocks[found].is_free:
        return short
    return None if found is None else _below_name_of_site(blocks, names, found)


def _below_name_of_site(blocks: Sequence[Block], names: Sequence[str], found: int) -> int:
    """Return the number of the page's headline if the block *found* is the name of its site, else *found*.

    The name of the site stands at the top, with nothing but links before it. A title of the page begins with
    its headline, which is a heading between the name of the site and the article.
    """
    if any(block.is_free for block in blocks[:found]):
        return found
    titles = [_WORD.findall(name.lower()) for name in names]

    def begins(block: Block) -> tuple[int, int]:
        """Return how many titles begin with the words of *block*, and how many these are."""
        words = _WORD.findall(block.text.lower())
        return sum(title[: len(words)] == words for title in titles), len(words)

    begun, most = begins(blocks[found])
    before = 0
    for number, block in enumerate(blocks[found + 1 :], found + 1):
        before += block.letters * block.prose
        if before >= ARTICLE:
            break
        if block.heading and not block.region:
            count, words = begins(block)
            if count and words and (begun < len(titles) or words > most):
                return number
    return found


def _names_section(block: Block, names: Sequence[str], *, above: bool) -> bool:
    """Tell whether *block* is no heading and has less than half of the words of each title.

    So it is with the entry of a menu: all pages of a section may have its name in their titles. But what a
    title begins with is the page's own name, unless it stands *above* the text, where a menu is.
    """
    if block.heading or not names:
        return False
    words = _WORD.findall(block.text.lower())
    titles = [_WORD.findall(name.lower()) for name in names]
    return all(2 * len(words) < len(title) and (above or title[: len(words)] != words) for title in titles)


def _is_labelled(text: str, known: set[str]) -> bool:
    """Tell whether *text* goes on behind a colon, and has only *known* words before it.

    A title such as "Profile" is that of many pages, and the line "Profile: Ann" says which of them this is.
    """
    label, colon, name = text.partition(":")
    words = _WORD.findall(label.lower())
    return bool(colon and name.strip()) and length(label) >= _HEADLINE and known.issuperset(words)


def only_first_level_heading(blocks: Sequence[Block]) -> int | None:
    """Return the number of the block that is the only free h1 of the page; None if there is not just one."""
    found = [number for number, block in enumerate(blocks) if block.tag == "h1" and block.is_free]
    return found[0] if len(found) == 1 else None


def title_of(blocks: Sequence[Block], names: Sequence[str], headline: int | None, run: Run) -> str:
    """Return the words that name the page among those of its site: those of its headline.

    A page may have none, or a short one, or one that is a link to the first page of the site and so the name
    of that, or the name of a section. Then all that it calls itself counts: its titles, and its first-level
    headings up to the end of the *run*.
    """
    if headline is not None:
        block = blocks[headline]
        above = headline < run.begin
        other = (block.is_link and block.leads_home) or _names_section(block, names, above=above)
        if block.letters >= _HEADLINE and not other:
            return block.text
    headings = (
        block.text for block in blocks[: run.end or len(blocks)] if block.tag == "h1" and block.is_free
    )
    return " ".join((*names, *headings))
