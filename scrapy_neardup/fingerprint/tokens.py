"""Words, by the properties of their characters; in scripts without spaces, single characters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import regex  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHER, _WORD, _UNSPACED, _MARK = range(4)
_CODE_POINTS = 0x110000
_ASSIGNED = 0x40000  # no letter, digit or visible mark lies beyond plane 3
_CLASSES = (
    (_WORD, r"[\p{L}\p{N}]+"),
    (
        _UNSPACED,
        r"[[\p{Han}\p{Hiragana}\p{Katakana}\u30FC\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&[\p{L}\p{Nl}]]+",
    ),
    (_MARK, r"\p{M}+"),
)


@cache
def _class_of() -> NDArray[np.uint8]:
    """Return the class of each code point; uint8[0x110000], made once a process in less than 0.1 s."""
    everything = "".join(map(chr, range(_ASSIGNED)))
    table = np.full(_CODE_POINTS, _OTHER, np.uint8)
    for number, pattern in _CLASSES:
        for match in regex.finditer(pattern, everything, regex.V1):
            table[match.start() : match.end()] = number
    return table


def tokenise(text: str) -> tuple[list[str], NDArray[np.bool_]]:
    """Split normalised *text* into tokens; the mask bool[n] says which are of a script without spaces.

    A token is a run of letters, digits and their combining marks, or one letter with its marks in Han, Kana,
    Thai, Lao, Khmer and Myanmar.
    """
    if not text:
        return [], np.zeros(0, np.bool_)
    # Whole-array work on code points: a regular expression for the same takes fifteen times as long.
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    kind = _class_of()[points]
    base = kind
    if (kind == _MARK).any():  # a mark belongs to what it stands on
        standing = np.where(kind == _MARK, 0, np.arange(len(kind)))
        base = kind[np.maximum.accumulate(standing)]
        base = np.where(base == _MARK, _OTHER, base)
    before = np.concatenate(([_OTHER], base[:-1]))
    points = np.where(base == _OTHER, ord(" "), points)
    starts = (base != _OTHER) & (base != before)
    if (base == _UNSPACED).any():
        starts |= kind == _UNSPACED
        points = np.insert(points, np.flatnonzero(starts & (before != _OTHER)), ord(" "))
    return points.tobytes().decode("utf-32-le").split(), base[starts] == _UNSPACED
