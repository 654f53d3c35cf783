"""Normalises texts, so that the same text in other encodings and spellings becomes equal.

Unicode forms, case, invisible characters and white space are made alike. Then letters are folded to those
that remain where their marks are left out by custom, and digits to 0 to 9: vowel points and hamza in Arabic,
points in Hebrew, the accents of Greek on capitals, the nukta of Devanagari, ё and е, ş and ș, the digits of
each script. Accents of Latin and other letters of Cyrillic stay: Hùng and Hưng, Peña and Pena are two names,
and a note of one template about each is two notes.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import regex

from .hashing import unique

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: A function that takes long gets no more characters at once.
PIECE = 1 << 14


def cut(text: str) -> Iterator[str]:
    """Cut *text* into parts of `PIECE` characters."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def encoded(text: str, encoding: str = "utf-8") -> bytes:
    """Encode *text*, which may have lone surrogates; these take many times as long as other characters."""
    if len(text) <= PIECE or text.isascii():
        return text.encode(encoding, "surrogatepass")
    return b"".join(piece.encode(encoding, "surrogatepass") for piece in cut(text))


def decoded(data: bytes, encoding: str) -> str:
    """Decode what `encoded` gives, if each of its characters has as many bytes as any other."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        pieces = (data[start : start + PIECE] for start in range(0, len(data), PIECE))
        return "".join(piece.decode(encoding, "surrogatepass") for piece in pieces)


# Zero-width and bidi controls, soft hyphens, variation selectors, fillers: no reader sees them.
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_MARK = regex.compile(r"\p{M}")
# Long runs of combining marks: unicodedata sorts them in time that grows with the square of their length.
# Halfwidth voiced sound marks are letters that become combining marks when they are folded.
_LONG_RUN = regex.compile(r"[\p{M}\uFF9E\uFF9F]{32,}")
# Characters that are never composed with the character before them.
_ALONE = regex.compile(r"[^\p{M}\p{Hangul}\uFF9E\uFF9F]")
#: Longer texts are folded in pieces, which takes more time in all.
_LONG = 1 << 16
_IOTA = "\u03b9"
_SPACE = 32
_ASCII = bytes(range(128))
#: Up to so many different characters are replaced one at a time, which is quicker than folding all of a text.
_FEW = 16
#: Combining marks that are decomposed together.
_PART = 32


def normalise(text: str) -> str:
    """Fold compatibility forms and case, remove what is invisible, tidy white space; idempotent.

    What is left of white space is one space between words and one newline between paragraphs. The folding is
    that of ``toNFKC_Casefold`` (Unicode Standard, section 3.13).
    """
    if not text:  # most titles and short lines of plain texts are empty
        return ""
    folded: str | None
    if len(text) > _LONG and not text.isascii():
        # What is written in C holds the interpreter lock until it has done all that it is given.
        shown = "".join(_INVISIBLE.sub("", each) for each in cut(text))
        folded = "".join(map(_folded, _pieces(shown)))
    elif (folded := _plainly_folded(text)) is not None:
        stripped = [line.strip(" ") for line in folded.split("\n")]
        tidied = "\n".join(line for line in stripped if line)
        if _is_tidy(tidied):
            return tidied
    else:
        folded = _fold(_INVISIBLE.sub("", text))
    lines = map(_tidy, folded.splitlines())
    return "\n".join(line for line in lines if line)


def composed(text: str) -> str:
    """Return *text* in the form NFC, where an accent is no character of its own if it need not be."""
    if text.isascii():
        return text
    pieces = _pieces(text)
    return "".join(
        piece if unicodedata.is_normalized("NFC", piece) else _normalize("NFC", piece) for piece in pieces
    )


def _folded(shown: str) -> str:
    """Fold a piece of text from which invisible characters are removed."""
    folded = _plainly_folded(shown)
    return _fold(shown) if folded is None else folded


def _plainly_folded(text: str) -> str | None:
    """Fold *text* character by character, which takes next to no time if only few of them change.

    Returns None if the text cannot be folded in this way.
    """
    if text.isascii():
        return text.lower()
    changes = []
    for character in _distinct(_beyond_ascii(encoded(text))):
        alone = _fold_alone(character)
        if alone is None:
            return None
        if alone != character:
            changes.append((character, alone))
    if len(changes) > _FEW:
        return None
    for change in changes:
        text = text.replace(*change)
    data = text.encode()
    # ASCII characters combine with marks alone, of which there are none.
    if not unicodedata.is_normalized("NFKC", _beyond_ascii(data)):
        return None
    return data.lower().decode()  # of bytes, ASCII letters alone


def _beyond_ascii(data: bytes) -> str:
    """Return the characters of UTF-8 that are not ASCII: their bytes are all beyond ASCII."""
    return data.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _distinct(text: str) -> str:
    points = np.frombuffer(encoded(text, "utf-32-le"), "<u4")
    return unique(points).tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=1 << 14)
def _fold_alone(character: str) -> str | None:
    """Fold a character; return None if its neighbours matter, as for marks, or if it is not printable."""
    shown = _INVISIBLE.sub("", character)
    folded = _fold(shown)
    return None if _MARK.search(shown + folded) or not folded.isprintable() else folded


def _is_tidy(text: str) -> bool:
    """Whether *text*, of stripped lines that are not empty, has no white space but single spaces."""
    units = np.frombuffer(text.encode(), np.uint8)
    white = units <= _SPACE
    if np.count_nonzero(white[1:] & white[:-1]):
        return False
    return int(np.count_nonzero(units < _SPACE)) == text.count("\n")


def _pieces(text: str) -> Iterator[str]:
    """Cut *text* where that does not change how it is folded.

    Folding a long text at once would hold the interpreter lock for long.
    """
    start = 0
    while len(text) - start > PIECE:
        alone = _ALONE.search(text, start + PIECE, concurrent=True)
        stop = alone.start() if alone else len(text)
        yield text[start:stop]
        start = stop
    yield text[start:]


def _fold(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):
        folded = text.casefold()
        if _IOTA not in folded and unicodedata.is_normalized("NFKC", folded):
            return folded
    # NFD first, because folding U+0345 (a combining mark) gives an iota: marks must be in order by then.
    folded = _normalize("NFD", text).casefold()
    folded = _normalize("NFKC", folded).casefold()
    return _normalize("NFKC", folded)


def _normalize(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """Do what ``unicodedata.normalize`` does, in time linear in the length of runs of combining marks."""
    decomposed: Literal["NFD", "NFKD"] = "NFKD" if form == "NFKC" else "NFD"
    return unicodedata.normalize(form, _LONG_RUN.sub(lambda run: _ordered(decomposed, run[0]), text))


def _ordered(form: Literal["NFD", "NFKD"], run: str) -> str:
    """Decompose a run of combining marks and put it into canonical order (Unicode Standard, section 3.11)."""
    if unicodedata.is_normalized(form, run):
        return run
    parts = (unicodedata.normalize(form, run[start : start + _PART]) for start in range(0, len(run), _PART))
    points = np.frombuffer("".join(parts).encode("utf-32-le"), "<u4")
    marks, which = np.unique(points, return_inverse=True)
    classes = np.array([unicodedata.combining(chr(mark)) for mark in marks], np.uint8)[which]
    # A mark changes places with other marks, not with a character of class 0.
    order = np.lexsort((classes, np.cumsum(classes == 0)))
    return points[order].tobytes().decode("utf-32-le")


def _tidy(line: str) -> str:
    if line.isprintable() and "  " not in line:  # no white space is printable but the space
        return line.strip(" ")
    return " ".join(line.split())


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
