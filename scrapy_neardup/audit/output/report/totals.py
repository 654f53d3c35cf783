"""Figures of all pages, for a report that does not list all: by verdict, host, day, of pairs and clusters.

A browser makes the same figures of a report that lists all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import NO_DISTANCE, VERDICTS
from scrapy_neardup.clock import SECONDS_PER_DAY

from .columns import NO_SIMILARITY, NO_TIME, positions, scaled, times
from .extent import canonical_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .data import ReportData

#: Sizes from which on clusters are counted together in the chart.
SIZES = (2, 3, 4, 6, 11, 21, 51, 101, 1001)
#: Bars of the chart of similarities, from 0 to 1.
BARS = 20


def repeating(data: ReportData) -> NDArray[np.bool_]:
    """Tell which pages repeat another one; bool[pages]."""
    return np.isin(data.pages["verdict"], ("exact", "near"))


def group_hosts(
    data: ReportData, hosts: NDArray[np.int64], names: Sequence[str], most: int
) -> tuple[NDArray[np.int64], list[str]]:
    """Put all hosts but the *most* with the most repeats, then pages, together under the last number.

    Returns the number of each page's host and the names, the hosts with the most repeats first.
    """
    repeats = np.bincount(hosts[repeating(data)], minlength=len(names))
    order = np.lexsort((np.arange(len(names)), -np.bincount(hosts, minlength=len(names)), -repeats))
    number = np.empty(len(names), np.int64)
    number[order] = np.minimum(np.arange(len(names)), most)
    listed = [names[i] for i in order[:most].tolist()]
    others = len(names) - most
    return number[hosts], [*listed, f"({others:,} other hosts)"] if others > 0 else listed


def pairs_of_hosts(data: ReportData, hosts: NDArray[np.int64], most: int) -> list[list[int]]:
    """Return the *most* pairs of hosts with the most pages that repeat one of the other host.

    Each is low and high host, how many pages of each repeat one of the other, and an example: the row of a
    page and that of its canonical page.
    """
    canonical = canonical_of(data)
    pages = np.flatnonzero(repeating(data) & (hosts != hosts[canonical]))
    pages = pages[np.lexsort((pages, data.pages["cluster"][pages]))]
    own, other = hosts[pages], hosts[canonical[pages]]
    low, high = np.minimum(own, other), np.maximum(own, other)
    count = int(hosts.max(initial=0)) + 1
    keys, first, which = np.unique(low * count + high, return_index=True, return_inverse=True)
    every = np.bincount(which, minlength=len(keys))
    forth = np.bincount(which[own == low], minlength=len(keys))
    best = np.lexsort((first, -every))[:most]
    columns = (low[first], high[first], forth, every - forth, pages[first], canonical[pages[first]])
    return [list(row) for row in zip(*(column[best].tolist() for column in columns), strict=True)]


def totals(data: ReportData, hosts: NDArray[np.int64], names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of all pages but those of `pairs_of_hosts`; *hosts* is the number of each page's."""
    verdicts = positions(data.pages["verdict"], VERDICTS).astype(np.int64)
    when = times(data.pages["fetched"])
    known = when < NO_TIME
    days, day = np.unique(when[known] // SECONDS_PER_DAY, return_inverse=True)
    sizes = np.bincount(data.pages["cluster"] + 1, minlength=len(data.clusters) + 1)[1:]
    return {
        "pages": len(data.pages),
        "clusters": len(data.clusters),
        "largest": int(sizes.max(initial=0)),
        "sizes": np.bincount(np.digitize(sizes, SIZES), minlength=len(SIZES) + 1)[1:].tolist(),
        "verdicts": np.bincount(verdicts, minlength=len(VERDICTS)).tolist(),
        "hosts": _table(hosts, verdicts, len(names), len(VERDICTS)),
        "days": days.tolist(),
        "byDay": _table(day, verdicts[known], len(days), len(VERDICTS)),
        **_pairs(data),
    }


def describe(data: ReportData, clusters: NDArray[np.int64], hosts: NDArray[np.int64]) -> list[list[int]]:
    """Return for each of the *clusters*: its pages, hosts, near and exact ones, least alike and farthest."""
    pages = data.pages
    members = np.flatnonzero(pages["cluster"] >= 0)
    number = pages["cluster"][members]
    size = len(data.clusters)
    verdict = pages["verdict"][members]
    copies = members != data.clusters["canonical"][number]
    least = np.full(size, NO_SIMILARITY)
    np.minimum.at(least, number[copies], scaled(pages["similarity"][members[copies]]).astype(np.int64))
    compared = copies & (pages["distance"][members] != NO_DISTANCE)
    farthest = np.full(size, -1)
    np.maximum.at(farthest, number[compared], pages["distance"][members[compared]].astype(np.int64))
    different = np.unique(number.astype(np.int64) * (int(hosts.max(initial=0)) + 1) + hosts[members])
    columns = (
        np.bincount(number, minlength=size),
        np.bincount(different // (int(hosts.max(initial=0)) + 1), minlength=size),
        np.bincount(number[copies & (verdict == "near")], minlength=size),
        np.bincount(number[copies & (verdict == "exact")], minlength=size),
        least,
        np.where(farthest < 0, NO_DISTANCE, farthest),
    )
    return np.stack(columns, 1)[clusters].tolist()  # type: ignore[no-any-return]


def _pairs(data: ReportData) -> dict[str, Any]:
    """Count the pairs whose texts are not equal by distance and by similarity: taken ones, others."""
    pairs = data.pairs[data.pairs["kind"] != "exact"]
    refused = np.isin(pairs["kind"], ("rejected", "template")).astype(np.int64)
    farthest = max(int(data.pairs["distance"].max(initial=0)), data.particulars.max_distance)
    bars = np.minimum(BARS - 1, scaled(pairs["similarity"]).astype(np.int64) // 500)
    return {
        "pairs": len(data.pairs),
        "distances": _table(pairs["distance"].astype(np.int64), refused, farthest + 1, 2),
        "similarities": _table(bars, refused, BARS, 2),
    }


def _table(rows: NDArray[Any], columns: NDArray[np.int64], height: int, width: int) -> list[list[int]]:
    """Count how often each row and column come together."""
    counts = np.bincount(rows * width + columns, minlength=height * width)
    return counts.reshape(height, width).tolist()
