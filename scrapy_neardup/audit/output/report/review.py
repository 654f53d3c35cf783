"""Which pairs a person should judge: those that the audit was least sure of, few of any one cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.arrays import places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .data import ReportData

#: Pairs to review.
MOST = 500
#: Pairs of the same two clusters, or of a cluster and a page.
MOST_ALIKE = 2
#: From here on a similarity is written as 1.000.
SAME = 0.9995


def borderline(data: ReportData) -> NDArray[np.int64]:
    """Return the places of the pairs nearest to the least similarity asked; int64[k], the nearest first."""
    pairs = data.pairs
    # Texts with all shingles in common leave nothing to judge, either.
    same = (pairs["distance"] == 0) & (pairs["similarity"] >= SAME)
    judged = np.flatnonzero((pairs["kind"] != "exact") & ~same)
    away = np.abs(pairs["similarity"][judged].astype(np.float64) - data.particulars.min_similarity)
    order = judged[np.lexsort((judged, pairs["distance"][judged], np.round(away, 4)))]
    # All pages of a cluster have one number, every other page has its own.
    clusters = data.pages["cluster"].astype(np.int64)
    thing = np.where(clusters >= 0, clusters, len(data.clusters) + np.arange(len(clusters)))
    a, b = thing[pairs["first"][order]], thing[pairs["second"][order]]
    key = np.minimum(a, b) * (len(data.clusters) + len(clusters)) + np.maximum(a, b)
    by_key = np.argsort(key, kind="stable")
    kept: NDArray[np.int64] = order[np.sort(by_key[places(key[by_key]) < MOST_ALIKE])][:MOST]
    return kept
