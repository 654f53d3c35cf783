"""Words, by the properties of their characters; in scripts without spaces, single characters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_OTHER, _WORD, _DIGIT, _HAN, _SYLLABLE, _MARK = range(6)
_CLASSES = (
    (_WORD, r"[\p{L}\p{N}]+"),
    (_DIGIT, r"\p{Nd}+"),
    (_HAN, r"[\p{Han}&&[\p{L}\p{Nl}]]+"),
    (_SYLLABLE, r"[[\p{Hiragana}\p{Katakana}\u30FC\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}]+"),
    (_MARK, r"\p{M}+"),
)
_CODE_POINTS = 0x110000
_ASSIGNED = 0x40000  # no letter, digit or visible mark lies beyond plane 3
_SPACE = np.uint8(ord(" "))


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, in order."""

    words: list[str]
    #: Which are one character of a script without spaces; bool[n].
    unspaced: NDArray[np.bool_]
    #: Which of those are of a syllabary or alphabet, so that one of them says little; bool[n].
    syllables: NDArray[np.bool_]
    #: Which have a digit; bool[n].
    numbers: NDArray[np.bool_]


@cache
def _class_of() -> NDArray[np.uint8]:
    """Return the class of each code point; uint8[0x110000], made once a process in about 0.1 s."""
    everything = "".join(map(chr, range(_ASSIGNED)))
    table = np.full(_CODE_POINTS, _OTHER, np.uint8)
    for number, pattern in _CLASSES:
        for match in regex.finditer(pattern, everything, regex.V1):
            table[match.start() : match.end()] = number
    return table


def tokenise(text: str) -> Tokens:
    """Split normalised *text* into tokens.

    A token is a run of letters, digits and their combining marks, or one letter with its marks in Han, Kana,
    Thai, Lao, Khmer and Myanmar.
    """
    return _tokenise(text)[0]


def tokenise_each(texts: Sequence[str]) -> list[Tokens]:
    """Split several normalised texts, together: most of what a text of a page costs is paid by the call."""
    tokens, first = _tokenise("\n".join(texts))
    ends = np.cumsum([len(text) + 1 for text in texts])
    return [
        Tokens(
            tokens.words[start:stop],
            tokens.unspaced[start:stop],
            tokens.syllables[start:stop],
            tokens.numbers[start:stop],
        )
        for start, stop in pairwise([0, *first.searchsorted(ends).tolist()])
    ]


def _tokenise(text: str) -> tuple[Tokens, NDArray[np.intp]]:
    """Return the tokens of *text*, and where each begins."""
    # Whole-array work on code points: a regular expression for the same takes ten times as long.
    encoding, points = _code_points(text)
    kind = _class_of().take(points)
    digits = kind == _DIGIT
    kind -= digits  # words they are, too
    script = kind
    if (kind == _MARK).any():  # a mark is of the script of what it stands on
        standing = np.where(kind == _MARK, 0, np.arange(len(kind)))
        script = kind[np.maximum.accumulate(standing)]
        script = np.where(script == _MARK, _OTHER, script)
    inside = script != _OTHER
    before = np.concatenate(([_OTHER], script))[:-1]
    single = (kind == _HAN) | (kind == _SYLLABLE)
    starts = inside & ((script != before) | single)
    points = np.maximum(points * inside, _SPACE)  # no letter or digit comes before the space
    if single.any():
        points = np.insert(points, np.flatnonzero(starts & (before != _OTHER)), _SPACE)
    first = np.flatnonzero(starts)
    numbers = np.zeros(len(first), np.bool_)
    numbers[first.searchsorted(np.flatnonzero(digits), "right") - 1] = True
    words = points.tobytes().decode(encoding).split()
    return Tokens(words, single[first], script[first] == _SYLLABLE, numbers), first


def _code_points(text: str) -> tuple[str, NDArray[np.uint8 | np.uint16 | np.uint32]]:
    """Return an encoding with one number for each character of *text*, the smallest, and the numbers."""
    if text.isascii():
        return "ascii", np.frombuffer(text.encode(), np.uint8)
    data = text.encode("utf-16-le", "surrogatepass")
    if len(data) == 2 * len(text):
        return "utf-16-le", np.frombuffer(data, "<u2")
    return "utf-32-le", np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
