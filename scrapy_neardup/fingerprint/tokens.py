"""Splits texts into words by the properties of characters; in scripts without spaces, into characters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import regex

from .normalise import encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_OTHER, _WORD, _DIGIT, _HAN, _NUMERAL, _SYLLABLE, _LETTER, _MARK = range(8)
_CLASSES = (
    (_WORD, r"[\p{L}\p{N}]+"),
    (_DIGIT, r"\p{Nd}+"),
    (_HAN, r"[\p{Han}&&[\p{L}\p{Nl}]]+"),
    (_NUMERAL, r"[\p{Han}&&[\p{Numeric_Type=Numeric}\p{Nl}]]+"),
    (_SYLLABLE, r"[[\p{Hiragana}\p{Katakana}\u30FC]&&\p{L}]+"),
    (_LETTER, r"[[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}]+"),
    (_MARK, r"\p{M}+"),
)
_CODE_POINTS = 0x110000
_BEGINS = -64  # as signed bytes
_ASSIGNED = 0x40000  # no letter, digit or visible mark lies beyond plane 3


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, in order, as the places where they stand."""

    #: The text in UTF-8, perhaps among other texts.
    data: bytes
    #: Where in the data each token begins and ends; intp[n].
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    #: Which tokens are one character of a script without spaces; bool[n].
    unspaced: NDArray[np.bool_]
    #: Which of those are of a syllabary or alphabet, so that one of them says little; bool[n].
    syllables: NDArray[np.bool_]
    #: Which of these are of an alphabet: four of them make a word, of other characters two; bool[n].
    letters: NDArray[np.bool_]
    #: Which tokens have a digit, or are a Han character for a number; bool[n].
    numbers: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, which: slice | NDArray[np.bool_]) -> Tokens:
        return Tokens(
            self.data,
            self.starts[which],
            self.ends[which],
            self.unspaced[which],
            self.syllables[which],
            self.letters[which],
            self.numbers[which],
        )

    @property
    def words(self) -> list[str]:
        """The tokens as texts."""
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.data[start:end].decode() for start, end in places]


@cache
def _class_of() -> NDArray[np.uint8]:
    """Return the class of each code point; uint8[0x110000], made once a process in about 0.1 s."""
    everything = "".join(map(chr, range(_ASSIGNED)))
    table = np.full(_CODE_POINTS, _OTHER, np.uint8)
    for number, pattern in _CLASSES:
        for match in regex.finditer(pattern, everything, regex.V1):
            table[match.start() : match.end()] = number
    return table


@cache
def _class_of_ascii() -> bytes:
    """Return the classes of the first 256 code points, as a table for `bytes.translate`."""
    return _class_of()[:256].tobytes()


def tokenise(text: str) -> Tokens:
    """Split normalised *text* into tokens.

    A token is a run of letters, digits and their combining marks, or one letter with its marks in Han, Kana,
    Thai, Lao, Khmer and Myanmar.
    """
    return _tokenise(text)[0]


def tokenise_each(texts: Sequence[str], pages: int = 0) -> list[Tokens]:
    """Split several normalised texts together, since most of the cost of a short text is that of the call.

    Texts of ASCII characters alone take a fraction of the time, and are split apart from the others. With
    *pages*, the texts are parts of so many pages: first one part of each page, then another part of each, and
    so on. Then the parts of one page are split together.
    """
    if len(texts) == 1:
        return [tokenise(texts[0])]
    found: dict[int, Tokens] = {}
    plain = [text.isascii() for text in texts]
    if pages:
        plain = [all(plain[number % pages :: pages]) for number in range(len(texts))]
    for ascii_only in set(plain):
        numbers = [number for number, each in enumerate(plain) if each == ascii_only]
        together = [texts[number] for number in numbers]
        tokens, first = _tokenise("\n".join(together))
        stops = first.searchsorted(np.cumsum([len(text) + 1 for text in together])).tolist()
        for number, (start, stop) in zip(numbers, pairwise([0, *stops]), strict=True):
            found[number] = tokens[start:stop]
    return [found[number] for number in range(len(texts))]


def _tokenise(text: str) -> tuple[Tokens, NDArray[np.intp]]:
    """Return the tokens of *text*, and with which character each begins."""
    # Whole-array work on code points: a regular expression for the same takes ten times as long.
    data, kind, places = _classes(text)
    script = np.zeros(len(kind) + 2, np.uint8)
    digits = (kind == _DIGIT) | (kind == _NUMERAL)
    if places is None or kind.max() <= _DIGIT:  # words alone, whose edges take turns
        np.minimum(kind, _WORD, out=script[1:-1])
        first, last = (script[1:] != script[:-1]).nonzero()[0].reshape(-1, 2).T
        single = syllables = letters = np.zeros(len(first), np.bool_)
    else:
        script[1:-1] = _script_of_marks(kind - digits)
        before, after = script[:-1], script[1:]
        edge = before != after
        edge[:-1] |= (kind >= _HAN) & (kind <= _LETTER)
        first = (edge & (after != _OTHER)).nonzero()[0]
        last = (edge & (before != _OTHER)).nonzero()[0]
        of_first = after.take(first)
        syllables, letters = of_first >= _SYLLABLE, of_first == _LETTER
        single = of_first >= _HAN
    numbers = np.zeros(len(first), np.bool_)
    numbers[first.searchsorted(digits.nonzero()[0], "right") - 1] = True
    starts, ends = (first, last) if places is None else (places.take(first), places.take(last))
    return Tokens(data, starts, ends, single, syllables, letters, numbers), first


def _script_of_marks(script: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Let each mark be of the script of what it stands on."""
    marks = script == _MARK
    if not marks.any():
        return script
    standing = np.where(marks, 0, np.arange(len(script)))
    script = script[np.maximum.accumulate(standing)]
    return np.where(script == _MARK, np.uint8(_OTHER), script)


def _classes(text: str) -> tuple[bytes, NDArray[np.uint8], NDArray[np.intp] | None]:
    """Return *text* in UTF-8, the class of each character, and where in UTF-8 each character begins.

    The last is None if the text is ASCII, where both have the same places.
    """
    data = encoded(text)
    if len(data) == len(text):
        return data, np.frombuffer(data.translate(_class_of_ascii()), np.uint8), None
    # All bytes begin a character but those from 0x80 to 0xBF. One more is where the text ends.
    places = (np.frombuffer(data + b"\0", np.int8) >= _BEGINS).nonzero()[0]
    return data, _class_of().take(_code_points(text), mode="clip"), places


def _code_points(text: str) -> NDArray[np.uint16 | np.uint32]:
    data = encoded(text, "utf-16-le")
    if len(data) == 2 * len(text):
        return np.frombuffer(data, "<u2")
    return np.frombuffer(encoded(text, "utf-32-le"), "<u4")
