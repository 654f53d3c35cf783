"""What an index does, whatever it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .header import Header


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
        """Put *parts* together, each pair once: a pair may lie side by side in several tables, by several keys."""
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


#: Matches that are put together without NumPy.
FEW = 32
NO_MATCHES = Matches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))


class Stored(NamedTuple):
    """What is stored of some documents beside their keys, row by row."""

    #: The record of each, of the dtype that the index was made with.
    records: NDArray[Any]
    #: The URL of each.
    urls: list[str]

    def take(self, rows: NDArray[np.int64] | slice) -> Stored:
        """Return some of the rows, in the order of *rows*."""
        return Stored(self.records[rows], _take(self.urls, rows))

    @classmethod
    def concatenate(cls, parts: Sequence[Stored]) -> Stored:
        """Return the rows of all *parts*, of which there must be one."""
        return cls(
            np.concatenate([part.records for part in parts]), [url for part in parts for url in part.urls]
        )


class Documents(NamedTuple):
    """Some documents to be stored, row by row."""

    #: The keys of each family, one family after another: uint64[keys, n].
    keys: NDArray[np.uint64]
    #: The record of each, of the dtype that the index was made with.
    records: NDArray[Any]
    #: The URL of each.
    urls: list[str]

    def take(self, rows: NDArray[np.int64] | slice) -> Documents:
        """Return some of the rows, in the order of *rows*."""
        return Documents(self.keys[:, rows], self.records[rows], _take(self.urls, rows))

    @property
    def stored(self) -> Stored:
        """What remains without the keys."""
        return Stored(self.records, self.urls)

    @classmethod
    def concatenate(cls, parts: Sequence[Documents]) -> Documents:
        """Return the rows of all *parts*, of which there must be one."""
        return cls(
            np.concatenate([part.keys for part in parts], axis=1),
            np.concatenate([part.records for part in parts]),
            [url for part in parts for url in part.urls],
        )


def _take(urls: list[str], rows: NDArray[np.int64] | slice) -> list[str]:
    return urls[rows] if isinstance(rows, slice) else [urls[row] for row in rows.tolist()]


class Index(Protocol):
    """Documents filed under their keys of each *family* of the header.

    A document enters by `reserve` (visible at once, kept only once confirmed) or by `add` (in bulk, kept at
    once). All methods may be called from any thread.
    """

    header: Header
    #: To be held by whoever needs several calls to be one. Never call `add`, nor ``compact`` or ``reading`` of an
    #: index on disk, while holding it: they take other locks, in this order: merging, upkeep, lock, writing.
    lock: threading.RLock

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        """Find every document that has a key within *distance* bits of one of *keys* (uint64[n]).

        One that more than *most* documents match is passed over, unless that is 0: a stock phrase tells nothing. All
        documents of the index count, pending ones too.
        """

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of *documents*, in their order; they must come from a search just made."""

    def reserve(self, keys: NDArray[np.uint64], record: NDArray[Any], url: str, holder: Any) -> int:
        """File one document (keys uint64[keys], record of shape ()) as pending; returns its number."""

    def holder(self, document: int) -> Any:
        """Return what holds the reservation of a document, None if it is not pending in this process."""

    def confirm(self, document: int, replaces: Sequence[int] = ()) -> None:
        """Keep a reserved document, in the place of those that it *replaces*."""

    def release(self, document: int) -> None:
        """Drop a reserved document."""

    def add(self, documents: Documents) -> NDArray[np.int64]:
        """File many documents at once; returns their numbers, int64[n]. They are on disk on return."""

    def discard(self, documents: Sequence[int]) -> None:
        """Remove documents."""

    def flush(self) -> None:
        """Return once all that was confirmed is on disk. Raises `IndexUnavailable` if it cannot be written."""

    def gauges(self) -> dict[str, int]:
        """Numbers on size and health."""

    def close(self) -> None:
        """Flush and close."""
