"""How a document is packed on a server: its keys, then its URL and its record, compressed, then its note.

Keys are random bits. Much of a record is zero, one of its fields repeats a key, and URLs have parts in
common, so the rest takes two thirds of its length: deflated on its own, with the keys and common parts of
URLs as what it may refer to.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.reservation import MOST_NOTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.index.header import Header

#: What URLs have in common, the most common at the end. Another text would be another layout.
URL_PARTS = (
    b"/02/03/04/05/06/07/08/09/10/11/12/01/2020/2021/2022/2023/2024/2025/2026/page/tag/category/blog/posts/"
    b"archive/story/stories/press-release-item/wp-content/.aspx.php?id=&index.htmlarticle-articles/-and-the-"
    b"of-to-in-for-with-on-from-at-is-new-.net/.de/.org/.co.uk/http://en.https://news.com/news/https://www."
)
#: What a window of 2 KB may refer to is all that stands before.
_WINDOW = -11
_MEMORY_LEVEL = 1
#: Keys that tell a document from others as far as is needed.
_FIRST_KEYS = 2
#: No value is longer once decompressed: this library has not written a longer one.
_MOST_BYTES = 1 << 24


class Values:
    """Packs documents of an index with *header*."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._key_bytes = 8 * header.keys
        self._record_bytes = header.dtype.itemsize

    def pack(self, document: Documents) -> bytes:
        """Pack one document, one row."""
        keys: bytes = document.keys[:, 0].astype("<u8").tobytes()
        packer = zlib.compressobj(
            9, zlib.DEFLATED, _WINDOW, _MEMORY_LEVEL, zlib.Z_FIXED, zdict=keys + URL_PARTS
        )
        url = document.urls[0].encode("utf-8", "surrogatepass")
        packed = packer.compress(url + document.records[0].tobytes()) + packer.flush()
        return b"".join((keys, packed, document.notes[0]))

    def start(self, document: Documents) -> bytes:
        """Return how the value of one document, one row, begins: with the first of its keys."""
        keys: bytes = document.keys[:_FIRST_KEYS, 0].astype("<u8").tobytes()
        return keys

    def unpack(self, values: Sequence[bytes]) -> Documents:
        """Unpack documents. Raises `IndexCorrupted` for a value that is none."""
        keys, records, urls, notes = [], [], [], []
        for value in values:
            keys.append(value[: self._key_bytes])
            url, record, note = self._unpack_rest(value)
            records.append(record)
            urls.append(url)
            notes.append(note)
        filed = np.frombuffer(b"".join(keys), "<u8").reshape(-1, self._header.keys).T
        return Documents(
            np.ascontiguousarray(filed, np.uint64),
            np.frombuffer(b"".join(records), self._header.dtype),
            urls,
            notes,
        )

    def _unpack_rest(self, value: bytes) -> tuple[str, bytes, bytes]:
        """Return the URL, the record and the note of one document."""
        unpacker = zlib.decompressobj(_WINDOW, zdict=value[: self._key_bytes] + URL_PARTS)
        try:
            rest = unpacker.decompress(value[self._key_bytes :], _MOST_BYTES)
            if not unpacker.eof or len(rest) < self._record_bytes or len(unpacker.unused_data) > MOST_NOTE:
                raise damaged("a document that was cut")
            split = len(rest) - self._record_bytes
            return rest[:split].decode("utf-8", "surrogatepass"), rest[split:], unpacker.unused_data
        except zlib.error:
            raise damaged("a document that was cut") from None
        except UnicodeDecodeError:
            raise damaged("a document whose URL is no text") from None


def damaged(what: str) -> IndexCorrupted:
    """Return the error to raise for an index that has *what*."""
    return IndexCorrupted(
        f"The index on the server has {what}: something else writes to its keys, so keep others from them, "
        "and start anew with NEARDUP_RESET or reset=True."
    )
