"""Folds letters to those that remain where their marks are left out by custom, and digits to 0 to 9.

The same text is written with and without these: vowel points and hamza in Arabic, points in Hebrew, the
accents of Greek on capitals, the nukta of Devanagari, ё and е, ş and ș, the digits of each script. Accents of
Latin and other letters of Cyrillic stay: Hùng and Hưng, Peña and Pena are two names, and a note of one
template about each is two notes.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import regex

from .pieces import decoded, encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What may be reduced: digits, marks, what only joins letters, and letters that have a mark.
_REDUCIBLE = regex.compile(
    r"[\p{Nd}\p{M}\p{Joining_Type=Join_Causing}]"
    r"|[[\p{Arabic}\p{Greek}]&&\p{L}&&\p{Decomposition_Type=Canonical}]",
    regex.V1,
)
_JOINS = regex.compile(r"\p{Joining_Type=Join_Causing}")
#: The canonical combining classes of the points of Hebrew, Arabic and Syriac. No other marks have these.
_POINTS = range(10, 37)
#: The nukta of Devanagari; and the dot that is left of a Turkish capital İ.
_LEFT_OUT = "\u093c\u0307"
#: One letter under several code points, of which a keyboard has one. The small letter of I has no dot in
#: Turkish; yeh and kaf are others in Persian than in Arabic.
_ALIKE = str.maketrans("ıёşţيىك", "iеșțییک")
_BMP, _CODE_POINTS = 0x10000, 0x110000


def fold_letters(text: str) -> str:
    """Return normalised *text* without the marks that its writers may leave out, and with digits of ASCII.

    Of letters with several code points one is taken. Unicode calls such replacements foldings.
    """
    if text.isascii():
        return text
    data = encoded(text, "utf-16-le")
    if len(data) == 2 * len(text):
        return _reduce(data, "utf-16-le", _table_of_bmp())
    return _reduce(encoded(text, "utf-32-le"), "utf-32-le", _table())


def _reduce(data: bytes, encoding: str, table: NDArray[np.uint16 | np.uint32]) -> str:
    # No code point is beyond the table, but to take without a look whether one is takes a third of the time.
    reduced = table.take(np.frombuffer(data, table.dtype), mode="clip")
    return decoded(reduced[reduced > 0].tobytes(), encoding)


@cache
def _table() -> NDArray[np.uint32]:
    """Return what each code point is reduced to, 0 if nothing is left; uint32[0x110000].

    It is made once a process, in about 0.1 s.
    """
    table = np.arange(_CODE_POINTS, dtype="<u4")
    table[0] = ord(" ")  # it stands between words, too
    for character in _REDUCIBLE.findall("".join(map(chr, range(2 * _BMP)))):
        table[ord(character)] = ord(_reduced(character).translate(_ALIKE) or "\0")
    for letter, alike in _ALIKE.items():
        table[letter] = alike
    return table


@cache
def _table_of_bmp() -> NDArray[np.uint16]:
    return _table()[:_BMP].astype("<u2")


def _reduced(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if unicodedata.category(character).startswith("M"):
        return "" if unicodedata.combining(character) in _POINTS or character in _LEFT_OUT else character
    return "" if _JOINS.match(character) else unicodedata.normalize("NFD", character)[0]
