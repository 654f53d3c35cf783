"""The headline of a page, and what names the page among those of its site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex

from scrapy_neardup.fingerprint.paragraphs import length

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
        if block.letters > _LONGEST_HEADLINE or block.region == "comments":
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
        score = sum(map(len, shared)) * (2 if block.tag == "h1" else 1.5 if block.heading else 1)
        score *= (0.5 if block.region else 1) * (0.5 if block.is_link else 1)
        score *= 1 if block.article in (0, first) else 0.5
        if score > best:
            best, found = score, number
    # A link may be the site's name, and so may what stands around.
    return short if short is not None and found is not None and not blocks[found].is_free else found


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
    of that. Then all that it calls itself counts: its titles, and its first-level headings up to the end of
    the *run*.
    """
    if headline is not None:
        block = blocks[headline]
        if block.letters >= _HEADLINE and not (block.is_link and block.leads_home):
            return block.text
    headings = (
        block.text for block in blocks[: run.end or len(blocks)] if block.tag == "h1" and block.is_free
    )
    return " ".join((*names, *headings))
