"""What a page is called: its titles, its headline, and what names it among the pages of its site."""

from __future__ import annotations

import html as htmllib
from typing import TYPE_CHECKING

import regex

from scrapy_neardup.fingerprint.paragraphs import length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .blocks import Block

#: Characters of a page in which its titles stand, and of the longest title that is read.
_HEAD, _LONGEST = 1 << 18, 1000
_TITLE = regex.compile(r"<title\b[^<>]*+>([^<]*+)", regex.IGNORECASE | regex.V1)
_META = regex.compile(r"<meta\b[^<>]*+>", regex.IGNORECASE | regex.V1)
_SHARED = regex.compile(
    r"""\b(?:property|name)\s*+=\s*+["']?+og:title(?![\w:\-])""", regex.IGNORECASE | regex.V1
)
_CONTENT = regex.compile(r"""\bcontent\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", regex.IGNORECASE | regex.V1)
#: A headline has at least and at most so many letters, and at least this share of its words is in a title.
_HEADLINE, _LONGEST_HEADLINE, _IN_TITLE = 8, 300, 0.6
_WORD = regex.compile(r"\p{Han}|[\p{L}\p{N}--\p{Han}]+", regex.V1)


def titles(html: str) -> list[str]:
    """Return the title of a page, and the one under which it is shared; those that it has."""
    head = html[:_HEAD]
    found = []
    if (title := _TITLE.search(head)) is not None:
        found.append(title[1])
    for meta in _META.finditer(head):
        if _SHARED.search(meta[0]) is not None:
            found += ["".join(values) for values in _CONTENT.findall(meta[0])][:1]
            break
    shown = (" ".join(htmllib.unescape(title[:_LONGEST]).split()) for title in found)
    return [title for title in dict.fromkeys(shown) if title]


def find_headline(blocks: Sequence[Block], names: Sequence[str]) -> int | None:
    """Return the number of the block that repeats the page's title; of several, the most like a headline."""
    known = {word for name in names for word in _WORD.findall(name.lower())}
    if not known:
        return next((number for number, block in enumerate(blocks) if block.tag == "h1"), None)
    scores = [_likeness(block, known) for block in blocks]
    best = max(scores, default=0.0)
    return scores.index(best) if best else None


def _likeness(block: Block, known: set[str]) -> float:
    """Return how much *block* is like a headline by the words *known* from titles; 0 if it is none."""
    if not _HEADLINE <= block.letters <= _LONGEST_HEADLINE or block.region in ("comments", "foot"):
        return 0.0
    words = _WORD.findall(block.text.lower())
    shared = [word for word in words if word in known]
    if len(shared) < _IN_TITLE * len(words):
        return 0.0
    score = length("".join(shared)) * (2 if block.tag == "h1" else 1.5 if block.heading else 1)
    return score * (0.5 if block.region else 1) * (0.5 if block.is_link else 1)


def only_first_level_heading(blocks: Sequence[Block]) -> int | None:
    """Return the number of the block that is the only free h1 of the page; None if there is not just one."""
    found = [number for number, block in enumerate(blocks) if block.tag == "h1" and block.is_free]
    return found[0] if len(found) == 1 else None


def title_of(blocks: Sequence[Block], names: Sequence[str], headline: int | None, end: int) -> str:
    """Return the words that name the page among those of its site: those of its headline.

    If it has none, or one that names the site or a section, all that it calls itself counts: its titles, and
    its first-level headings up to the *end* of the text.
    """
    if headline is not None:
        block = blocks[headline]
        if not (block.is_link and block.leads_home) and not _names_section(block, names):
            return block.text
    headings = (block.text for block in blocks[: end or len(blocks)] if block.tag == "h1" and block.is_free)
    return " ".join((*names, *headings))


def _names_section(block: Block, names: Sequence[str]) -> bool:
    """Tell whether *block* is no heading and has less than half of the words of each title."""
    words = len(_WORD.findall(block.text))
    return not block.heading and bool(names) and all(2 * words < len(_WORD.findall(name)) for name in names)
