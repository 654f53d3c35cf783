"""Headings over what is no part of the article, and what speaks of consent."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

import regex

from scrapy_neardup.fingerprint.wallwords import SUBJECTS

from .headingwords import COUNTED, FURTHER, READERS

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Letters of the longest heading over comments, and how many of them may follow the words for comments.
_HEADING, _FOLLOWING = 80, 40
_FLAGS = regex.IGNORECASE | regex.V1
_SIGNS = regex.compile(r"\W*+")
_NUMBER = regex.compile(r"\d++\s++")
#: What may follow a part, by the sign at its end.
_ENDS = {"$": r"\b", "=": r"\b(?=\W*+(?:\d++\W*+)?$)"}
#: Laws that notices of consent name, and a word for cookies that others begin with.
_LAWS = regex.compile(r"\b(?:gdpr|dsgvo|rgpd|rodo|kvkk|lgpd|kuki)\b")


class _Beginnings:
    """What texts may begin with: the parts of *lists*, see headingwords.py."""

    def __init__(self, lists: Iterable[str], end: str = "") -> None:
        groups = defaultdict[str, list[str]](list)
        for part in _parts(lists):
            groups[self._first(part, 0)].append(_expression(part, end))
        # Nearly no text begins with the first two characters of a part.
        self._groups = {first: "|".join(each) for first, each in groups.items()}

    @staticmethod
    def _first(text: str, at: int) -> str:
        return text[at : at + 2].replace("İ", "i").casefold()

    def end(self, text: str, at: int) -> int:
        """Return where the part ends that begins in *text* at *at*; -1 if there is none."""
        group = self._groups.get(self._first(text, at))
        match = _compiled(group).match(text, at) if group is not None else None
        return match.end() if match is not None else -1


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    """Compile one of the patterns above when it is asked for: few pages need many, and all take 0.1 s."""
    return regex.compile(pattern, _FLAGS)


def _parts(lists: Iterable[str]) -> list[str]:
    """Return the parts of *lists*, the longer of those that begin alike first."""
    parts = {part.strip() for each in lists for part in each.replace("\n", "|").split("|")}
    return sorted(parts, reverse=True)


def _expression(part: str, end: str) -> str:
    words = r"\s+".join(map(regex.escape, part.rstrip("$=").split()))
    if words.startswith("i"):  # with the dot that Turkish has, a capital I is another letter
        words = f"[iİ]{words[1:]}"
    return words + _ENDS.get(part[-1], end)


_COUNTED = _Beginnings(COUNTED.values(), r"\b")
_READERS = _Beginnings(READERS.values())
_FURTHER = _Beginnings(FURTHER.values())
_COOKIES = _parts([SUBJECTS["cookies"]])
_ASCII_COOKIES = [*filter(str.isascii, _COOKIES)]


def heads_comments(text: str) -> bool:
    """Tell whether *text* is a heading over the comments of readers."""
    if len(text) >= _HEADING:
        return False
    at = _SIGNS.match(text).end()
    if number := _NUMBER.match(text, at):
        return _COUNTED.end(text, number.end()) >= 0
    end = _READERS.end(text, at)
    return end >= 0 and len(text) - end <= _FOLLOWING


def heads_more(text: str) -> bool:
    """Tell whether *text* is a heading over further articles."""
    return _FURTHER.end(text, _SIGNS.match(text).end()) >= 0


def speaks_of_consent(text: str) -> bool:
    """Tell whether *text* has a word that notices of consent have."""
    folded = text.casefold()
    words = _ASCII_COOKIES if folded.isascii() else _COOKIES
    return any(map(folded.__contains__, words)) or _LAWS.search(folded) is not None
