"""Pages whose bytes are not what is declared, or not whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.extraction.hostile import article
from torture.crawling import Answer

from .parts import page, sentences

if TYPE_CHECKING:
    import random

_CHARSETS = (
    "utf-8 utf-16 utf-32 utf-7 gb18030 big5 euc-jp shift_jis iso-2022-jp iso-2022-kr hz windows-1251 koi8-r cp037 "
    "x-user-defined rot13 base64 hex unicode_escape idna punycode undefined utf-8-sig x-mac-cyrillic"
).split()


def wrong_charset(dice: random.Random) -> Answer:
    text = " ".join(sentences(dice))
    try:
        body = article(text).encode(dice.choice(_CHARSETS), "replace")
    except (LookupError, ValueError, TypeError):
        body = article(text).encode("utf-8")
    if not isinstance(body, bytes):
        body = text.encode()
    return Answer(body, f"text/html; charset={dice.choice(_CHARSETS)}")


def declared_charsets(dice: random.Random) -> Answer:
    """Hundreds of declarations that contradict each other."""
    metas = "".join(f'<meta charset="{dice.choice(_CHARSETS)}">' for _ in range(dice.randint(1, 300)))
    return page(*sentences(dice), head=metas)


def cut_short(dice: random.Random) -> Answer:
    body = article(" ".join(sentences(dice))).encode(dice.choice(["utf-8", "utf-16", "gb18030"]))
    return Answer(body[: dice.randrange(len(body))])


def bytes_flipped(dice: random.Random) -> Answer:
    body = bytearray(article(" ".join(sentences(dice))).encode())
    for _ in range(int(10 ** dice.uniform(0, 3.5))):
        body[dice.randrange(len(body))] = dice.randrange(256)
    return Answer(bytes(body))
