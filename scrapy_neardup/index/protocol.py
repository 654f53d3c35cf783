"""What every index does, whatever it is made of, and the documents and lookups that it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .header import Header
from .pending import Pending, Reservation
from .search import Matches

Value = TypeVar("Value")


class Stored(NamedTuple):
    """What is stored of some documents beside their keys, row by row."""

    #: The record of each, of the dtype that the index was made with.
    records: NDArray[Any]
    #: The URL of each.
    urls: list[str]
    #: What was noted of each when it was confirmed: at most `pending.MOST_NOTE` bytes, b"" for nothing.
    notes: list[bytes]

    def take(self, rows: NDArray[np.int64] | slice) -> Stored:
        """Return some of the rows, in the order of *rows*."""
        # `ndarray.take` copies no single fields.
        records = self.records[rows] if isinstance(rows, slice) else self.records.take(rows)
        return Stored(records, _take(self.urls, rows), _take(self.notes, rows))

    @classmethod
    def concatenate(cls, parts: Sequence[Stored]) -> Stored:
        """Return the rows of all *parts*, of which there must be one."""
        records, urls, notes = zip(*parts, strict=True)
        return cls(np.concatenate(records), [*chain(*urls)], [*chain(*notes)])


class Documents(NamedTuple):
    """Some documents to be stored, row by row: keys, then as in `Stored`."""

    #: The keys of each family, one family after another: uint64[keys, n].
    keys: NDArray[np.uint64]
    records: NDArray[Any]
    urls: list[str]
    notes: list[bytes]

    def take(self, rows: NDArray[np.int64] | slice) -> Documents:
        """Return some of the rows, in the order of *rows*."""
        return Documents(self.keys[:, rows], *self.stored.take(rows))

    @property
    def stored(self) -> Stored:
        """What remains without the keys."""
        return Stored(self.records, self.urls, self.notes)

    @classmethod
    def concatenate(cls, parts: Sequence[Documents]) -> Documents:
        """Return the rows of all *parts*, of which there must be one."""
        keys = np.concatenate([part.keys for part in parts], axis=1)
        return cls(keys, *Stored.concatenate([part.stored for part in parts]))


def _take(values: list[Value], rows: NDArray[np.int64] | slice) -> list[Value]:
    return values[rows] if isinstance(rows, slice) else [values[row] for row in rows.tolist()]


class Lookup(NamedTuple):
    """One way to look for documents: by their keys of a *family* that differ in at most *distance* bits.

    A key that more than *most* documents match is passed over. At most *nearest* documents are found: those
    with the most keys in common, then those that differ in the fewest bits, then those filed first. If more
    than *compared* stored keys share a prefix with the document's key, an index may pass over those that
    share the shortest ones. 0 is no bound.
    """

    family: int
    distance: int = 0
    most: int = 0
    nearest: int = 0
    compared: int = 0


class Found(NamedTuple):
    """The stored documents that one document met, n of them, in ascending order of their numbers."""

    #: Their numbers: int64[n].
    documents: NDArray[np.int64]
    #: How many keys they match of each lookup: int64[lookups, n].
    shared: NDArray[np.int64]
    #: Their records, URLs and notes.
    stored: Stored
    #: The handle of each one that is pending, None for the others.
    pending: list[Pending | None]
    #: Whether a lookup met more documents than it may find.
    crowded: bool = False
    #: Whether a lookup has passed over stored keys because there were too many to be compared.
    narrowed: bool = False

    def take(self, rows: NDArray[np.int64]) -> Found:
        """Return some of the rows, in the order of *rows* (int64[k])."""
        stored, pending = self.stored.take(rows), _take(self.pending, rows)
        return Found(self.documents[rows], self.shared[:, rows], stored, pending, self.crowded, self.narrowed)


class Filing(NamedTuple):
    """What an index is to keep of a document that was looked up."""

    #: The document: one row.
    document: Documents
    #: Numbers of the documents that go when it is confirmed.
    replaces: Sequence[int] = ()


class Index(Protocol):
    """Documents filed under their keys of each *family* of the header. Any thread may call the methods.

    A document enters by `reserve_if` (found by others at once, kept only once confirmed) or by `add` (in
    bulk, kept at once). `tests/index/conformance.py` tests all that is said here.
    """

    header: Header
    #: Whether calls go over a network, so that an event loop must not make them; settling never does.
    remote: bool

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        """Find the stored and pending documents that *document* (one row) meets in any of *lookups*."""

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        """Find what *document* meets, have *decide* say what is to be filed, file it as pending: in one step.

        An index that cannot keep others out asks *decide* again when they were faster, so it must have no
        side effects. Returns the reservation, or None if *decide* wants nothing filed.
        """

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0) -> Matches:
        """Find every document with a key within *distance* bits of one of *keys* (uint64[n])."""

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        """Find every document that has one of *keys* (uint64[n]), and what is stored of each, row by row."""

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what is stored of *documents*, just found, in order. Raises `IndexCorrupted` for others."""

    def add(self, documents: Documents) -> NDArray[np.int64]:
        """File many documents at once; returns their numbers, int64[n]. They are on disk on return."""

    def discard(self, documents: Sequence[int]) -> None:
        """Remove documents; those that are not there are no error."""

    def flush(self) -> None:
        """Return once all that was confirmed is on disk; raises `IndexUnavailable` if it cannot be."""

    def gauges(self) -> dict[str, int]:
        """Return numbers on size and health."""

    def close(self) -> None:
        """Write what is confirmed, drop what is pending, close."""
