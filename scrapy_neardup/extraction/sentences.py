"""The sentences of a page: of what an extractor found, or of all that is visible if it found too little.

Two copies of an article differ most in what an extractor leaves in or out around it: captions, teasers, menus, the
odd block that it took for the article. Paragraphs that end like a sentence are what both have.
"""

from __future__ import annotations

import regex

from scrapy_neardup.fingerprint.paragraphs import length

from .plain import Plain

#: Name and version.
IDENTITY = "sentences 2"

# All in letters, see `length`. A paragraph of an article is at least so long; of all visible text, which has all of
# the page's boilerplate, only longer ones count.
_PARAGRAPH = 60
_VISIBLE_PARAGRAPH = 100
# With so many letters an article was hardly missed by the extractor; with fewer it was if the visible sentences are
# this many times as many.
_ENOUGH = 2000
_FACTOR = 3
# With fewer in sentences everything extracted is taken: lists, short notes, texts without punctuation.
_LEAST = 600

_END = regex.compile(r"[\p{Sentence_Terminal}:…][\p{Pe}\p{Pf}\p{Pi}\"'\)\]]*\s*$")
_TAIL = 20  # characters that the end of a sentence is looked for in

_plain = Plain()


def main_text(extracted: str, html: str) -> str:
    """Return the main text of the page *html* of which an extractor found *extracted*."""
    text, size = _sentences(extracted, _PARAGRAPH)
    if size >= _ENOUGH:
        return text
    other, other_size = _sentences(_plain(html, None), _VISIBLE_PARAGRAPH)
    if other_size >= _FACTOR * size:
        text, size = other, other_size
    return text if size >= _LEAST else extracted


def _sentences(text: str, minimum: int) -> tuple[str, int]:
    """Return the lines of at least *minimum* letters that end like a sentence, and their letters."""
    kept, total = [], 0
    for line in text.split("\n"):
        size = length(line.strip())
        if size >= minimum and _END.search(line[-_TAIL:]):
            kept.append(line)
            total += size
    return "\n".join(kept), total
