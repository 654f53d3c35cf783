"""What a search returns: pairs of a key that was looked for and a document that has one like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Up to so many rows are put together without NumPy, which is faster.
FEW = 32


class Matches(NamedTuple):
    """Pairs of a query and a stored document, one row each, in order of query, then document."""

    #: Position of the key in the query: int64[n].
    query: NDArray[np.int64]
    #: Number of the document: int64[n]. Documents not yet on disk have negative numbers.
    document: NDArray[np.int64]
    #: Bits in which the two keys differ, of the closest key if a document has several: uint8[n].
    distance: NDArray[np.uint8]

    def take(self, rows: NDArray[np.bool_]) -> Matches:
        """Return some of the rows."""
        return Matches(self.query[rows], self.document[rows], self.distance[rows])

    @classmethod
    def gather(cls, parts: Sequence[Matches]) -> Matches:
        """Put *parts* together, each pair once: it may have been found in several tables, by several keys."""
        if not parts:
            return NO_MATCHES
        if sum(len(part.query) for part in parts) <= FEW:
            return cls._gather_few(parts)
        query, document, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(query) > 1:
            order = np.lexsort((distance, document, query))
            query, document, distance = query[order], document[order], distance[order]
            new = np.ones(len(query), dtype=bool)
            new[1:] = (query[1:] != query[:-1]) | (document[1:] != document[:-1])
            query, document, distance = query[new], document[new], distance[new]
        return cls(query, document, distance)

    @classmethod
    def _gather_few(cls, parts: Sequence[Matches]) -> Matches:
        closest: dict[tuple[int, int], int] = {}
        for part in parts:
            for query, document, distance in zip(*(column.tolist() for column in part), strict=True):
                known = closest.get((query, document), distance)
                closest[query, document] = min(known, distance)
        rows = sorted(closest)
        return cls(
            np.array([query for query, _ in rows], np.int64),
            np.array([document for _, document in rows], np.int64),
            np.array([closest[row] for row in rows], np.uint8),
        )


NO_MATCHES = Matches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))
