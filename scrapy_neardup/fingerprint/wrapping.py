"""Unwraps text that was broken into lines of a fixed width, as in mail and on news wires."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import regex

from .normalise import composed

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Join the lines of each paragraph of *text* if the text is wrapped; else return it as it is.

    A line is full if the first word of the next line had no room on it; in Chinese and Japanese, its first
    character. A text is wrapped if most of its lines are full; each full line is joined to the next one. A
    blank line ends a paragraph, and so does a line that is indented more than the one before it. Verse whose
    lines have one length looks the same, and is joined, too.
    """
    if "\n" not in text:
        return text
    columns = composed(text).expandtabs()  # an accent of its own takes no column
    lines = [line.rstrip() for line in columns.split("\n")]
    full = full_lines(lines)
    if not any(full):
        return text
    parts = [lines[0].strip()]
    for line, joined in zip(lines[1:], full, strict=True):
        parts += [" " if joined else "\n", line.strip()]
    return "".join(parts)


def full_lines(lines: Sequence[str]) -> list[bool]:
    """Tell which *lines*, none of which ends with a space, are full; none if the text is not wrapped.

    Nothing is said of the last one.
    """
    lengths = [_columns(line) for line in lines if line]
    fitting = [length for length in lengths if length <= _WIDEST]
    none = [False] * (len(lines) - 1)
    if len(fitting) < _FULL_LINES or len(lengths) - len(fitting) > _UNBROKEN * len(lengths):
        return none
    width = max(fitting)
    if width < _NARROWEST:
        return none
    full = [_full(line, after, width) for line, after in pairwise(lines)]
    followed = sum(bool(line and after) for line, after in pairwise(lines))
    return full if sum(full) >= max(_FULL_LINES, _SHARE * followed) else none


def _full(line: str, after: str, width: int) -> bool:
    """Tell whether the first word of the line *after* would have gone beyond *width* on *line*."""
    if (
        not line
        or not after
        or _indent(after) > _indent(line) + 1
        or after.lstrip(" ").startswith(_IDEOGRAPHIC)
    ):
        return False
    together = _TOGETHER.match(after, _indent(after))
    assert together is not None  # it may be empty
    return _columns(line) + 1 + _columns(together[0]) > width


def _columns(line: str) -> int:
    if line.isascii():
        return len(line)
    return len(line) + len(_WIDE.findall(line)) - len(_NARROW.findall(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
