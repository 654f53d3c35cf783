"""Contents that break what reads them: odd characters, bytes that are not what is declared, no page at all."""

from __future__ import annotations

import gzip
import zlib
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
_ODD = (
    "\0\x01\x08\x0b\x0c\x1b\x7f\x85\xa0\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a"
    "\u202e\u2060\u2066\u2069\u3164\ufe0f\ufeff\ufff9\ufffc\ufffd\uffff\U000e0001\U000e0020\U0010ffff"
)


def odd_characters(dice: random.Random) -> Answer:
    def spoiled(text: str) -> str:
        return "".join(each + (dice.choice(_ODD) if dice.random() < 0.2 else "") for each in text)

    return page(*map(spoiled, sentences(dice)))


def surrogates(dice: random.Random) -> Answer:
    return page(*("\ud800".join(each.split()) + "\udfff" * 50 for each in sentences(dice)))


def combining(dice: random.Random) -> Answer:
    """Normalisation orders the marks of each letter: a letter with a hundred thousand of them takes long."""
    marks = "".join(
        dice.choices(
            "\u0300\u0316\u0327\u0345\u3099\u0591\u0f71\U0001d165", k=int(10 ** dice.uniform(2, 5.5))
        )
    )
    return page(*sentences(dice), "a" + marks + " word " + marks)


def joined(dice: random.Random) -> Answer:
    chain = "\u200d".join(dice.choices("👨👩👧❤🏳🦰a一", k=int(10 ** dice.uniform(2, 5.5))))
    return page(*sentences(dice), chain)


def directions(dice: random.Random) -> Answer:
    marks = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069"
    return page(
        *("".join(f"{dice.choice(marks)}{word} " for word in each.split()) for each in sentences(dice))
    )


def ligatures(dice: random.Random) -> Answer:
    """One character of which NFKC makes eighteen."""
    return page(*sentences(dice), "\ufdfa" * int(10 ** dice.uniform(3, 5.5)))


def one_word(dice: random.Random) -> Answer:
    size = int(10 ** dice.uniform(5, 6.5))
    return page("".join(dice.choices("abc字กаا.-_'’", k=50)) * (size // 50), *sentences(dice))


def one_character(dice: random.Random) -> Answer:
    return page(dice.choice("a1.-, ่\u0300字\u200b￼") * int(10 ** dice.uniform(5, 6.4)), *sentences(dice))


def numbers(dice: random.Random) -> Answer:
    many = " ".join(str(dice.randrange(10 ** dice.randint(1, 40))) for _ in range(20_000))
    return page(many, "9" * dice.randint(1, 100_000), *sentences(dice))


def many_lines(dice: random.Random) -> Answer:
    return page("<br>".join(dice.choices("abcdefgh", k=int(10 ** dice.uniform(3, 5.5)))), *sentences(dice))


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


def not_a_page(dice: random.Random) -> Answer:
    body = dice.randbytes(int(10 ** dice.uniform(1, 5.5)))
    begin = dice.choice(
        [
            b"",
            b"%PDF-1.4",
            b"\x89PNG\r\n\x1a\n",
            b"PK\x03\x04",
            b"\x1f\x8b",
            b"<html>",
            b"GIF89a",
            b"\xff\xfe",
        ]
    )
    return Answer(begin + body)


def compressed(dice: random.Random) -> Answer:
    """A bomb of up to 200 MB, which Scrapy refuses, or a body that is not what its header says."""
    clear = article(" ".join(sentences(dice))).encode() + b" " * int(10 ** dice.uniform(3, 8.3))
    encoding = dice.choice(["gzip", "deflate", "br", "zstd", "gzip, gzip", "identity"])
    body = gzip.compress(clear, 1, mtime=0) if "gzip" in encoding else zlib.compress(clear, 1)
    return Answer(body[: dice.choice([None, len(body) // 2])], headers={"Content-Encoding": encoding})


def wrong_type(dice: random.Random) -> Answer:
    kinds = ["text/plain", "image/png", "application/json", "text/html;;;charset", "html", "", None, "text/html; charset=\xff",
             "multipart/form-data", "application/octet-stream", "text/html, text/html", "text/html; charset=" + "x" * 10_000]  # fmt: skip
    return Answer(article(" ".join(sentences(dice))).encode(), dice.choice(kinds))


def empty_or_short(dice: random.Random) -> Answer:
    return Answer(
        dice.choice([b"", b"<", b"\0", b" ", b"<html>", b"<!--", b"\xef\xbb\xbf", b"\xff\xfe", b"a" * 30])
    )
