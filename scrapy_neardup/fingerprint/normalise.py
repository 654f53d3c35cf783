"""One form for all the ways in which the same text is encoded: Unicode form, case, invisible characters, spaces."""

from __future__ import annotations

import unicodedata

import regex

# Zero-width and bidi controls, soft hyphens, variation selectors, fillers: they change no letter that is read.
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_IOTA = "\u03b9"


def normalise(text: str) -> str:
    """Fold compatibility forms and case, remove what is invisible, tidy white space; idempotent.

    What is left of white space is one space between words and one newline between paragraphs. The folding is
    that of ``toNFKC_Casefold`` (Unicode Standard, section 3.13).
    """
    folded = text.lower() if text.isascii() else _fold(_INVISIBLE.sub("", text))
    lines = map(_tidy, folded.splitlines())
    return "\n".join(line for line in lines if line)


def _fold(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):  # as most texts are
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
