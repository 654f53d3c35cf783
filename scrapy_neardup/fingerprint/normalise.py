"""Normalises texts, so that the same text in other encodings and spellings becomes equal.

First Unicode forms, case, invisible characters and white space are made alike; then marks go that writers
leave out by custom. Accents of Latin and other letters of Cyrillic stay: Peña and Pena are two names.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

# Zero-width and bidi controls, soft hyphens, variation selectors, fillers: no reader sees them.
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
# More combining marks in a row than any text needs: unicodedata sorts them in time that grows with the square
# of their number.
_TOO_MANY = regex.compile(r"(\p{M}{32})\p{M}+")
_IOTA = "\u03b9"
#: What may become one character with its neighbours, and what lies beyond the table.
_JOINING = regex.compile(r"[\p{M}\p{Cs}\u1100-\u11ff\U00010000-\U0010ffff]")
_CHANGING = regex.compile(r"[\p{Changes_When_Casefolded}\p{NFKC_QC=N}\p{Default_Ignorable_Code_Point}]")
#: What `_folded` has for characters that are not folded to one, and for invisible ones.
_OTHERS, _NOTHING = 0, 1
BMP, CODE_POINTS = 0x10000, 0x110000


def normalise(text: str) -> str:
    """Fold compatibility forms and case, remove what is invisible, tidy white space; idempotent.

    The folding is that of ``toNFKC_Casefold`` (Unicode Standard, section 3.13). A lone surrogate becomes a
    question mark; of a run of combining marks 32 are kept.
    """
    if not text:  # most titles and short lines of plain texts are empty
        return ""
    if text.isascii():
        plain = text.lower().replace("\t", " ").replace("\x1f", " ")
        while "  " in plain:
            plain = plain.replace("  ", " ")
        return "\n".join([tidy for line in plain.splitlines() if (tidy := line.strip(" "))])
    text = text.replace("…", "...").replace("ß", "ss")  # of what is folded to several, these are frequent
    points = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
    folded = _folded().take(points, mode="clip")
    least = folded.min()
    if least == _OTHERS and 0 < text.count("\n") < len(text) >> 5:  # few lines have such characters
        return "\n".join(filter(None, map(normalise, text.split("\n"))))
    if least == _OTHERS:
        return "\n".join([tidy for line in _fold(text).splitlines() if (tidy := " ".join(line.split()))])
    if least == _NOTHING:
        folded = folded[folded > _NOTHING]
    spaces = folded == ord(" ")
    if np.count_nonzero(again := spaces[1:] & spaces[:-1]):
        folded = np.append(folded[:1], folded[1:][~again])
    lines = str(folded.data, "utf-16-le").split("\n")
    return "\n".join([tidy for line in lines if (tidy := line.strip(" "))])


@cache
def _folded() -> NDArray[np.uint16]:
    """Return to what each code point of 16 bits is folded, whatever stands around it."""
    table = np.arange(BMP, dtype="<u2")
    table[: _NOTHING + 1] = _OTHERS
    everything = "".join(map(chr, range(_NOTHING + 1, BMP)))
    for character in _JOINING.findall(everything):
        table[ord(character)] = _OTHERS
    changing = _CHANGING.findall(_JOINING.sub("", everything))
    for character, folded in zip(changing, _fold("\n".join(changing)).split("\n"), strict=True):
        alone = len(folded) == 1 and not _JOINING.match(folded)
        table[ord(character)] = ord(folded) if alone else _OTHERS if folded else _NOTHING
    for space in filter(str.isspace, everything):
        table[ord(space)] = ord(" ") if len(f"a{space}a".splitlines()) == 1 else ord("\n")
    return table


def _fold(text: str) -> str:
    shown = _INVISIBLE.sub("", text.encode("utf-8", "replace").decode())
    # Halfwidth voiced sound marks are letters that become combining marks when they are folded.
    shown = shown.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a")
    shown = str(_TOO_MANY.sub(r"\1", shown))
    if unicodedata.is_normalized("NFKC", shown):
        folded = shown.casefold()
        if _IOTA not in folded and unicodedata.is_normalized("NFKC", folded):
            return folded
    # NFD first, because folding U+0345 (a combining mark) gives an iota: marks must be in order by then.
    folded = _TOO_MANY.sub(r"\1", unicodedata.normalize("NFD", shown)).casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())


def composed(text: str) -> str:
    """Return *text* in the form NFC, where an accent is no character of its own if it need not be."""
    return text if text.isascii() else unicodedata.normalize("NFC", _TOO_MANY.sub(r"\1", text))


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


def code_points(text: str) -> NDArray[np.uint8 | np.uint16 | np.uint32]:
    """Return the code points of *text*, which has no lone surrogates; uint8[n], uint16[n] or uint32[n].

    Marks that writers may leave out are left out, digits are those of ASCII, and of letters with several code
    points one is taken.
    """
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    points: NDArray[np.uint16 | np.uint32] = np.frombuffer(text.encode("utf-16-le"), "<u2")
    table = _table(BMP)
    if len(points) > len(text):
        points, table = np.frombuffer(text.encode("utf-32-le"), "<u4"), _table(CODE_POINTS)
    # No code point is beyond the table, but to take without a look whether one is takes a third of the time.
    reduced = table.take(points, mode="clip")
    return reduced if reduced.min() else reduced[reduced > 0]


def text_of(points: NDArray[np.uint8 | np.uint16 | np.uint32]) -> str:
    """Return the text of `code_points`."""
    return points.tobytes().decode(("ascii", "utf-16-le", "", "utf-32-le")[points.itemsize - 1])


def fold_letters(text: str) -> str:
    """Return normalised *text* with its letters reduced as `code_points` does it."""
    return text if text.isascii() else text_of(code_points(text))


@cache
def _table(count: int) -> NDArray[np.uint16 | np.uint32]:
    """Return what each code point is reduced to, 0 if nothing is left; uint16 or uint32[count]."""
    table = np.arange(count, dtype="<u2" if count == BMP else "<u4")
    table[0] = ord(" ")  # it stands between words, too
    for character in _REDUCIBLE.findall("".join(map(chr, range(min(count, 2 * BMP))))):
        table[ord(character)] = ord(_reduced(character).translate(_ALIKE) or "\0")
    for letter, alike in _ALIKE.items():
        table[letter] = alike
    return table


def _reduced(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    if unicodedata.category(character).startswith("M"):
        return "" if unicodedata.combining(character) in _POINTS or character in _LEFT_OUT else character
    return "" if _JOINS.match(character) else unicodedata.normalize("NFD", character)[0]
