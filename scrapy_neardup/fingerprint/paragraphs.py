"""Paragraphs of a text: what reads like one, and which are long enough to be fingerprinted."""

from __future__ import annotations

import re

import regex

#: Letters of the shortest paragraph that ends like a sentence, and of the shortest that need not. See
#: `paragraphs.length`.
SENTENCE = 60
LONG = 200
_END = regex.compile(r"[\p{Sentence_Terminal}:…][\p{Pe}\p{Pf}\p{Pi}\"'\)\]]*+\s*+$", regex.V1)
_TAIL = 20  # characters that the end of a sentence is looked for in
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def ends_sentence(line: str) -> bool:
    """Tell whether *line* ends like a sentence."""
    return _END.search(line[-_TAIL:]) is not None


def is_paragraph(line: str, letters: int, least: int = SENTENCE) -> bool:
    """Tell whether *line*, of so many *letters*, is a paragraph of *least* letters or more."""
    return letters >= least and (letters >= LONG or ends_sentence(line))


def stand_in(key: int) -> str:
    """Return a word without digits that stands for the paragraph with this *key* of 64 bits."""
    return f"{key:016x}".translate(_LETTERS)


#: If the long paragraphs have fewer letters than this in all, the whole text is fingerprinted. See `length`.
FALLBACK = 600

# A Chinese text has about a third of the characters of its English translation, a Japanese or Korean one a
# half.
_HAN = regex.compile(r"\p{Han}")
_SYLLABIC = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")
# These scripts and others: to see that a text has none of them takes a tenth of the time of counting.
_BEYOND = re.compile("[\u1100-\u11ff\u2e80-\U0010ffff]")


def length(paragraph: str) -> int:
    """Return the length in letters: a Han character counts as three, Kana and Hangul count as two."""
    if paragraph.isascii() or not _BEYOND.search(paragraph):
        return len(paragraph)
    return len(paragraph) + 2 * len(_HAN.findall(paragraph)) + len(_SYLLABIC.findall(paragraph))


def long_paragraphs(text: str, minimum: int) -> tuple[str, str]:
    """Return what is fingerprinted of *text*, and its short lines.

    The first are the lines whose `length` is at least *minimum*, or all of the text if they are too few.
    """
    if not minimum:
        return text, ""
    kept: list[str] = []
    short: list[str] = []
    for line in text.split("\n"):
        # The number of characters is told quickly, and `length` is never below it.
        (kept if len(line) >= minimum or length(line) >= minimum else short).append(line)
    enough = sum(map(len, kept)) >= FALLBACK or sum(map(length, kept)) >= FALLBACK
    return "\n".join(kept) if enough else text, "\n".join(short)
