"""The main texts in files that the user names one by one, and what an index has that they repeat."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import EXTRACTORS, ContentArea
from scrapy_neardup.extraction.decoding import decode, is_binary, is_noise
from scrapy_neardup.fingerprint.main_text import MainText
from scrapy_neardup.index import open_index
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import entries, fingerprinter_of, scheme_of

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

    from numpy.typing import NDArray

    from scrapy_neardup.matching.matcher import Candidates, Judgement

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


class Match(NamedTuple):
    """A stored document that another one repeats, or resembles but for its numbers."""

    url: str
    #: exact, near, fuller or template.
    kind: str
    distance: int
    similarity: float
    containment: float


class Answer(NamedTuple):
    """What was found of a document: the kind of the strongest match, which is the first, or why none."""

    document: Document
    #: Or unique, too_short, wall, unreadable.
    verdict: str
    matches: list[Match]


def extracting_as(path: Path, settings: AuditOptions) -> AuditOptions:
    """Return *settings* with the extractor and the content area that made the texts of an index.

    The extractor of *settings* stays if the index was made by one that is not of this package: its name does
    not tell where to import it from.
    """
    with closing(open_index(path, None)) as index:
        identity = str(index.header.parameters.get("extractor", ""))
    name = identity.partition(" ")[0]
    area = ContentArea.of_identity(identity)
    return replace(
        settings,
        extractor=name if name in EXTRACTORS else settings.extractor,
        include_area=area.include,
        exclude_area=area.exclude,
    )


def query(
    path: Path,
    documents: Iterator[Document] | Sequence[Document],
    settings: AuditOptions,
    *,
    scope: str | None = None,
) -> Iterator[Answer]:
    """Look up *documents* in the index in directory *path*, in all scopes or in one; nothing is stored.

    The scheme and the features are those of the index. Raises `IndexUnavailable`, `IndexCorrupted` and, for
    another release of its segmenter, `IndexMismatch`.
    """
    with closing(open_index(path, None)) as index:
        scheme = scheme_of(index.header, distance=settings.distance, threshold=settings.threshold)
        fingerprinter = fingerprinter_of(index.header, scheme)
        matcher = Matcher(scheme, settings.verified, settings.min_tokens)
        for document in documents:
            if document.text is None:
                yield Answer(document, "unreadable", [])
                continue
            signature = fingerprinter.signature(document.main)
            unfit = matcher.unfit(signature.tokens, signature.wall)
            if unfit is not None:
                yield Answer(document, unfit, [])
                continue
            entry = entries([signature], [document.url], index.header, scope=scope or "")
            found = index.find(entry, matcher.unbounded_lookups)
            candidates = matcher.candidates(entry, found, all_scopes=scope is None)
            matches = _matches(candidates, settings.min_similarity)
            yield Answer(document, matches[0].kind if matches else "unique", matches)


def _matches(found: Candidates, least: float) -> list[Match]:
    """Return what is alike, the strongest first; what is stored in several scopes comes once."""
    judgement = found.judgement
    near = judgement.near & (judgement.similarity >= np.float32(least))
    rows = np.flatnonzero(near | judgement.fuller | judgement.template)
    matches = {
        Match(
            found.urls[row],
            _kind(judgement, near, row),
            int(judgement.distance[row]),
            float(judgement.similarity[row]),
            float(judgement.containment[row]),
        )
        for row in rows.tolist()
    }
    order = ("exact", "near", "fuller", "template")
    return sorted(
        matches, key=lambda each: (order.index(each.kind), -each.similarity, each.distance, each.url)
    )


def _kind(judgement: Judgement, near: NDArray[np.bool_], row: int) -> str:
    if judgement.exact[row]:
        return "exact"
    return "near" if near[row] else "fuller" if judgement.fuller[row] else "template"
