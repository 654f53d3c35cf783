"""Walls: pages in place of the page asked for, such as captchas, cookie notices, log-in forms and soft 404s.

Walls repeat by nature, so they must not count as copies. A short text that is met again is one if it has a
phrase that walls have, see `is_wall`; or else if it is met under many URLs, see `matching.counters`. A text
that is met once is never one, whatever it speaks of.
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
