"""Main texts in few bytes, as the store of an audit keeps them."""

from __future__ import annotations

import zlib

from scrapy_neardup.fingerprint.main_text import MainText


def storable(text: MainText) -> MainText:
    """Return *text* as `unpacked` would: without the character that is between its parts."""
    return text if not any("\0" in part for part in text) else MainText(*(p.replace("\0", " ") for p in text))


def packed_text(text: MainText) -> bytes:
    """Return a `storable` *text* with all its parts in few bytes."""
    return zlib.compress("\0".join(text).encode("utf-8", "surrogatepass"), 1)


def unpacked(packed: bytes) -> MainText:
    """Return the text that `packed_text` has packed."""
    return MainText(*zlib.decompress(packed).decode("utf-8", "surrogatepass").split("\0"))
