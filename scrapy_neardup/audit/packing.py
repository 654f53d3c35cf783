"""Main texts in few bytes, as the store of an audit keeps them."""

from __future__ import annotations

import zlib

from scrapy_neardup.fingerprint.main_text import MainText


def packed_text(text: MainText) -> bytes:
    """Return *text* with all its parts in few bytes."""
    parts = "\0".join(part.replace("\0", " ") for part in text)
    return zlib.compress(parts.encode("utf-8", "surrogatepass"), 1)


def unpacked(packed: bytes) -> MainText:
    """Return the text that `packed_text` has packed."""
    return MainText(*zlib.decompress(packed).decode("utf-8", "surrogatepass").split("\0"))
