"""Answers that are no page: other bytes, bombs, wrong types, nothing."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from tests.extraction.hostile import article
from torture.crawling import Answer

from .parts import sentences

if TYPE_CHECKING:
    import random


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
