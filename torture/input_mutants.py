"""Mutants of inputs: bytes that resemble what a reader expects, and are wrong somewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

#: Bytes of the longest mutant, but for those in which a part is repeated.
MOST, MOST_REPEATED = 1 << 14, 1 << 16
_WORD = re.compile(rb"[A-Za-z_-]{2,20}|[0-9]+|[^\sA-Za-z0-9]{1,4}")
_NUMBER = re.compile(rb"[0-9]+")
#: What parsers stumble over.
_TOKENS = (
    b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\xed\xa0\x80", b"\\ud800", b"\r\n", b"\n", b"\t", b'"', b"'",
    b"\\", b"<", b">", b"</", b"<!--", b"-->", b"<![CDATA[", b"&#x110000;", b"&#0;", b"&amp", b"{", b"}",
    b"[", b"]", b",", b":", b";", b"%", b"%00", b"#", b"?", b"//", b"@", b"NaN", b"1e999", b"-1", b"0",
    b"null", b"true", b"\xe2\x80\xae", b"\xcc\x81", b"\xc3\x9f", b"\xef\xbb\xbf", b"\xfe\xff", b"hidden",
    b"charset=utf-7",
)  # fmt: skip
_NUMBERS = (b"0", b"-1", b"1", b"255", b"65536", b"2147483648", b"4294967295", b"1" * 19, b"9" * 5000, b"1.5")


class Mutator:
    """Makes mutants of *seeds*, which are inputs of one kind; the same ones for the same random numbers."""

    def __init__(self, seeds: Sequence[bytes], rng: random.Random) -> None:
        self._seeds = [*seeds] or [b""]
        self._rng = rng
        words = {word for seed in self._seeds for word in _WORD.findall(seed[:MOST])}
        self._tokens: list[bytes] = [*_TOKENS, *sorted(words)]
        self._ways: list[Callable[[bytes], bytes]] = [
            self._flip, self._flip, self._replace, self._insert, self._insert, self._delete, self._copy,
            self._repeat, self._number, self._cut, self._splice,
        ]  # fmt: skip

    def mutant(self) -> bytes:
        """Return one of the seeds with one to eight changes."""
        data = self._rng.choice(self._seeds)
        if len(data) > MOST:
            start = self._rng.randrange(len(data) - MOST) if self._rng.random() < 0.5 else 0
            data = data[start : start + MOST]
        for _ in range(1 << self._rng.randrange(4)):
            data = self._rng.choice(self._ways)(data)
        return data[:MOST_REPEATED]

    def _place(self, data: bytes) -> int:
        return self._rng.randrange(len(data) + 1)

    def _range(self, data: bytes) -> tuple[int, int]:
        start = self._place(data)
        return start, min(len(data), start + (1 << self._rng.randrange(10)))

    def _flip(self, data: bytes) -> bytes:
        if not data:
            return data
        at = self._rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << self._rng.randrange(8)]) + data[at + 1 :]

    def _replace(self, data: bytes) -> bytes:
        start, stop = self._range(data)
        return data[:start] + self._rng.randbytes(min(stop - start, 8)) + data[stop:]

    def _insert(self, data: bytes) -> bytes:
        at = self._place(data)
        return data[:at] + self._rng.choice(self._tokens) + data[at:]

    def _delete(self, data: bytes) -> bytes:
        start, stop = self._range(data)
        return data[:start] + data[stop:]

    def _copy(self, data: bytes) -> bytes:
        start, stop = self._range(data)
        at = self._place(data)
        return data[:at] + data[start:stop] + data[at:]

    def _repeat(self, data: bytes) -> bytes:
        """Repeat a token or a part so often that what takes quadratic time for it is noticed."""
        if self._rng.random() < 0.8:
            return data
        start, stop = self._range(data)
        part = self._rng.choice([data[start:stop], self._rng.choice(self._tokens)]) or b"<"
        at = self._place(data)
        return data[:at] + part * (self._rng.choice([10, 300, MOST_REPEATED]) // len(part)) + data[at:]

    def _number(self, data: bytes) -> bytes:
        found = list(_NUMBER.finditer(data[:MOST]))
        if not found:
            return data
        chosen = self._rng.choice(found)
        return data[: chosen.start()] + self._rng.choice(_NUMBERS) + data[chosen.end() :]

    def _cut(self, data: bytes) -> bytes:
        return data[: self._place(data)] if self._rng.random() < 0.3 else data

    def _splice(self, data: bytes) -> bytes:
        other = self._rng.choice(self._seeds)[:MOST]
        return data[: self._place(data)] + other[self._place(other) :]
