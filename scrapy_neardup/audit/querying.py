"""What an index has that a document repeats."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.extraction import EXTRACTORS, ContentArea
from scrapy_neardup.index import open_index
from scrapy_neardup.matching.matcher import Matcher
from scrapy_neardup.matching.records import entries, fingerprinter_of, scheme_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_neardup.matching.candidates import Candidates, Judgement

    from .documents import Document
    from .settings import AuditOptions


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
