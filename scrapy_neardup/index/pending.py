"""Pending documents: handles to settle them, or to wait for that; and their leases in a shared store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

logger = logging.getLogger(__name__)

#: Leases are renewed as often as this part of one is over; if that fails, or there are none, tried so soon.
RENEWED_AFTER, TRIED_AFTER = 1 / 4, 1 / 60
#: Bytes of the longest note of a document.
MOST_NOTE = 4096


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
            self._leases.waited[self] = None

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

    *renew* is called with the numbers of documents whose leases shall last from now on, and for how many
    *seconds*, and answers to each; *ask* returns the lease of each. Both are tried again if they raise; what
    is waited for lapses with its lease.
    """

    def __init__(
        self,
        seconds: float,
        renew: Callable[[Sequence[int], float], Sequence[object]],
        ask: Callable[[Sequence[int]], Sequence[Lease]],
    ) -> None:
        self.seconds = seconds
        self._renew = renew
        self._ask = ask
        #: Documents of this process by number: the store has given each a lease, and it is not settled.
        self.held: dict[int, Reservation] = {}
        #: Documents of others that somebody here waits for, in the order in which they are asked for.
        self.waited: dict[LeasedDocument, None] = {}
        self._renew_at = time.monotonic() + seconds * RENEWED_AFTER

    def tick(self) -> None:
        """Renew and ask what is due. To be called all the time, by one thread."""
        if time.monotonic() >= self._renew_at:
            renewed = self._try(self._renew, [*self.held.copy()], self.seconds)
            self._renew_at = time.monotonic() + self.seconds * (RENEWED_AFTER if renewed else TRIED_AFTER)
        waited = self.waited.copy()
        # Of one document there is a handle for each copy that has ever waited for it.
        numbers = [*dict.fromkeys(document.number for document in waited)]
        leases = dict(zip(numbers, self._try(self._ask, numbers), strict=False))
        for document in waited:
            document.learn(leases.get(document.number))
            if document.confirmed is not None:
                self.waited.pop(document, None)

    def _try(self, call: Callable[..., Any], numbers: Sequence[int], *more: float) -> Any:
        """Return what *call* returns for *numbers*; () if it raises: a store out of reach says so itself."""
        try:
            return call(numbers, *more) if numbers else ()
        except Exception:  # each store has errors of its own
            logger.debug("No answer for pending documents", exc_info=True)
            return ()
