"""One form for all the ways in which the same text is encoded: Unicode form, case, invisible characters, spaces."""

from __future__ import annotations

import unicodedata

import regex

# Zero-width and bidi controls, soft hyphens, variation selectors, fillers: they change no letter that is read.
_INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")


def normalise(text: str) -> str:
    """Fold compatibility forms and case, remove what is invisible, tidy white space; idempotent.

    What is left of white space is one space between words and one newline between paragraphs. The folding is
    that of ``toNFKC_Casefold`` (Unicode Standard, section 3.13).
    """
    if text.isascii():
        folded = text.lower()
    else:
        # NFD first, because folding U+0345 (a combining mark) gives a letter: marks must be in order by then.
        folded = unicodedata.normalize("NFD", _INVISIBLE.sub("", text)).casefold()
        folded = unicodedata.normalize("NFKC", folded).casefold()
        folded = unicodedata.normalize("NFKC", folded)
    lines = (" ".join(line.split()) for line in folded.splitlines())
    return "\n".join(line for line in lines if line)
