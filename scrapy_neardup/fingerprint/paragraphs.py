"""Which paragraphs are fingerprinted: long ones are the article, short ones are values, or what stands around it."""

from __future__ import annotations

import regex

#: A text of which less than this is left by the filter is taken whole. Unit: letters, see `length`.
FALLBACK = 600

# A Chinese text has about a third of the characters of its English translation, a Japanese or Korean one a half.
_HAN = regex.compile(r"\p{Han}")
_SYLLABIC = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")


def length(paragraph: str) -> int:
    """Length in characters, in which a Han character counts three, Kana and Hangul count two."""
    if paragraph.isascii():
        return len(paragraph)
    return len(paragraph) + 2 * len(_HAN.findall(paragraph)) + len(_SYLLABIC.findall(paragraph))


def long_paragraphs(text: str, minimum: int) -> tuple[str, str]:
    """Return the lines of *text* of at least *minimum* `length`, all of it if those are too few; and its shorter lines."""
    if not minimum:
        return text, ""
    kept: list[str] = []
    short: list[str] = []
    for line in text.split("\n"):
        # No length is below the number of characters, which is quickly told.
        (kept if len(line) >= minimum or length(line) >= minimum else short).append(line)
    enough = sum(map(len, kept)) >= FALLBACK or sum(map(length, kept)) >= FALLBACK
    return "\n".join(kept) if enough else text, "\n".join(short)
