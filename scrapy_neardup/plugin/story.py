"""Which story a page tells, and which page it names as its better copy: kept in the page's note."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from scrapy_neardup.matching.items import unpack

#: Bytes of the identifier of a story, and how many paragraphs of a page are noted.
_SIZE, PARAGRAPHS = 12, 400


def identify(url: str) -> bytes:
    """Return the identifier of the story that was first seen at *url*: the same in each process and crawl."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()


class Story(NamedTuple):
    """The story of a page, and the identifier of the URL that it names as canonical; b"" if it names none."""

    identifier: bytes
    canonical: bytes = b""
    #: The hashes of its paragraphs, under NEARDUP_CHANGES.
    paragraphs: bytes = b""

    @classmethod
    def of(cls, url: str, note: bytes = b"") -> Story:
        """Return what is known of the page at *url* that has this note."""
        _, told = unpack(note)
        canonical = told[_SIZE : 2 * _SIZE].replace(bytes(_SIZE), b"")
        return cls(told[:_SIZE], canonical, told[2 * _SIZE :]) if told else cls(identify(url))

    def noted(self, url: str) -> bytes:
        """Return what the note of the page at *url* has behind its items: nothing, of most pages."""
        if self.paragraphs:
            return self.identifier + self.canonical.ljust(_SIZE, b"\0") + self.paragraphs
        return b"" if self == Story(identify(url)) else self.identifier + self.canonical


def prefers(canonical: bytes | None, url: str, note: bytes) -> bool:
    """Whether the page at *url* with that note names the page with this identifier as its better version."""
    return Story.of(url, note).canonical == canonical
