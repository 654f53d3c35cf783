"""Walls: pages in place of the page asked for, such as captchas, cookie notices, log-in forms and soft 404s.

They repeat by nature, so a short text that has a phrase of walls and is met again is no copy. Others are told
by how many URLs they are met under, see `matching.counters`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from .normalise import normalise

#: No longer text is a wall for what it says. Unit: tokens.
LONGEST_BY_PHRASE = 150


def is_wall(text: str, tokens: int) -> bool:
    """Tell whether normalised *text* of so many *tokens* reads like a wall."""
    return tokens <= LONGEST_BY_PHRASE and any(phrase in text for phrase in phrases())


@cache
def phrases() -> tuple[str, ...]:
    """Return the phrases of walls.txt, normalised."""
    lines = files(__package__).joinpath("walls.txt").read_text("utf-8").split("\n")
    parts = [part for line in lines if not line.startswith(("#", "[")) for part in line.split("|")]
    return tuple(filter(None, map(normalise, parts)))
