"""The main texts in files that the user names one by one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction.decoding import decode, is_binary, is_noise
from scrapy_neardup.fingerprint.main_text import MainText

from .reading import Reader
from .signing import unpacked
from .sources import (
    BrokenRecord,
    CrawledPage,
    Options,
    Origin,
    Source,
    find_sources,
    kind_of_file,
    read_source,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .settings import AuditOptions
    from .sources import Record
    from .store import StoredPage

#: Endings of files that are texts, whatever is in them.
_TEXT = (".txt", ".md")


class Document(NamedTuple):
    """A document with its main text, or the reason why there is none."""

    name: str
    #: "" if it is not known.
    url: str
    text: str | None
    #: Why there is no text; None if there is one.
    reason: str | None = None
    #: As `MainText` has them.
    title: str = ""
    details: str = ""

    @property
    def main(self) -> MainText:
        """What a fingerprint is made of."""
        return MainText(self.text or "", self.title, self.details)


class _Documents:
    """The `Sink` of a reader: what it finds becomes documents, by where they are."""

    directory = None

    def __init__(self) -> None:
        self.found: dict[str, Document] = {}

    def has(self, origin: Origin, stamp: str) -> bool:
        return False

    def add(self, page: StoredPage) -> None:
        name = str(page.record.origin)
        if page.filed is not None and page.filed.text is not None:
            text = unpacked(page.filed.text)
            self.found[name] = Document(name, page.of_site, text.text, None, text.title, text.details)
        elif page.reason is not None:
            self.found[name] = Document(name, page.of_site, None, f"no main text: {page.reason}")

    def add_problem(self, root: str, origin: Origin, reason: str) -> None:
        self.found[str(origin)] = Document(str(origin), "", None, reason)

    def add_skipped(self, root: str, reason: str, count: int) -> None:
        pass


def read_documents(paths: Sequence[str], settings: AuditOptions) -> Iterator[Document]:
    """Yield the documents in files: one of a text or of an HTML file, all of a feed or archive.

    Raises `ConfigurationError` for a file that is not there, and `SourceUnavailable`.
    """
    sink = _Documents()
    with closing(Reader(sink, replace(settings, workers=1), lambda *_: None)) as reader:
        for name in paths:
            for page in reader.signed_records(name, _records(Path(name), settings)):
                sink.add(page)
            # Texts come out before pages that are still extracted.
            yield from (sink.found[name] for name in sorted(sink.found, key=lambda name: (len(name), name)))
            sink.found.clear()


def _records(path: Path, settings: AuditOptions) -> Iterable[Record]:
    if not path.is_file():
        raise ConfigurationError(f"{path} is no file: name a text, an HTML file or a feed.")
    kind = kind_of_file(path)
    if path.suffix.lower() in _TEXT or kind is None:
        return [_text(path, settings.max_body_size)]
    source = Source(path, kind) if kind == "html" else find_sources([path])[0]
    return read_source(source, Options(settings.text_field, settings.url_field))


def _text(path: Path, most: int) -> Record:
    with path.open("rb") as file:
        content = file.read(most + 1)
    origin = Origin(str(path))
    text = "" if is_binary(content) else decode(content, None)
    if is_binary(content) or is_noise(text):
        return BrokenRecord(origin, "not a text")
    return CrawledPage("", text, None, None, None, origin)
