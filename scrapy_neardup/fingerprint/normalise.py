"""One form for all the ways in which the same text is encoded: Unicode form, case, invisible characters, spaces."""

from __future__ import annotations

import unicodedata

import numpy as np
import regex

# Zero-width and bidi controls, soft hyphens, variation selectors, fillers: they change no letter that is read.
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_IOTA = "\u03b9"
_SPACE, _NEWLINE, _BEYOND_ASCII = 32, 10, 128


def normalise(text: str) -> str:
    """Fold compatibility forms and case, remove what is invisible, tidy white space; idempotent.

    What is left of white space is one space between words and one newline between paragraphs. The folding is
    that of ``toNFKC_Casefold`` (Unicode Standard, section 3.13).
    """
    folded = _plainly_folded(text)
    if folded is not None:
        stripped = [line.strip(" ") for line in folded.split("\n")]
        tidied = "\n".join(line for line in stripped if line)
        if _is_tidy(tidied):
            return tidied
    else:
        folded = _fold(_INVISIBLE.sub("", text))
    lines = map(_tidy, folded.splitlines())
    return "\n".join(line for line in lines if line)


def _plainly_folded(text: str) -> str | None:
    """Fold *text* if only ASCII letters change and all else is seen, as in most texts; else return None."""
    if text.isascii():
        return text.lower()
    text = text.replace("\u00a0", " ").replace("\u2026", "...")  # often all that keeps a text from being NFKC
    rest = _beyond_ascii(text)
    if rest != rest.casefold() or not rest.isprintable() or _INVISIBLE.search(rest):
        return None
    folded = text.encode().lower().decode()  # of bytes, ASCII letters alone
    both = all(unicodedata.is_normalized("NFKC", form) for form in (text, folded))
    return folded if both else None


def _beyond_ascii(text: str) -> str:
    """Return the characters of *text* that are not ASCII."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return points[points >= _BEYOND_ASCII].tobytes().decode("utf-32-le", "surrogatepass")


def _is_tidy(text: str) -> bool:
    """Whether *text*, else printable, has no white space but single spaces and newlines, none beside another."""
    units = np.frombuffer(text.encode(), np.uint8)
    white = units <= _SPACE
    return not ((white[1:] & white[:-1]).any() or ((units < _SPACE) & (units != _NEWLINE)).any())


def _fold(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):
        folded = text.casefold()
        if _IOTA not in folded and unicodedata.is_normalized("NFKC", folded):
            return folded
    # NFD first, because folding U+0345 (a combining mark) gives an iota: marks must be in order by then.
    folded = unicodedata.normalize("NFD", text).casefold()
    folded = unicodedata.normalize("NFKC", folded).casefold()
    return unicodedata.normalize("NFKC", folded)


def _tidy(line: str) -> str:
    if line.isprintable() and "  " not in line:  # no white space is printable but the space
        return line.strip(" ")
    return " ".join(line.split())
