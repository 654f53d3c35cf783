"""Reduces letters to what is left of them when accents and points are not written, and digits to 0 to 9.

The same text is written with and without these: ё and е, ș and ş, vowel points in Arabic and Hebrew, capitals
without accents, the digits of each script. Unicode Technical Report 30, a draft, has these foldings.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import regex

from .pieces import encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What may be reduced: digits, marks, what only joins letters, and letters that have a mark.
_REDUCIBLE = regex.compile(
    r"[\p{Nd}\p{M}\p{Joining_Type=Join_Causing}]|[\p{L}&&\p{Decomposition_Type=Canonical}--\p{Hangul}]",
    regex.V1,
)
_JOINS = regex.compile(r"\p{Joining_Type=Join_Causing}")
#: Canonical combining classes of nuktas, and of the points of Hebrew, Arabic and Syriac; from `_ACCENTS` on
#: they are those of accents. Vowel signs, viramas, the tones of Thai and the voicing of kana have others.
_NUKTA, _POINTS, _ACCENTS = 7, range(10, 37), 200
#: One letter under several code points, of which a keyboard has one. The small letter of I has no dot in
#: Turkish; yeh and kaf are others in Persian than in Arabic.
_ALIKE = str.maketrans("ıيىك", "iییک")
_BMP, _CODE_POINTS = 0x10000, 0x110000


def base_letters(text: str) -> str:
    """Return normalised *text* with letters reduced to base letters, and digits to those of ASCII."""
    if text.isascii():
        return text
    data = encoded(text, "utf-16-le")
    if len(data) == 2 * len(text):
        return _reduce(data, "utf-16-le", _table_of_bmp())
    return _reduce(encoded(text, "utf-32-le"), "utf-32-le", _table())


def _reduce(data: bytes, encoding: str, table: NDArray[np.uint16 | np.uint32]) -> str:
    # No code point is beyond the table, but to take without a look whether one is takes a third of the time.
    reduced = table.take(np.frombuffer(data, table.dtype), mode="clip")
    return reduced[reduced > 0].tobytes().decode(encoding, "surrogatepass")


@cache
def _table() -> NDArray[np.uint32]:
    """Return what each code point is reduced to, 0 if nothing is left; uint32[0x110000].

    It is made once a process, in about 0.1 s.
    """
    table = np.arange(_CODE_POINTS, dtype="<u4")
    table[0] = ord(" ")  # it stands between words, too
    for character in _REDUCIBLE.findall("".join(map(chr, range(2 * _BMP)))):
        reduced = _reduced(character)
        if len(reduced) < 2:
            table[ord(character)] = ord(reduced or "\0")
    for letter, alike in _ALIKE.items():
        table[letter] = alike
    return table


@cache
def _table_of_bmp() -> NDArray[np.uint16]:
    return _table()[:_BMP].astype("<u2")


def _reduced(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    parts = unicodedata.normalize("NFD", character)
    return unicodedata.normalize("NFC", "".join(filter(_is_letter, parts))).translate(_ALIKE)


def _is_letter(part: str) -> bool:
    kind = unicodedata.combining(part)
    return not (kind == _NUKTA or kind in _POINTS or kind >= _ACCENTS or _JOINS.match(part))
