"""Columns of pages and pairs as a report has them: numbers of few bits, in which a browser counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.audit.model import PAIR_KINDS, VERDICTS

from .embed import column_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

#: Similarities are kept in ten-thousandths, in 16 bits.
SCALE = 10_000
NO_SIMILARITY = 65_535
NO_TIME = 2**32 - 1


def page_columns(pages: NDArray[Any]) -> Iterator[str]:
    """Yield the blocks of *pages* but their hosts, URLs and titles."""
    yield column_block("page-verdict", positions(pages["verdict"], VERDICTS), "u1")
    yield column_block("page-cluster", pages["cluster"], "<i4")
    # Their order is what counts, and small numbers pack better.
    ranks = np.empty(len(pages), np.uint32)
    ranks[np.lexsort((np.arange(len(pages)), pages["rank"]))] = np.arange(len(pages))
    yield column_block("page-rank", ranks, "<u4")
    yield column_block("page-distance", pages["distance"], "u1")
    yield column_block("page-similarity", scaled(pages["similarity"]), "<u2")
    yield column_block("page-tokens", pages["tokens"], "<u4")
    yield column_block("page-time", times(pages["fetched"]), "<u4")


def pair_columns(pairs: NDArray[Any]) -> Iterator[str]:
    """Yield the blocks of *pairs*."""
    yield column_block("pair-first", pairs["first"], "<u4")
    yield column_block("pair-second", pairs["second"], "<u4")
    yield column_block("pair-distance", pairs["distance"], "u1")
    yield column_block("pair-similarity", scaled(pairs["similarity"]), "<u2")
    yield column_block("pair-kind", positions(pairs["kind"], PAIR_KINDS), "u1")


def positions(names: NDArray[np.str_], among: Sequence[str]) -> NDArray[np.uint8]:
    """Return the position of each of *names* in *among*; uint8[n]."""
    found = np.zeros(len(names), np.uint8)
    for position, name in enumerate(among):
        found[names == name] = position
    return found


def scaled(similarities: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return similarities in ten-thousandths, `NO_SIMILARITY` for NaN."""
    values = np.round(np.clip(similarities.astype(np.float64), 0, 1) * SCALE)
    return np.where(np.isnan(values), NO_SIMILARITY, values)


def times(fetched: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole seconds since 1970, `NO_TIME` for what is not known or no time."""
    values = np.nan_to_num(fetched, nan=NO_TIME, posinf=NO_TIME, neginf=NO_TIME)
    return np.where((values >= 0) & (values < NO_TIME), values, NO_TIME).astype(np.int64)
