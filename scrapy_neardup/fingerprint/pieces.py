"""Long texts in pieces: a function in C holds the interpreter lock until it is done with what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A function that takes long gets no more characters at once.
PIECE = 1 << 14


def cut(text: str) -> Iterator[str]:
    """Cut *text* into parts of `PIECE` characters."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def encoded(text: str, encoding: str = "utf-8") -> bytes:
    """Encode *text*, which may have lone surrogates; these take many times as long as other characters."""
    if len(text) <= PIECE or text.isascii():
        return text.encode(encoding, "surrogatepass")
    return b"".join(piece.encode(encoding, "surrogatepass") for piece in cut(text))


def decoded(data: bytes, encoding: str) -> str:
    """Decode what `encoded` gives, if each of its characters has as many bytes as any other."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        pieces = (data[start : start + PIECE] for start in range(0, len(data), PIECE))
        return "".join(piece.decode(encoding, "surrogatepass") for piece in pieces)
