"""What hostile pages are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torture.articles import LANGUAGES, article
from torture.crawling import Answer

if TYPE_CHECKING:
    import random

#: Elements that parsers treat in ways of their own.
ELEMENTS = (
    "div p b a table tr td select option svg math template noscript textarea title body html head form frameset "
    "ruby rt li dl dd button marquee nobr font plaintext xmp iframe style script object annotation-xml foreignObject"
).split()


def sentences(dice: random.Random) -> list[str]:
    """Return the paragraphs of an ordinary article."""
    return article(dice, dice.choice(LANGUAGES), 12).text


def page(*parts: str, head: str = "") -> Answer:
    body = "".join(f"<p>{part}</p>" for part in parts)
    return Answer(
        f"<html><head>{head}<title>t</title></head><body><article>{body}</article></body></html>".encode(
            "utf-8", "surrogatepass"
        )
    )
