"""Walls: pages in place of the page asked for, such as captchas, cookie notices, log-in forms and soft 404s.

Walls repeat by nature, so their pages must not count as copies. Two signs give them away: phrases that only
walls have, which are looked for here, and that one short text is met under many URLs, see
`scrapy_neardup.matching.site_counter`. A page that is taken for a wall by mistake is never found again, so
the phrases are few and plain: what they miss is left to the second sign.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from .normalise import normalise

#: Longer texts are walls only if they ask for consent. Unit: tokens.
LONGEST = 150
#: One phrase may be what a short note is about; so many different ones make a wall.
PHRASES = 2
#: A text that asks for consent names cookies at least so often, and at least once in so many tokens.
COOKIES, TOKENS_A_COOKIE = 4, 33
#: What cookies are called, in normalised text.
_COOKIES = ("cookie", "куки", "クッキー", "쿠키", "çerez", "eväste", "informasjonskapsl", "تعريف الارتباط")


def is_wall(text: str, tokens: int) -> bool:
    """Tell whether normalised *text* of so many *tokens* reads like a wall."""
    if tokens > LONGEST and sum(map(text.count, _COOKIES)) < max(COOKIES, tokens / TOKENS_A_COOKIE):
        return False
    every, ascii_ones = phrases()
    found = 0
    for phrase in ascii_ones if text.isascii() else every:
        found += phrase in text
        if found >= PHRASES:
            return True
    return False


@cache
def phrases() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the phrases of walls.txt, normalised, and those of them that are ASCII."""
    lines = files(__package__).joinpath("walls.txt").read_text("utf-8").split("\n")
    parts = [part for line in lines if not line.startswith(("#", "[")) for part in line.split("|")]
    every = tuple(filter(None, map(normalise, parts)))
    return every, tuple(filter(str.isascii, every))
