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
#: What a line has that says whom a letter quotes: a word for writing, an address (archives write "ann at
#: example.org"), the time of a letter. A line such as "The statement in full:" has none of them.
_WRITTEN = regex.compile(
    r"\b(?:wrote|writes|written by|quoting|schrieb|schreibt|geschrieben|zitat von|écrit|ecrit|escribió"
    r"|escribio|escribe|citando|escreveu|escreve|scrisse|scritto|scrive|a scris|skrev|skriver|schreef"
    r"|schrijft|geschreven|kirjoitti|kirjoittaa|kirjutas|írta|írja|napisała?|pisze|napsala?|napísala?|píše"
    r"|napisao|rašė|rakstīja|(?:на)?писала?|пишет|написав|пише|написа|έγραψε|yazdı|yazmış|כתב|كتب|نوشت|menulis|viết"
    r"|in (?:message|article) <)|写道|寫道|写到|さんは書きました|작성|เขียน"
    r"|@[\w-]|\bat [\w-]++(?:\.[\w-]++)++|\b\d{1,2}:\d\d\b",
    regex.IGNORECASE | regex.V1,
)
#: Lines of the longest signature, below the one that says that it begins (RFC 3676, 4.3), and it.
_SIGNATURE = 16
#: So much of a line is looked at.
_CHARACTERS = 300


def quoted_lines(lines: Sequence[str]) -> list[bool]:
    """Tell which *lines* of a preformatted text are quoted, if it is a letter that says whom it quotes.

    Programs mark lines in the same way: what is typed at a prompt, what was added to a file. So do articles
    that quote a statement or a poem, which are theirs. So there is a line that ends with a colon and says who
    wrote what follows, such as "On Monday Ann wrote:", perhaps with the line before it; and next, after empty
    lines at the most, one with more marks; and some of the quoted lines make a paragraph. A letter has lines
    of its own, too.
    """
    nothing = [False] * len(lines)
    if not any(">" in line for line in lines):
        return nothing
    parts = [_marked(line) for line in lines]
    if not any(depth for depth, _ in parts):
        return nothing
    said = [(depth, text, number) for number, (depth, text) in enumerate(parts) if text]
    sources = {
        number
        for (depth, text, number), (deeper, _, _) in itertools.pairwise(said)
        if deeper - depth in _DEEPER and text.endswith(":") and _says_who(parts, number)
    }
    own = any(not depth and number not in sources for depth, _, number in said)
    if not (sources and own and _has_paragraph(parts)):
        return nothing
    return [depth > 0 for depth, _ in parts]


def _says_who(parts: Sequence[tuple[int, str]], number: int) -> bool:
    """Tell whether the line of this *number*, with the one before it, says who wrote what it leads to."""
    depth, text = parts[number]
    if number and parts[number - 1][0] == depth:
        text = f"{parts[number - 1][1]} {text}"
    return _WRITTEN.search(text[-_CHARACTERS:]) is not None


def parted(text: str) -> tuple[str, str]:
    """Return what a plain *text* says itself, and what it quotes; if it does, its signature is with that."""
    if ">" not in text:
        return text, ""
    lines = text.split("\n")
    quoted = quoted_lines(lines)
    if not any(quoted):
        return text, ""
    own = [line for line, each in zip(lines, quoted, strict=True) if not each]
    others = [*itertools.compress(lines, quoted)]
    for place in range(max(len(own) - _SIGNATURE, 0), len(own)):
        if own[place].rstrip() == "--":
            others += own[place:]
            del own[place:]
            break
    return "\n".join(own), "\n".join(others)


def _marked(line: str) -> tuple[int, str]:
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
