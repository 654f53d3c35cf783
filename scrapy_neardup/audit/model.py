"""The result of an audit: tables of pages, clusters and pairs, and the names of verdicts and kinds."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.matching.sites import split_url

if TYPE_CHECKING:
    from .options import AuditOptions
    from .store import Store

#: What an audit says of a page; docs/audit.md explains each.
VERDICTS = ("unique", "exact", "near", "part", "template", "wall", "too_short", "revisit")
#: What tells search engines already that a page repeats its canonical page, see `Audit.pages`.
HANDLED = ("canonical", "hreflang", "noindex")
#: The distance of a page that was compared with no canonical page.
NO_DISTANCE = 255

#: The columns of `Audit.pages`.
PAGES = np.dtype([
    ("url", "O"), ("title", "O"), ("verdict", "U9"), ("cluster", "i4"), ("canonical", "i8"),
    ("distance", "u1"), ("similarity", "f4"), ("rank", "i8"), ("tokens", "u4"), ("fetched", "f8"),
    ("declared", "O"), ("noindex", "?"), ("alternates", "O"), ("handled", "U9"), ("renamed", "?"),
])  # fmt: skip
#: The columns of `Audit.clusters`.
CLUSTERS = np.dtype([(name, "i8") for name in ("canonical", "size", "exact", "near", "part", "revisit")])
#: The columns of `Audit.pairs`.
PAIRS = np.dtype([
    ("first", "i8"), ("second", "i8"), ("kind", "U8"), ("distance", "u1"), ("similarity", "f4"),
    ("containment", "f4"),
])  # fmt: skip


class Input(NamedTuple):
    """A source of an audit."""

    #: The path as the user gave it. For a pattern with wildcards it is a path that the pattern matches.
    name: str
    #: Such as "json lines", "warc", "folder".
    kind: str


def clustered(pages: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows of *pages* in clusters, cluster by cluster, canonical pages first; int64[m]."""
    rows: NDArray[np.int64] = np.flatnonzero(pages["cluster"] >= 0)
    return rows[np.lexsort((pages["rank"][rows], pages["cluster"][rows]))]


@dataclass(frozen=True)
class Audit(AbstractContextManager["Audit"]):
    """What an audit has found. The arrays are structured: ``audit.pages["verdict"]`` is a column.

    Close it when the texts are no longer wanted, or use it in a ``with`` statement.
    """

    #: n pages in the order of their URLs, as `PAGES`. ``cluster`` is -1 in none, ``canonical`` a row (its own
    #: in no cluster), ``distance`` in bits and ``similarity`` are to that page (`NO_DISTANCE`, NaN: none).
    #: ``rank`` is lowest for the canonical page of a cluster. ``fetched`` is in seconds since 1970 (NaN: not
    #: known), ``declared`` the URL that it names as canonical, ``alternates`` JSON of ``hreflang`` to URL,
    #: ``handled`` one of `HANDLED`; "" for none. ``renamed``: its titles have other words than those of
    #: its canonical page on the same site; with an equal text, it has another name, see `names`.
    pages: NDArray[Any]
    #: k clusters, the largest first, as `CLUSTERS`: the row of the canonical page, and how many pages.
    clusters: NDArray[Any]
    #: m pairs that were compared, as `PAIRS`: rows of pages, bits, 0 to 1, and the kind. ``exact``, ``near``:
    #: one repeats the other; ``part``: has it and much else; ``template``: numbers, title or lines differ.
    pairs: NDArray[Any]
    settings: AuditOptions
    #: What was read, with the number of pages of each.
    inputs: tuple[tuple[Input, int], ...]
    #: File, place and reason of all that could not be read.
    problems: tuple[tuple[str, str, str], ...]
    #: How many records are no pages, by reason.
    skipped: dict[str, int]
    #: What stands on many pages of a site, and was left out when pages were compared; see summary.json.
    boilerplate: tuple[dict[str, Any], ...]
    _store: Store = field(repr=False)
    _ids: NDArray[np.int64] = field(repr=False)

    def text(self, page: int) -> str | None:
        """Return the main text of a row of `pages`; None if the page has none or its text was not stored."""
        text = self._store.main_text(int(self._ids[page]))
        return text and text.shown

    @cached_property
    def hosts(self) -> list[dict[str, Any]]:
        """How many pages of each verdict every host has, those with the most duplicates first."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for url, verdict in zip(self.pages["url"].tolist(), self.pages["verdict"].tolist(), strict=True):
            counts[split_url(url).netloc][verdict] += 1
        rows = [
            {"host": host, "pages": found.total(), **{name: found[name] for name in VERDICTS}}
            for host, found in counts.items()
        ]
        return sorted(rows, key=lambda row: (-row["exact"] - row["near"], -row["pages"], row["host"]))

    def close(self) -> None:
        """Close the file with the stored texts."""
        self._store.close()

    def __exit__(self, *_: object) -> None:
        self.close()
