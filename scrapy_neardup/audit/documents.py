"""The main texts in files that the user names one by one, and what an index has that they repeat."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup import extraction
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.extraction import EXTRACTORS, ContentArea
from scrapy_neardup.extraction.decoding import decode, is_binary, is_noise
from scrapy_neardup.fingerprint.main_text import MainText, main_text
from scrapy_neardup.index import open_index
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import entries, fingerprinter_of, scheme_of

from .sources import BrokenRecord, CrawledPage, Options, Source, find_sources, read_source
from .sources.contents import looks_like_html
from .sources.head import read_head
from .sources.opening import kind_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.matching.candidates import Candidates, Judgement

    from .settings import AuditOptions

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


def read_documents(paths: Sequence[str], settings: AuditOptions) -> Iterator[Document]:
    """Yield the documents in files: one of a text or of an HTML file, all of a feed or archive.

    Raises `ConfigurationError` for a file that is not there, and `SourceUnavailable`.
    """
    workers = extraction.Workers(
        extraction.TextOnly(),
        settings.extractor,
        processes=1,
        timeout=settings.extract_timeout,
        memory=settings.extract_memory,
        keep_text=True,
        area=settings.area,
    )
    with closing(workers):
        for name in paths:
            for document in _read(Path(name), settings):
                yield document if isinstance(document, Document) else _extracted(document, workers)


def _read(path: Path, settings: AuditOptions) -> Iterator[Document | CrawledPage]:
    if not path.is_file():
        raise ConfigurationError(f"{path} is no file: name a text, an HTML file or a feed.")
    with path.open("rb") as file:
        start = file.read(4096)
    options = Options(settings.text_field, settings.url_field)
    kind = kind_of_file(path) or ("html" if looks_like_html(start) else None)
    if path.suffix.lower() in _TEXT or kind is None:
        yield _text(path, settings.max_body_size)
        return
    source = Source(path, kind) if kind == "html" else find_sources([path])[0]
    for record in read_source(source, options):
        if isinstance(record, CrawledPage) and record.text is not None:
            main = main_text(record.text)
            yield Document(
                str(record.origin), record.url, main.text, title=record.title, details=main.details
            )
        elif isinstance(record, CrawledPage) and record.body is not None:
            yield record
        elif isinstance(record, BrokenRecord):
            yield Document(str(record.origin), "", None, record.reason)


def _text(path: Path, most: int) -> Document:
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        return Document(str(path), "", None, f"more than {most:,} bytes")
    text = "" if is_binary(content) else decode(content, None)
    if is_binary(content) or is_noise(text):
        return Document(str(path), "", None, "not a text")
    main = main_text(text)
    return Document(str(path), "", main.text, details=main.details)


def _extracted(page: CrawledPage, workers: extraction.Workers) -> Document:
    assert page.body is not None
    done = workers.submit(extraction.Page(page.body, page.url, page.content_type)).result()
    url = page.url
    if not url.startswith(("http://", "https://")):
        url = read_head(page.body, page.content_type, url).indexing.declared or url
    if done.reason is not None:
        return Document(str(page.origin), url, None, f"no main text: {done.reason}")
    text = done.text or MainText("")
    return Document(str(page.origin), url, text.text, title=text.title, details=text.details)


class Match(NamedTuple):
    """A stored document that another one repeats, or resembles but for its numbers."""

    url: str
    #: exact, near, fuller or template.
    kind: str
    distance: int
    similarity: float
    containment: float


class Answer(NamedTuple):
    """What was found of a document."""

    document: Document
    #: exact, near, fuller, template, unique, too_short, wall; or "unreadable".
    verdict: str
    #: The strongest first.
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
