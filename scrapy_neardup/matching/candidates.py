"""The stored documents that a new one is compared with, and how each comparison came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Pending


#: In a crawl each lookup finds at most so many documents. Real pages do not come near: of 19,777 press
#: releases none met more than 72 by all its lookups (benchmarks/bounds.py).
NEAREST = 256
#: And it compares at most about so many stored fingerprints, which takes some milliseconds. Of one language a
#: page is compared with up to 4 of 100 that are stored.
COMPARED = 1 << 20


class Judgement(NamedTuple):
    """How n pairs of documents compare, a new one and a stored one each: arrays of n."""

    #: Whether their normalised texts are equal: bool.
    exact: NDArray[np.bool_]
    #: Whether they are near-duplicates, as exact ones are, too: bool.
    near: NDArray[np.bool_]
    #: Whether the new one has most of the stored one, and more: bool.
    fuller: NDArray[np.bool_]
    #: Whether they are pages of one template, filled with other values: bool.
    template: NDArray[np.bool_]
    #: Whether they are pages of one site with the same main text and other titles: bool. The stored one may
    #: be filed as a page of a template.
    text_only: NDArray[np.bool_]
    #: Bits in which the fingerprints differ: uint8.
    distance: NDArray[np.uint8]
    #: Estimated Jaccard similarity: float32.
    similarity: NDArray[np.float32]
    #: Estimated share of the shorter text that is in the longer: float32.
    containment: NDArray[np.float32]


class Candidates(NamedTuple):
    """The stored documents that may decide what a new one is: arrays of n."""

    #: Numbers in the index: int64.
    documents: NDArray[np.int64]
    urls: list[str]
    #: What is kept of the items of each page, see `items.pack`.
    notes: list[bytes]
    #: Whether each is filed under the URL of the new one: bool.
    own: NDArray[np.bool_]
    #: When it was stored, in seconds since 1970: uint32.
    time: NDArray[np.uint32]
    #: The handle of each one that is pending, None for the others.
    pending: list[Pending | None]
    judgement: Judgement
    #: The record of the new one.
    record: Any
    #: Their records.
    stored: NDArray[Any]
    #: How many keys they have in common with the new one, by each of `Matcher.lookups`: int64[lookups, n].
    shared: NDArray[np.int64]
    #: Whether these are all that the lookups could find. If a bound has left some out, nothing is known of
    #: those.
    complete: bool

    def best(self, among: NDArray[np.bool_]) -> int | None:
        """Return the row of the best of *among* (bool[n]), None if there is none.

        Documents that are not pending come first; then exact ones, the most similar, the closest, the oldest.
        """
        rows = np.flatnonzero(among).tolist()
        if not rows:
            return None
        return min(
            rows,
            key=lambda row: (
                self.pending[row] is not None,
                not self.judgement.exact[row],
                -self.judgement.similarity[row],
                self.judgement.distance[row],
                self.time[row],
                self.urls[row],
            ),
        )

    @property
    def same_lines(self) -> NDArray[np.bool_]:
        """Which of them have in their short lines the figures and words that the new one has: bool[n]."""
        same = [(self.stored[field] == self.record[field]).all(axis=-1) for field in ("figures", "words")]
        return np.asarray(same[0] & same[1])
