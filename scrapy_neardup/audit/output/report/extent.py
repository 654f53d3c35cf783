"""Which pages a report lists of a crawl that is too large for a browser, and what it says of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .texts import MOST_OF_CLUSTER, by_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .data import ReportData


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a report holds, so that a browser opens it at once."""

    #: Pages that are listed.
    pages: int = 100_000
    #: Pairs, from which a browser groups the pages at another threshold.
    pairs: int = 500_000
    #: Hosts, and pairs of hosts, that are listed; the others are one row.
    hosts: int = 5_000
    #: Bytes of the file. A block of texts may come on top.
    size: int = 9_000_000
    #: Bytes of these that are left for texts.
    texts: int = 2_000_000


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of an audit that a report lists."""

    #: The pages, pairs and clusters that are listed, with row numbers of their own.
    data: ReportData
    #: The row in *data* of each page of the audit, -1 for none; int64[pages].
    row: NDArray[np.int64]
    #: The clusters of the audit that are listed; int64[k].
    clusters: NDArray[np.int64]
    #: The pairs to review, by their places in *data*; int64[r].
    review: NDArray[np.int64]


def canonical_of(data: ReportData) -> NDArray[np.int64]:
    """Return the row of each page's canonical page, its own if it is in no cluster; int64[pages]."""
    labels = data.pages["cluster"]
    found: NDArray[np.int64] = np.append(data.clusters["canonical"], 0)[labels]
    return np.where(labels >= 0, found, np.arange(len(labels)))


def whole(data: ReportData, review: NDArray[np.int64]) -> Extent:
    """Return all there is."""
    return Extent(data, np.arange(len(data.pages)), np.arange(len(data.clusters)), review)


def part(data: ReportData, review: NDArray[np.int64], examples: Iterable[int], most: int) -> Extent:
    """Return *most* pages: those to review and *examples*, those of clusters, those set aside, then others.

    Of clusters the largest come first, with `MOST_OF_CLUSTER` pages each; the rest of their pages follow. No
    page is there without its canonical page. Of the pairs only those to *review* are there.
    """
    pages, canonical = data.pages, canonical_of(data)
    members, place = by_cluster(data)
    level = np.where(pages["verdict"] == "unique", 4, 3)
    level[members] = np.where(place < MOST_OF_CLUSTER, 1, 2)
    ends = np.concatenate((data.pairs["first"][review], data.pairs["second"][review]))
    needed = np.concatenate((ends, np.fromiter(examples, np.int64)))
    needed = needed[needed >= 0]
    level[needed] = level[canonical[needed]] = 0
    position = np.arange(len(pages))
    position[members] = np.arange(len(members))
    chosen = np.zeros(len(pages), bool)
    chosen[np.lexsort((position, level))[:most]] = True
    rows = np.flatnonzero(chosen & chosen[canonical])
    row = np.full(len(pages), -1, np.int64)
    row[rows] = np.arange(len(rows))
    clusters = np.flatnonzero(row[data.clusters["canonical"]] >= 0)
    number = np.full(len(data.clusters) + 1, -1, np.int32)
    number[clusters] = np.arange(len(clusters))
    kept, groups = pages[rows], data.clusters[clusters]
    kept["cluster"], kept["canonical"] = number[kept["cluster"]], row[canonical[rows]]
    groups["canonical"] = row[groups["canonical"]]
    pairs = data.pairs[review]
    pairs["first"], pairs["second"] = row[pairs["first"]], row[pairs["second"]]
    pairs = pairs[(pairs["first"] >= 0) & (pairs["second"] >= 0)]
    held = replace(
        data, pages=kept, clusters=groups, pairs=pairs, text=lambda page: data.text(int(rows[page]))
    )
    return Extent(held, row, clusters, np.arange(len(pairs)))


def left_out(data: ReportData, extent: Extent) -> str:
    """Say what *extent* leaves out of *data*, by which rule, and where it is; "" if it is all there."""
    held = extent.data
    if held is data:
        return ""
    pages, clusters = len(data.pages) - len(held.pages), len(data.clusters) - len(held.clusters)
    return (
        f"So that a browser can open it, this report lists {len(held.pages):,} of {len(data.pages):,} pages, "
        f"{len(held.clusters):,} of {len(data.clusters):,} clusters and {len(held.pairs):,} of "
        f"{len(data.pairs):,} pairs; {pages:,} pages and {clusters:,} clusters are left out. "
        "Listed are first the pages to review and of examples, then the largest clusters "
        f"({MOST_OF_CLUSTER:,} pages of each, then more), then pages that are set aside, last unique ones; "
        "of pairs those to review. All pages are in pages.jsonl, all clusters in clusters.jsonl, all pairs "
        "in pairs.jsonl. Figures, charts, hosts and causes are of all pages."
    )
