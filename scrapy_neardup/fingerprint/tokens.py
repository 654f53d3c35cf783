"""Splits texts into words by the properties of characters; in scripts without spaces, into characters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from .normalise import BMP, CODE_POINTS, code_points, text_of

#: Kinds of characters. One of a syllabary says little alone; of an alphabet, four make a word.
_OTHER, _WORD, _DIGIT, HAN, _NUMERAL, SYLLABLE, LETTER, _MARK = range(8)
_CLASSES = (
    (_WORD, r"[\p{L}\p{N}]+"),
    (_DIGIT, r"\p{Nd}+"),
    (HAN, r"[\p{Han}&&[\p{L}\p{Nl}]]+"),
    (_NUMERAL, r"[\p{Han}&&[\p{Numeric_Type=Numeric}\p{Nl}]]+"),
    (SYLLABLE, r"[[\p{Hiragana}\p{Katakana}\u30FC]&&\p{L}]+"),
    (LETTER, r"[[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&\p{L}]+"),
    (_MARK, r"\p{M}+"),
)
#: What stands between texts that are tokenised together; no normalised text has it.
BETWEEN = "\x1f"
_ASSIGNED = 0x40000  # no letter, digit or visible mark lies beyond plane 3


@dataclass(slots=True)
class Tokens:
    """The tokens of a text, in order, as the places where they stand."""

    #: The code points of the text, with `BETWEEN` before it and behind it: uint8, uint16 or uint32.
    points: NDArray[np.uint8 | np.uint16 | np.uint32]
    #: Where each token begins and ends; intp[n, 2].
    places: NDArray[np.intp]
    #: What each token is: a word, 0, or one character of a script without spaces, `HAN` or above; uint8[n].
    kinds: NDArray[np.uint8]
    #: Which tokens have a digit, or are a Han character for a number; bool[n].
    numbers: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, which: slice | NDArray[np.bool_]) -> Tokens:
        """Return some of the tokens (bool[n])."""
        return Tokens(self.points, self.places[which], self.kinds[which], self.numbers[which])

    @property
    def lengths(self) -> NDArray[np.intp]:
        """How many code points each token has; intp[n]."""
        lengths: NDArray[np.intp] = self.places[:, 1] - self.places[:, 0]
        return lengths

    @property
    def bounds(self) -> list[int]:
        """Of the texts that `BETWEEN` divides, number i has the tokens from bounds[i] to bounds[i + 1]."""
        ends = (self.points == ord(BETWEEN)).nonzero()[0]
        bounds: list[int] = self.places[:, 0].searchsorted(ends).tolist()
        return bounds

    @property
    def words(self) -> list[str]:
        """The tokens as texts."""
        text = text_of(self.points)
        return [text[start:end] for start, end in self.places.tolist()]


@cache
def _class_of(count: int) -> NDArray[np.uint8]:
    """Return the class of each of the first code points; uint8[count], all made once a process in .1 s."""
    everything = "".join(map(chr, range(min(count, _ASSIGNED))))
    table = np.full(count, _OTHER, np.uint8)
    for number, pattern in _CLASSES:
        for match in regex.finditer(pattern, everything, regex.V1):
            table[match.start() : match.end()] = number
    return table


def tokenise(text: str) -> Tokens:
    """Split normalised *text* into runs of letters and digits with marks, or letters of unspaced scripts."""
    # Whole-array work on code points: a regular expression for the same takes ten times as long.
    points = code_points(f"{BETWEEN}{text}{BETWEEN}")
    if points.dtype == np.uint8:
        kind = np.frombuffer(points.tobytes().translate(_class_of(256).tobytes()), np.uint8)
        digits = kind == _DIGIT
    else:
        kind = _class_of(BMP if points.dtype == np.uint16 else CODE_POINTS).take(points, mode="clip")
        digits = (kind == _DIGIT) | (kind == _NUMERAL)
    if points.dtype == np.uint8 or kind.max() <= _DIGIT:  # words alone, whose edges take turns
        word = kind > _OTHER
        places = (word[1:] != word[:-1]).nonzero()[0].reshape(-1, 2)
        places += 1
        kinds = np.zeros(len(places), np.uint8)
    else:
        script = _script_of_marks(kind - digits)
        before, after = script[:-1], script[1:]
        edge = before != after
        edge |= (kind[1:] >= HAN) & (kind[1:] != _MARK)
        first = (edge & (after != _OTHER)).nonzero()[0] + 1
        last = (edge & (before != _OTHER)).nonzero()[0] + 1
        places = np.stack((first, last), axis=1)
        kinds = script.take(first)
        kinds[kinds < HAN] = 0
    numbers = np.zeros(len(places), np.bool_)
    if len(at := digits.nonzero()[0]):
        numbers[places[:, 0].searchsorted(at, "right") - 1] = True
    return Tokens(points, places, kinds, numbers)


def _script_of_marks(script: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Let each mark be of the script of what it stands on."""
    marks = script == _MARK
    if not marks.any():
        return script
    standing = np.where(marks, 0, np.arange(len(script)))
    script = script[np.maximum.accumulate(standing)]
    return np.where(script == _MARK, np.uint8(_OTHER), script)
