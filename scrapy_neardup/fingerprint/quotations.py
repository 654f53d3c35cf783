"""Lines that a letter quotes from the one that it answers: what they say, the other letter says.

A short answer to a long letter is mostly quotation. Left in, it makes the answer a copy of that letter.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import regex

from .paragraphs import length
from .prose import is_paragraph

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The marks before a quoted line, one for each letter that it comes by, as in "> " and ">> "; spaces may
#: stand between them (RFC 3676, 4.5), and some programs put a stroke before each.
_MARKS = regex.compile(r"\s*+(?:\|?>\s*+)*+", regex.V1)
#: So many marks more may a quoted line have than the one that says whom it quotes. Two where an answer begins
#: with what the letter itself had quoted; three are a prompt.
_DEEPER = (1, 2)
#: Lines of the longest signature, below the one that says that it begins (RFC 3676, 4.3), and it.
_SIGNATURE = 16


def quoted_lines(lines: Sequence[str]) -> list[bool]:
    """Tell which *lines* of a preformatted text are quoted, if it is a letter that says whom it quotes.

    Programs mark lines in the same way: what is typed at a prompt, what was added to a file. So there is a
    line that ends with a colon, such as "On Monday Ann wrote:", and next, after empty lines at the most, one
    with more marks; and some of the quoted lines make a paragraph. A letter has lines of its own, too.
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
        if deeper - depth in _DEEPER and text.endswith(":")
    }
    own = any(not depth and number not in sources for depth, _, number in said)
    if not (sources and own and _has_paragraph(parts)):
        return nothing
    return [depth > 0 for depth, _ in parts]


def without_quotations(text: str) -> str:
    """Return a plain *text* without the lines that it quotes; without its signature, too, if it quotes."""
    if ">" not in text:
        return text
    lines = text.split("\n")
    quoted = quoted_lines(lines)
    if not any(quoted):
        return text
    own = [line for line, each in zip(lines, quoted, strict=True) if not each]
    for place in range(max(len(own) - _SIGNATURE, 0), len(own)):
        if own[place].rstrip() == "--":
            return "\n".join(own[:place])
    return "\n".join(own)


def _parted(line: str) -> tuple[int, str]:
    """Return how many marks stand before what *line* says, and that."""
    marks = _MARKS.match(line)
    assert marks is not None
    return marks[0].count(">"), line[marks.end() :].rstrip()


def _has_paragraph(parts: Sequence[tuple[int, str]]) -> bool:
    """Tell whether neighbouring lines, each with its count of marks, make a quoted paragraph."""
    for (depth, _), group in itertools.groupby(parts, key=lambda part: (part[0], bool(part[1]))):
        text = " ".join(line for _, line in group)
        if depth and is_paragraph(text, length(text)):
            return True
    return False
