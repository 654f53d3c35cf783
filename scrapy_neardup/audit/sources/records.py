"""What comes out of the sources of an audit: pages, and what could not be read or was left out.

The limits keep what hostile or broken input takes of time and memory bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from scrapy_neardup.errors import NearDupError

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_neardup.fingerprint.main_text import MainText

#: Bytes of one record, one row, one page, after decompression.
MAX_RECORD = 1 << 26
#: Bytes read from a file since its last document: what follows is not looked at.
MAX_BARREN = 1 << 28
#: Broken records of a file since its last document.
MAX_PROBLEMS = 100_000
#: Brackets and commas of one JSON record: an empty list takes 2 bytes there, and 56 in memory.
MAX_ELEMENTS = 2_000_000
#: Bytes of HTTP headers, or of the other small files of a cache.
MAX_HEADERS = 1 << 16
#: Characters of a URL.
MAX_URL = 1 << 16


class Unreadable(Exception):
    """A record, or the rest of a file, cannot be read; the message says why."""


def megabytes(count: int) -> str:
    """Write a limit for people."""
    return f"{count >> 20} MiB"


#: ``redirect``, ``error``: by HTTP status. ``not_html``: an image, a style sheet, plain text. ``robots``: a
#: robots.txt. ``empty``: no body. ``other_file``: a file of a folder that is none of the kinds.
#: ``link_out_of_folder``: a link in a folder to a file that is not in it. ``results_of_an_audit``: a folder
#: of these in another folder.
Omission = Literal[
    "redirect", "error", "not_html", "robots", "empty", "other_file", "link_out_of_folder",
    "results_of_an_audit",
]  # fmt: skip


class SourceUnavailable(NearDupError):
    """A source does not exist, is of no known kind, or needs an extra that is not installed."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record was found."""

    #: Path of the file or directory, as it was given.
    path: str
    #: Place in it, such as "line 12"; "" for the whole.
    place: str = ""

    def __str__(self) -> str:
        return f"{self.path}, {self.place}" if self.place else self.path


@dataclass(frozen=True, slots=True)
class Revisit:
    """What a WARC ``revisit`` record refers to, which it has the same body as; at least one is known."""

    #: As `CrawledPage.digest` of that page.
    digest: str | None
    url: str | None


@dataclass(frozen=True, slots=True)
class Indexing:
    """What a page, or its HTTP headers, tells search engines."""

    #: Whether it asks them not to index it.
    noindex: bool = False
    #: The URL that it names as canonical, absolute; "" for none.
    declared: str = ""
    #: Its versions for other languages or regions: pairs of ``hreflang`` and absolute URL, each once.
    alternates: tuple[tuple[str, str], ...] = ()

    def __or__(self, other: Indexing) -> Indexing:
        """Return what both say; where each names a URL, this one counts."""
        return Indexing(
            self.noindex or other.noindex,
            self.declared or other.declared,
            tuple((dict(other.alternates) | dict(self.alternates)).items()),
        )


#: Of a page that tells search engines nothing.
SILENT = Indexing()


@dataclass(frozen=True, slots=True)
class CrawledPage:
    """One document: a text, or the HTML that it is to be extracted from."""

    #: The origin, for a document that has no URL.
    url: str
    #: Main text, of a source that has it; None for HTML and for a revisit.
    text: str | None
    #: HTML as received, without transfer and content encodings; None for text and for a revisit.
    body: bytes | None
    #: The HTTP header of that name.
    content_type: str | None
    #: When it was fetched, in seconds since 1970.
    fetched: float | None
    origin: Origin
    #: Digest of the body that the source states, such as ``sha1:…``.
    digest: str | None = None
    #: What its HTTP headers tell search engines.
    indexing: Indexing = SILENT
    #: Of a text, if the source has it.
    title: str = ""
    #: The text with its headline and short lines, if an extractor found these before.
    extracted: MainText | None = None
    #: Set if this is a revisit, which has neither text nor body.
    revisit_of: Revisit | None = None
    #: What the item says beside its text, see `notes.note_of`; empty for a page that is no item.
    note: bytes = b""


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record or the rest of a file that cannot be read, and why."""

    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A sound record that is not a page."""

    origin: Origin
    reason: Omission


Record: TypeAlias = CrawledPage | BrokenRecord | Skipped


@dataclass(frozen=True, slots=True)
class Options:
    """How sources are read."""

    #: Name of the field of feeds and tables with the text or HTML, with dots for fields of fields; None to
    #: guess.
    text_field: str | None = None
    url_field: str | None = None
    #: URL of the folder that HTML files are in; None takes that of a folder called like a host.
    base_url: str | None = None
    #: The folder that is read; None for a file that the user named.
    folder: Path | None = None
