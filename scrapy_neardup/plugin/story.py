"""Which story a page tells, and which better copy of itself it names: kept in its note, behind its items."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from scrapy_neardup.matching.items import behind_items

_SIZE = 12
#: How many paragraphs of a page are noted.
PARAGRAPHS = 400


def digest(url: str) -> bytes:
    """Return the identifier of the story that was first seen at *url*: the same in each process and crawl."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()


class Story(NamedTuple):
    """The story of a page, and the digest of the URL that it names as canonical; b"" if it names none."""

    identifier: bytes
    canonical: bytes = b""
    #: The hashes of its paragraphs, under NEARDUP_CHANGES.
    paragraphs: bytes = b""

    @classmethod
    def of(cls, url: str, note: bytes = b"") -> Story:
        """Return what is known of the page at *url* that has this note."""
        told = behind_items(note)
        canonical = told[_SIZE : 2 * _SIZE].replace(bytes(_SIZE), b"")
        return cls(told[:_SIZE], canonical, told[2 * _SIZE :]) if told else cls(digest(url))

    def noted(self, url: str) -> bytes:
        """Return what the note of the page at *url* has behind its items: nothing, of most pages."""
        if self.paragraphs:
            return self.identifier + self.canonical.ljust(_SIZE, b"\0") + self.paragraphs
        return b"" if self == Story(digest(url)) else self.identifier + self.canonical
