"""What a report is made of: the results of an audit, in columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

#: What the audit says of a page; `Pages.verdicts` has the positions. ``template``: the words of another page with
#: other numbers. ``wall``: captcha, login, cookie and error pages. ``revisit``: a URL that was fetched before.
VERDICTS = ("unique", "exact", "near", "template", "wall", "too_short", "revisit")

#: What the audit says of a pair; `Pairs.kinds` has the positions. ``rejected``: not alike enough. ``template``: alike
#: but for other numbers, which no threshold makes a pair. ``near`` and ``exact``: verified.
PAIR_KINDS = ("rejected", "template", "near", "exact")

#: In `Pages.distances`: not known.
NO_DISTANCE = 255


@dataclass(frozen=True, slots=True)
class Pages:
    """The n pages of a crawl, in any order that is always the same. Raises ValueError if lengths differ."""

    #: The URL, or path of a file; it need not be unique.
    urls: Sequence[str]
    #: Title or first words, "" if there are none.
    titles: Sequence[str]
    #: Positions in `VERDICTS`; uint8[n].
    verdicts: NDArray[np.uint8]
    #: Number of the cluster, -1 for none; int32[n]. Each cluster has two pages at least.
    clusters: NDArray[np.int32]
    #: The lower, the rather canonical; int64[n], the least of a cluster being its canonical page's.
    ranks: NDArray[np.int64]
    #: Bits between the fingerprints of the page and its canonical page, 255 if not known; uint8[n].
    distances: NDArray[np.uint8]
    #: Similarity to the canonical page, 0 to 1, NaN if not known; float32[n].
    similarities: NDArray[np.float32]
    #: Length of the main text; uint32[n].
    tokens: NDArray[np.uint32]
    #: When it was fetched, in seconds since 1970 (UTC), NaN if not known; float64[n].
    fetched: NDArray[np.float64]

    def __post_init__(self) -> None:
        columns = (
            self.titles,
            self.verdicts,
            self.clusters,
            self.ranks,
            self.distances,
            self.similarities,
            self.tokens,
            self.fetched,
        )
        if any(len(column) != len(self.urls) for column in columns):
            raise ValueError("The columns of the pages have different lengths: give one value for each page.")

    def __len__(self) -> int:
        return len(self.urls)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The m pairs of pages that were compared and are alike or nearly so.

    Of g equal texts, g - 1 pairs that connect them are enough; a pair takes about ten bytes of the file, so that a
    million is much. Raises ValueError if lengths differ.
    """

    #: Positions of the two pages; int32[m] each.
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    #: Bits between the fingerprints; uint8[m].
    distances: NDArray[np.uint8]
    #: 0 to 1; float32[m].
    similarities: NDArray[np.float32]
    #: Positions in `PAIR_KINDS`; uint8[m].
    kinds: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if any(
            len(c) != len(self.first) for c in (self.second, self.distances, self.similarities, self.kinds)
        ):
            raise ValueError("The columns of the pairs have different lengths: give one value for each pair.")

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Source:
    """Something that pages were read from."""

    name: str
    #: Such as "feed", "WARC", "HTTP cache", "folder".
    kind: str
    #: Pages read from it.
    pages: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that was skipped."""

    source: str
    #: Where in the source: a line, an offset, a file.
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What the audit was told and how it went."""

    sources: Sequence[Source]
    #: Largest distance of the fingerprints of two pages that count as a pair, in bits.
    max_distance: int
    #: Least similarity of a pair, 0 to 1. Where the audit decides by more than that, the value it asks as a rule.
    min_similarity: float
    version: str
    #: Other settings, in words.
    settings: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    #: All that were skipped, if more than *problems* lists.
    skipped: int = 0
    seconds: float = 0.0
    #: When the audit ended, in words; "" leaves it out, so that equal results give equal files.
    finished: str = ""


@dataclass(frozen=True, slots=True)
class ReportData:
    """All of a report."""

    pages: Pages
    #: Position of each cluster's canonical page; int32[clusters].
    canonical: NDArray[np.int32]
    pairs: Pairs
    #: The main text of a page, None if it is not at hand; asked of few pages, one at a time.
    text: Callable[[int], str | None]
    summary: Summary
