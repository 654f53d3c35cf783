"""Pages that stand in the way of the page asked for: captchas, cookie and log-in walls, soft 404s.

They repeat by nature, and what stands at their URL is another page. Two signs give them away: what they say, here,
and that one short text is met under many URLs, see `scrapy_neardup.spread`.

A wall is about the web itself: this page, its address, your browser, an account, a setting, what to do now. An article
is about the world. So what counts is of how many such subjects a text speaks, not in which words.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import NamedTuple

import regex

from .normalise import normalise
from .wallwords import SUBJECTS

#: Longer texts are no walls, whatever they say. Unit: tokens.
LONGEST = 250
#: Of how many subjects texts of so many tokens have to speak; in between, a straight line.
LENGTHS = (90, 150)
SUBJECTS_OF_A_WALL = (4, 6)
#: Longer ones of so many: an article about walls has nearly as many, a text that asks for consent has more.
SUBJECTS_OF_A_LONG_ONE = 10
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}'’]+")
#: Scripts in which words run together, or have others before them.
_RUN_TOGETHER = regex.compile(r"[\p{L}--\p{Latin}--\p{Cyrillic}--\p{Greek}]", regex.VERSION1)


def is_wall(text: str, tokens: int) -> bool:
    """Tell whether normalised *text* of so many *tokens* reads like a wall."""
    if tokens > LONGEST:
        return False
    (least, most), (short, long) = SUBJECTS_OF_A_WALL, LENGTHS
    asked = least + max(0, tokens - short) * (most - least) / (long - short)
    return len(subjects(text)) >= (asked if tokens <= long else SUBJECTS_OF_A_LONG_ONE)


def subjects(text: str) -> set[str]:
    """Return the keys of `SUBJECTS` that normalised *text* has words of."""
    vocabulary = _vocabulary()
    words = set(_WORD.findall(text))
    found = {vocabulary.alone[word] for word in words & vocabulary.alone.keys()}
    for word in words:
        for start in accumulate(word[: vocabulary.longest]):
            if start in vocabulary.starts:
                found.add(vocabulary.starts[start])
    # Of what may stand anywhere, few parts begin as anything here does.
    for beginning in (words if text.isascii() else words.union(text)) & vocabulary.anywhere.keys():
        found.update(subject for part, subject in vocabulary.anywhere[beginning] if part in text)
    return found


class _Vocabulary(NamedTuple):
    """Parts of texts, and the subject of each."""

    alone: dict[str, str]
    starts: dict[str, str]
    #: By first word, or first character if words run together.
    anywhere: dict[str, list[tuple[str, str]]]
    #: Characters of the longest start of a word.
    longest: int


@cache
def _vocabulary() -> _Vocabulary:
    alone: dict[str, str] = {}
    starts: dict[str, str] = {}
    anywhere: dict[str, list[tuple[str, str]]] = {}
    for subject, lines in SUBJECTS.items():
        for part in filter(None, map(normalise, lines.replace("\n", "|").split("|"))):
            first = _WORD.match(part)
            if part.endswith("$"):
                alone[part[:-1]] = subject
            elif first is None or _RUN_TOGETHER.search(part):
                anywhere.setdefault(part[:1], []).append((part, subject))
            elif first[0] != part:
                anywhere.setdefault(first[0], []).append((part, subject))
            else:
                starts[part] = subject
    return _Vocabulary(alone, starts, anywhere, max(map(len, starts)))
