"""Lines that a letter quotes from the one that it answers: what they say, the other letter says.

A short answer to a long letter is mostly quotation. Left in, it makes the answer a copy of that letter.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import regex

from scrapy_neardup.fingerprint.paragraphs import length

from .prose import SENTENCE, ends_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The marks before a quoted line, one for each letter that it comes by, as in "> " and ">> "; spaces may
#: stand between them (RFC 3676, 4.5).
_MARKS = regex.compile(r"\s*+(?:>\s*+)*+", regex.V1)


def quoted_lines(lines: Sequence[str]) -> list[bool]:
    """Tell which *lines* of a preformatted text are quoted, if it is a letter that says whom it quotes.

    Programs mark lines in the same way: what is typed at a prompt, what was added to a file. So there is a
    line that ends with a colon, such as "On Monday Ann wrote:", and next, after empty lines at the most, one
    with one mark more; and some of the quoted lines make a paragraph. A letter has lines of its own, too.
    """
    nothing = [False] * len(lines)
    if not any(">" in line for line in lines):
        return nothing
    parts = [_parted(line) for line in lines]
    if not any(depth for depth, _ in parts):
        return nothing
    said = [(depth, text, number) for number, (depth, text) in enumerate(parts) if text]
    sources = {
        number
        for (depth, text, number), (deeper, _, _) in itertools.pairwise(said)
        if deeper == depth + 1 and text.endswith(":")
    }
    own = any(not depth and number not in sources for depth, _, number in said)
    if not (sources and own and _has_paragraph(parts)):
        return nothing
    return [depth > 0 for depth, _ in parts]


def _parted(line: str) -> tuple[int, str]:
    """Return how many marks stand before what *line* says, and that."""
    marks = _MARKS.match(line)
    assert marks is not None
    return marks[0].count(">"), line[marks.end() :].rstrip()


def _has_paragraph(parts: Sequence[tuple[int, str]]) -> bool:
    """Tell whether neighbouring lines, each with its count of marks, make a quoted paragraph."""
    for (depth, _), group in itertools.groupby(parts, key=lambda part: (part[0], bool(part[1]))):
        text = " ".join(line for _, line in group)
        if depth and length(text) >= SENTENCE and ends_sentence(text):
            return True
    return False
