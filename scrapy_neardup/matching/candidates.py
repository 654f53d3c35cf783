"""The stored documents that a new one is compared with, and how each comparison came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Pending


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
    #: Whether each is filed under the URL of the new one: bool.
    own: NDArray[np.bool_]
    #: Whether its page has stored no item: bool.
    weak: NDArray[np.bool_]
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

    def best(self, among: NDArray[np.bool_]) -> int | None:
        """Return the row of the best of *among* (bool[n]), None if there is none.

        Documents that are not pending come first; then those with items, exact ones, the most similar, the
        closest, the oldest.
        """
        rows = np.flatnonzero(among).tolist()
        if not rows:
            return None
        return min(
            rows,
            key=lambda row: (
                self.pending[row] is not None,
                self.weak[row],
                not self.judgement.exact[row],
                -self.judgement.similarity[row],
                self.judgement.distance[row],
                self.time[row],
                self.urls[row],
            ),
        )
