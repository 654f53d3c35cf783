"""What the report shows of an audit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.thresholds import in_words
from scrapy_neardup.audit.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.audit.model import Audit, Input

#: What search engines know of the repeats, in words.
HANDLED_WORDS = {
    "canonical": "that name their canonical page already",
    "hreflang": "in other languages or regions (hreflang)",
    "noindex": "that ask not to be indexed",
    "to_fix": "to fix",
}
#: Sites whose boilerplate is shown.
SITES = 10
#: Problems listed in a report. The file problems.jsonl has all.
PROBLEMS = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a report holds, so that a browser opens it at once."""

    #: Pages of clusters that are listed, and of these pages those of any one cluster.
    pages: int = 100_000
    of_cluster: int = 100
    #: Hosts, and pairs of hosts, that are listed; the others are one row.
    hosts: int = 5_000
    #: Bytes of the file.
    size: int = 9_000_000
    #: Bytes of these that are left for texts.
    texts: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Particulars:
    """How the audit was made, for the report to say it."""

    #: What was read, with the number of pages of each.
    inputs: Sequence[tuple[Input, int]]
    #: Largest distance of the fingerprints of two pages that count as a pair, in bits.
    max_distance: int
    #: Least similarity of a pair, 0 to 1. The audit's rules ask for more or less by the length of a text;
    #: this is the value for long ones.
    min_similarity: float
    version: str
    #: Names and values of further settings, in words.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: File, place and reason of some of the records that could not be read.
    problems: Sequence[tuple[str, str, str]] = ()
    #: How many records could not be read, if these are more than *problems* lists.
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class ReportData:
    """The content of a report.

    The tables *pages*, *clusters* and *pairs* are those of `Audit`.
    """

    pages: NDArray[Any]
    clusters: NDArray[Any]
    pairs: NDArray[Any]
    #: Returns the main text of a row of *pages*, or None. It is called for few pages, one at a time.
    text: Callable[[int], str | None]
    particulars: Particulars

    @classmethod
    def of(cls, audit: Audit) -> ReportData:
        """Return the content of the report of *audit*. It is the same for each run with the same results."""
        from scrapy_neardup import __version__
        from scrapy_neardup.audit.output.summary import handled

        settings = audit.settings
        particulars = Particulars(
            inputs=audit.inputs,
            max_distance=settings.distance,
            min_similarity=settings.least_similarity,
            version=__version__,
            settings={
                "Scheme": settings.loaded_scheme.name,
                **({"Asked of near copies": in_words(settings.min_similarity)} if settings.verified else {}),
                "Repeats": ", ".join(
                    f"{count:,} {HANDLED_WORDS[name]}" for name, count in handled(audit).items() if count
                )
                or "none",
                "Left out as boilerplate": _boilerplate(audit),
                "Extractor": settings.extractor,
                **({"Content area": ", ".join(settings.include_area)} if settings.include_area else {}),
                **({"Left out of pages": ", ".join(settings.exclude_area)} if settings.exclude_area else {}),
                "Shortest text": f"{settings.min_tokens} tokens",
                "Canonical page": ", ".join(settings.rules) if settings.rules is not None else "by all rules",
                **({"Preferred hosts": ", ".join(settings.hosts)} if settings.hosts else {}),
            },
            problems=audit.problems[:PROBLEMS],
            skipped=len(audit.problems),
        )
        return cls(audit.pages, audit.clusters, audit.pairs, audit.text, particulars)

    def canonical_rows(self) -> NDArray[np.int64]:
        """Return the row of each page's canonical page, its own if it is in no cluster; int64[pages]."""
        labels = self.pages["cluster"]
        found: NDArray[np.int64] = np.append(self.clusters["canonical"], 0)[labels]
        return np.where(labels >= 0, found, np.arange(len(labels)))

    def sizes(self) -> NDArray[np.int64]:
        """Return how many pages each cluster has; int64[clusters]."""
        return np.bincount(self.pages["cluster"] + 1, minlength=len(self.clusters) + 1)[1:]


def _boilerplate(audit: Audit) -> str:
    """Say what was left out of the texts of the sites with the most boilerplate."""
    urls = audit.pages["url"]
    said = (
        f"{each.paragraphs:,} paragraphs that stand on {len(each.pages):,} pages of "
        f"{split_url(urls[each.pages[0]]).host or 'files'}, such as “{each.example}”"
        for each in audit.boilerplate[:SITES]
    )
    return "; ".join(said) or "nothing"
