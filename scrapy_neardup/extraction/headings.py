"""Headings over further articles, such as "Read also"."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import regex

from .headingwords import FURTHER

_SIGNS = regex.compile(r"\W*+")


def heads_more(text: str) -> bool:
    """Tell whether *text* is a heading over further articles."""
    at = _SIGNS.match(text).end()
    pattern = _patterns().get(_first(text[at : at + 2]))
    return pattern is not None and _compiled(pattern).match(text, at) is not None


@cache
def _patterns() -> dict[str, str]:
    """Return the pattern of the parts that begin with the same two characters, as nearly no text does."""
    groups = defaultdict[str, list[str]](list)
    parts = {part.strip() for each in FURTHER.values() for part in each.replace("\n", "|").split("|")}
    for part in sorted(parts, reverse=True):  # the longer of those that begin alike first
        words = r"\s+".join(map(regex.escape, part.rstrip("$").split()))
        if words.startswith("i"):  # with the dot that Turkish has, a capital I is another letter
            words = f"[iİ]{words[1:]}"
        groups[_first(part[:2])].append(words + (r"\b" if part.endswith("$") else ""))
    return {first: "|".join(each) for first, each in groups.items()}


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern when it is asked for: few pages need many, and all take 0.1 s."""
    return regex.compile(pattern, regex.IGNORECASE | regex.V1)


def _first(characters: str) -> str:
    return characters.replace("İ", "i").casefold()
