"""Main texts in few bytes, as the store of an audit keeps them.

They are packed by Zstandard, which Python has from 3.14 on and newer releases of Scrapy bring along: it takes
a third of the time of zlib, for fewer bytes. Where it is missing zlib is used.
"""

from __future__ import annotations

import zlib

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.main_text import MainText

try:
    from compression import zstd  # Python 3.14
except ImportError:
    try:
        from backports import zstd
    except ImportError:
        zstd = None

#: What Zstandard begins with (RFC 8878), and zlib never.
_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 1
#: To make a packer for each text would take twice the time.
_PACKER = zstd and zstd.ZstdCompressor(level=_LEVEL)
#: What unpacking damaged bytes raises.
ERRORS: tuple[type[Exception], ...] = (zlib.error, zstd.ZstdError) if zstd else (zlib.error,)


def storable(text: MainText) -> MainText:
    """Return *text* as `unpacked` would: without the character that is between its parts."""
    return text if not any("\0" in part for part in text) else MainText(*(p.replace("\0", " ") for p in text))


def packed_text(text: MainText) -> bytes:
    """Return a `storable` *text* with all its parts in few bytes."""
    content = "\0".join(text).encode("utf-8", "surrogatepass")
    if not zstd:
        return zlib.compress(content, _LEVEL)
    packed: bytes = _PACKER.compress(content, _PACKER.FLUSH_FRAME)
    return packed


def unpacked(packed: bytes) -> MainText:
    """Return the text that `packed_text` has packed.

    Raises one of `ERRORS` or ValueError if it is damaged, `ConfigurationError` without Zstandard.
    """
    if not packed.startswith(_MAGIC):
        content = zlib.decompress(packed)
    elif zstd:
        content = zstd.decompress(packed)
    else:
        raise ConfigurationError(
            "The texts are packed by Zstandard: to read them, pip install backports.zstd."
        )
    return MainText(*content.decode("utf-8", "surrogatepass").split("\0"))
