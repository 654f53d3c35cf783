"""What an index does, whatever it is made of; and handles of pending documents.

These are for whoever decides whether a document is kept, and for those who wait for that. In a store that
several processes share each has a lease, by the clock of the store.
"""

from __future__ import annotations

import logging
import threading
import time
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .header import Header
    from .search import Matches

Value = TypeVar("Value")
logger = logging.getLogger(__name__)

#: Leases are renewed as often as this part of one is over, so that several renewals may fail.
RENEWED_AFTER = 1 / 4
#: Bytes of the longest note of a document.
MOST_NOTE = 4096


class Stored(NamedTuple):
    """What is stored of some documents beside their keys, row by row."""

    #: The record of each, of the dtype that the index was made with.
    records: NDArray[Any]
    #: The URL of each.
    urls: list[str]
    #: What was noted of each when it was confirmed: at most `MOST_NOTE` bytes, b"" for nothing.
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
    """Documents filed under their keys of each *family* of the header; for any threads.

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
        """Return what is stored of *documents*, in their order; they must come from a search just made.

        Raises `IndexCorrupted` for a number that no document has had.
        """

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


class Pending:
    """A document whose page nobody knows yet to be stored; another process or machine may hold it."""

    def __init__(self, url: str, on_settle: Callable[[Any], object] = lambda handle: None) -> None:
        #: The URL that it is filed under.
        self.url = url
        #: True once it is confirmed, False once released, None while pending, as far as is known here.
        self.confirmed: bool | None = None
        #: What is kept with the document.
        self.note = b""
        self._on_settle = on_settle
        self._callbacks: list[Callable[[Any], object]] = []
        self._lock = threading.Lock()

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Call *callback*, which must not raise, with this handle once it is settled, in any thread."""
        with self._lock:
            if self.confirmed is None:
                self._callbacks.append(callback)
                return
        callback(self)

    def _settle(self, *, confirmed: bool, note: bytes = b"") -> None:
        with self._lock:
            if self.confirmed is not None:
                return
            self.confirmed, self.note = confirmed, note
            callbacks, self._callbacks = self._callbacks, []
        try:
            self._on_settle(self)
        finally:  # whatever the index raises, nobody waits for this any more
            for callback in callbacks:
                callback(self)


class Reservation(Pending):
    """A pending document of this process. The first of ``confirm`` and ``release`` settles it."""

    def confirm(self, *, note: bytes = b"") -> None:
        """Keep the document, with a *note*. Raises ValueError for one of more than `MOST_NOTE` bytes."""
        if len(note) > MOST_NOTE:
            raise ValueError(f"The note of a document has {len(note)} bytes, and {MOST_NOTE} are stored.")
        self._settle(confirmed=True, note=note)

    def release(self) -> None:
        """Forget the document: its page was not stored, so nothing may be judged by it."""
        self._settle(confirmed=False)


class Lease(NamedTuple):
    """What a store says of a document that was pending."""

    #: True once it is confirmed, False once it is released, has lapsed, or is gone; None while it is pending.
    confirmed: bool | None
    #: How many seconds it still holds unless it is renewed, if it is pending.
    seconds: float = 0.0


class LeasedDocument(Pending):
    """The document with a *number* that another process holds. It is asked for once somebody waits for it."""

    def __init__(self, url: str, number: int, lease: Lease, leases: Leases) -> None:
        super().__init__(url)
        self.number = number
        self._ends = time.monotonic() + lease.seconds
        self._leases = leases

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        super().add_done_callback(callback)
        if self.confirmed is None:
            self._leases.waited.add(self)

    def learn(self, lease: Lease | None) -> None:
        """Take in what the store says; None if it does not answer, so only the clock can tell."""
        if lease is not None and lease.confirmed is None:
            self._ends = time.monotonic() + lease.seconds
        elif lease is not None:
            self._settle(confirmed=bool(lease.confirmed))
        if time.monotonic() >= self._ends:
            self._settle(confirmed=False)


class Leases:
    """The leases that matter to one user of a shared store: those of its own documents, and of awaited ones.

    *renew* is called with the numbers of documents whose leases shall last *seconds* from now on, *ask*
    returns the lease of each. Both are tried again if they raise; what is waited for lapses with its lease.
    """

    def __init__(
        self,
        seconds: float,
        renew: Callable[[Sequence[int]], object],
        ask: Callable[[Sequence[int]], Sequence[Lease]],
    ) -> None:
        self.seconds = seconds
        self._renew = renew
        self._ask = ask
        #: Numbers of the documents of this process: the store has given each a lease, and it is not settled.
        self.held: set[int] = set()
        #: Documents of others that somebody here waits for.
        self.waited: set[LeasedDocument] = set()
        self._renew_at = time.monotonic() + seconds * RENEWED_AFTER

    def tick(self) -> None:
        """Renew and ask what is due. To be called all the time, by one thread."""
        if time.monotonic() >= self._renew_at:
            self._try(self._renew, [*self.held.copy()])
            self._renew_at = time.monotonic() + self.seconds * RENEWED_AFTER
        waited = self.waited.copy()
        # Of one document there is a handle for each copy that has ever waited for it.
        numbers = [*dict.fromkeys(document.number for document in waited)]
        leases = dict(zip(numbers, self._try(self._ask, numbers), strict=False))
        for document in waited:
            document.learn(leases.get(document.number))
            if document.confirmed is not None:
                self.waited.discard(document)

    def _try(self, call: Callable[[Sequence[int]], Any], numbers: Sequence[int]) -> Any:
        """Return what *call* returns for *numbers*; () if it raises: a store out of reach says so itself."""
        try:
            return call(numbers) if numbers else ()
        except Exception:  # each store has errors of its own
            logger.debug("No answer for pending documents", exc_info=True)
            return ()
