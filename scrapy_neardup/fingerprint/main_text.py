"""What an extractor finds in a page: its main text, its title and its short lines; what a paragraph is.

Of a plain text, lines of a fixed width are joined, and lines that a letter quotes are taken out: left in,
they make it a copy of the letter that it answers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import regex

from .normalise import composed

#: Letters of the shortest paragraph that ends like a sentence, and of the shortest that need not. See
#: `length`.
SENTENCE = 60
LONG = 200
_END = regex.compile(r"[\p{Sentence_Terminal}:…][\p{Pe}\p{Pf}\p{Pi}\"'\)\]]*+\s*+$", regex.V1)
# Thai and Lao have no sign for it.
_UNSIGNED = regex.compile(r"[\p{Thai}\p{Lao}][\p{Pe}\p{Pf}\p{Pi}\"'\)\]]*+\s*+$", regex.V1)
_TAIL = 20  # characters that the end of a sentence is looked for in
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def ends_sentence(line: str) -> bool:
    """Tell whether *line* ends like a sentence."""
    return _END.search(line[-_TAIL:]) is not None


def is_paragraph(line: str, letters: int, least: int = SENTENCE) -> bool:
    """Tell whether *line*, of so many *letters*, is a paragraph of *least* letters or more."""
    if letters < least or letters >= LONG or ends_sentence(line):
        return letters >= least
    return not line.isascii() and _UNSIGNED.search(line[-_TAIL:]) is not None


def stand_in(key: int) -> str:
    """Return a word without digits that stands for the paragraph with this *key* of 64 bits."""
    return f"{key:016x}".translate(_LETTERS)


#: If the long paragraphs have fewer letters than this in all, or than the short ones, the whole text is
#: fingerprinted. See `length`.
FALLBACK = 600

# A Chinese text has a third of the characters of its English translation, a Japanese or Korean one a half.
_HAN = regex.compile(r"\p{Han}")
_SYLLABIC = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")
# These scripts and others, by all else, which compiles sooner. The search takes a tenth of the time to count.
_BEYOND = re.compile("[^\0-\u10ff\u1200-\u2e7f]")


def length(paragraph: str) -> int:
    """Return the length in letters: a Han character counts as three, Kana and Hangul count as two."""
    if paragraph.isascii() or not _BEYOND.search(paragraph):
        return len(paragraph)
    return len(paragraph) + 2 * len(_HAN.findall(paragraph)) + len(_SYLLABIC.findall(paragraph))


def long_paragraphs(text: str, minimum: int) -> tuple[str, str]:
    """Return the lines of *text* of *minimum* `length`, all if they are no most of it; and the short ones."""
    if not minimum:
        return text, ""
    kept, short, size = list[str](), list[str](), 0
    for line in text.split("\n"):
        # The number of characters is told quickly, and `length` is never below it.
        if len(line) >= minimum or (own := length(line)) >= minimum:
            kept.append(line)
        else:
            short.append(line)
            size += own
    least = max(FALLBACK, size)
    enough = sum(map(len, kept)) >= least or sum(map(length, kept)) >= least
    return "\n".join(kept) if enough else text, "\n".join(short)


#: Columns of the narrowest and the widest text that is taken for wrapped.
_NARROWEST, _WIDEST = 40, 100
#: A wrapped text has at least so many full lines, and at least this share of the lines that another one
#: follows.
_FULL_LINES, _SHARE = 3, 0.5
#: This share of the lines may be longer than the widest text: web addresses, for example, do not break.
_UNBROKEN = 0.1
#: The space that begins a paragraph in Chinese and Japanese.
_IDEOGRAPHIC = "\u3000"
# Characters that take two columns, and those that take none.
_WIDE = regex.compile(r"[\p{East_Asian_Width=Wide}\p{East_Asian_Width=Fullwidth}]")
_NARROW = regex.compile(r"[\p{Mn}\p{Me}\p{Cf}]")
# What goes to the next line together: in Chinese and Japanese a character and the signs around it, else all
# up to the next space or such character.
_TOGETHER = regex.compile(
    r"[^\p{L}\s]*(?:[\p{Han}\p{Hiragana}\p{Katakana}][^\p{L}\p{N}\s]*|[^\s\p{Han}\p{Hiragana}\p{Katakana}]*)"
)


def unwrapped(text: str) -> str:
    """Join the lines of each paragraph of *text* if most lines are full; else return it as it is.

    A line is full if the first word of the next one had no room on it. A blank line ends a paragraph, and so
    does one that is indented more than the one before it.
    """
    lines = text.split("\n")
    # Columns are told quickly of lines of ASCII, and of others that they are some at least.
    wide = [line for line in lines if len(line) > _WIDEST and (line.isascii() or len(line) > 4 * _WIDEST)]
    if sum(len(line.rstrip()) > _WIDEST for line in wide) > _UNBROKEN * len(lines):  # most articles
        return text
    lines = [line.rstrip() for line in composed(text).expandtabs().split("\n")]
    widths = [_columns(line) for line in lines]
    fitting = [width for width in widths if 0 < width <= _WIDEST]
    too_wide = sum(width > _WIDEST for width in widths)
    if len(fitting) < _FULL_LINES or too_wide > _UNBROKEN * (len(fitting) + too_wide):
        return text
    if (most := max(fitting)) < _NARROWEST:
        return text
    full = [_full(line, after, most) for line, after in pairwise(lines)]
    followed = sum(bool(line and after) for line, after in pairwise(lines))
    if sum(full) < max(_FULL_LINES, _SHARE * followed):
        return text
    parts = [lines[0].strip()]
    for line, joined in zip(lines[1:], full, strict=True):
        parts += [" " if joined else "\n", line.strip()]
    return "".join(parts)


def _full(line: str, after: str, width: int) -> bool:
    """Tell whether the first word of the line *after* would have gone beyond *width* on *line*."""
    indent = _indent(after)
    if not line or not after or indent > _indent(line) + 1 or after.startswith(_IDEOGRAPHIC, indent):
        return False
    together = _TOGETHER.match(after, indent)
    assert together is not None  # it may be empty
    return _columns(line) + 1 + _columns(together[0]) > width


def _columns(line: str) -> int:
    if line.isascii():
        return len(line)
    return len(line) + len(_WIDE.findall(line)) - len(_NARROW.findall(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


#: The marks before a quoted line, one for each letter that it comes by (RFC 3676, 4.5), some with a stroke.
_MARKS = regex.compile(r"\s*+(?:\|?>\s*+)*+", regex.V1)


def quoted_lines(lines: Sequence[str]) -> list[bool]:
    """Tell which *lines* of a preformatted text are quoted, if it is a letter that quotes another.

    Programs mark lines in the same way. So there is a line that ends with a colon, such as "On Monday Ann
    wrote:", and next one with one or two more; some quoted lines make a paragraph; and there are others.
    """
    nothing = [False] * len(lines)
    if not any(">" in line for line in lines):
        return nothing
    marks = [match[0] for line in lines if (match := _MARKS.match(line)) is not None]  # which may be empty
    parts = [(mark.count(">"), line[len(mark) :].rstrip()) for mark, line in zip(marks, lines, strict=True)]
    groups = itertools.groupby(parts, key=lambda part: (part[0], bool(part[1])))
    joined = [" ".join(text for _, text in group) for (depth, _), group in groups if depth]
    said = [part for part in parts if part[1]]
    led = any(
        1 <= deeper - depth <= 2 and text.endswith(":") for (depth, text), (deeper, _) in pairwise(said)
    )
    own = any(not depth and not text.endswith(":") for depth, text in said)
    if led and own and any(is_paragraph(text, length(text)) for text in joined):
        return [depth > 0 for depth, _ in parts]
    return nothing


def parted(text: str) -> tuple[str, str]:
    """Return what a plain *text* says itself, and what it quotes."""
    if ">" not in text:
        return text, ""
    lines = text.split("\n")
    quoted = quoted_lines(lines)
    if not any(quoted):
        return text, ""
    own = (line for line, each in zip(lines, quoted, strict=True) if not each)
    return "\n".join(own), "\n".join(itertools.compress(lines, quoted))


class MainText(NamedTuple):
    """The main text of a page, what it is called, and its short lines."""

    #: What is fingerprinted: paragraphs, one a line, with short lines in their places.
    text: str
    #: The words that name this page among those of its site; empty if they are not known.
    title: str = ""
    #: Lines of the main content that are too short to be fingerprinted, such as prices and dates.
    details: str = ""

    @property
    def shown(self) -> str:
        """All parts in one text, for people to read."""
        return "\n".join(filter(None, self))


def main_text(text: str | MainText) -> MainText:
    """Return *text* as a `MainText`: unwrapped, with what it quotes among the short lines."""
    if isinstance(text, MainText):
        return text
    own, quoted = parted(text)
    return MainText(unwrapped(own), details=quoted)


def paragraphs_of(text: str) -> dict[bytes, str]:
    """Return the paragraphs of a main text, one a line, by their hashes."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return {
        blake2b(line.encode("utf-8", "surrogatepass"), digest_size=4).digest(): line for line in lines if line
    }


def changes(before: bytes, now: dict[bytes, str]) -> dict[str, Any]:
    """Return what is added (texts by hash), kept and removed since paragraphs had the hashes *before*."""
    old = dict.fromkeys(before[at : at + 4] for at in range(0, len(before), 4))
    return {
        "added": {key.hex(): text for key, text in now.items() if key not in old},
        "kept": [key.hex() for key in now if key in old],
        "removed": [key.hex() for key in old if key not in now],
    }
