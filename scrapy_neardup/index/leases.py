"""Pending documents that other processes hold, and those of this process that others wait for.

In a store that several processes share, a pending document has a lease: a time until which it holds. Its
holder renews it while it lives; a document whose lease has run out counts as released. The store keeps the
time, because the clocks of machines differ: it is told and asked how many seconds a lease still has.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

#: Leases are renewed as often as this part of one is over, so that several renewals may fail.
RENEWED_AFTER = 1 / 4


class Lease(NamedTuple):
    """What a store says of a document that was pending."""

    #: True once it is confirmed, False once it is released, has lapsed, or is gone; None while it is pending.
    confirmed: bool | None
    #: How many seconds it still holds unless it is renewed, if it is pending.
    seconds: float = 0.0


class LeasedDocument:
    """A pending document that another process holds: a `Pending`. `Leases.watch` makes it."""

    def __init__(self, url: str, number: int, lease: Lease, leases: Leases) -> None:
        self.url = url
        #: The number of the document in the store.
        self.number = number
        self.confirmed = lease.confirmed
        self.holds_until = time.monotonic() + lease.seconds
        self._leases = leases
        self._callbacks: list[Callable[[LeasedDocument], object]] = []
        self._lock = threading.Lock()

    def poll(self) -> bool | None:
        """Ask the store at once, which may take as long as the network does; returns `confirmed`."""
        if self.confirmed is None:
            self._leases.ask([self])
        return self.confirmed

    def add_done_callback(self, callback: Callable[[LeasedDocument], object]) -> None:
        """Call *callback* with this handle once it is no longer pending; at once if it is not."""
        with self._lock:
            if self.confirmed is None:
                self._callbacks.append(callback)
                self._leases.wait_for(self)
                return
        callback(self)

    def learn(self, lease: Lease | None) -> None:
        """Take in what the store says; None if it does not answer, so only the clock can tell."""
        if lease is not None and lease.confirmed is None:
            self.holds_until = time.monotonic() + lease.seconds
        if lease is None or lease.confirmed is None:
            if time.monotonic() < self.holds_until:
                return
            lease = Lease(confirmed=False)
        with self._lock:
            if self.confirmed is not None:
                return
            self.confirmed = lease.confirmed
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


class Leases:
    """The leases that matter to one user of a shared store: those of its own documents, and of awaited ones.

    Every *poll_seconds* a thread asks the store for the documents of others that somebody here waits for, and
    renews the leases of this user's own if that is due. *renew* is called with the numbers of documents whose
    leases shall last *seconds* from now on, *ask* returns the lease of each document of some numbers. Both
    may raise any error while the store cannot be reached: they are tried again, and a document that is waited
    for lapses when its lease does.
    """

    def __init__(
        self,
        seconds: float,
        renew: Callable[[Sequence[int]], object],
        ask: Callable[[Sequence[int]], Sequence[Lease]],
        *,
        poll_seconds: float = 0.1,
    ) -> None:
        self.seconds = seconds
        self._renew = renew
        self._ask = ask
        self._poll_seconds = min(poll_seconds, seconds * RENEWED_AFTER)
        self._held: set[int] = set()
        self._waited: set[LeasedDocument] = set()
        #: Whether the last call of the store has failed: it is logged once.
        self._failing = False
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def hold(self, number: int) -> None:
        """Renew the lease of a document of this process from now on. The store has just given it one."""
        with self._lock:
            self._held.add(number)
            self._start()

    def drop(self, number: int) -> None:
        """No longer renew the lease: the document is settled, and the store knows."""
        with self._lock:
            self._held.discard(number)

    def watch(self, url: str, number: int, lease: Lease) -> LeasedDocument:
        """Return the handle of a pending document that another process holds."""
        return LeasedDocument(url, number, lease, self)

    def wait_for(self, document: LeasedDocument) -> None:
        """Ask for *document* until it is settled."""
        with self._lock:
            self._waited.add(document)
            self._start()

    def ask(self, documents: Sequence[LeasedDocument]) -> None:
        """Ask the store for *documents* now, and tell those who wait for them."""
        # Of one document there is a handle for each copy that has ever waited for it.
        numbers = [*dict.fromkeys(document.number for document in documents)]
        leases = dict(zip(numbers, self._try(self._ask, numbers) or (), strict=False))
        for document in documents:
            document.learn(leases.get(document.number))

    def close(self) -> None:
        """End the thread. What is still held lapses, and nobody is told any more of what is waited for."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="neardup-leases", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        """Renew and ask whatever is due, until this is closed."""
        renew_at = time.monotonic() + self.seconds * RENEWED_AFTER
        while not self._closing.wait(self._poll_seconds):
            with self._lock:
                held = list(self._held) if time.monotonic() >= renew_at else []
                self._waited = {document for document in self._waited if document.confirmed is None}
                waited = list(self._waited)
            if held:
                self._try(self._renew, held)
                renew_at = time.monotonic() + self.seconds * RENEWED_AFTER
            if waited:
                self.ask(waited)

    def _try(self, call: Callable[[Sequence[int]], Result], numbers: Sequence[int]) -> Result | None:
        """Return what *call* returns for *numbers*; None if it raises, because the store is out of reach."""
        try:
            result = call(numbers)
        except Exception as error:  # noqa: BLE001  # each store has errors of its own
            if not self._failing:
                logger.warning(
                    "The store does not answer for pending documents (%s): their leases may run out, "
                    "then copies of these documents pass.",
                    error,
                )
            self._failing = True
            return None
        self._failing = False
        return result
