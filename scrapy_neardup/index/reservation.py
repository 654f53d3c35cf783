"""Handles of pending documents: for whoever decides whether one is kept, and for those who wait for that."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bytes of the longest note of a document.
MOST_NOTE = 4096


class Pending:
    """A document whose page nobody knows yet to be stored. It may be held by another process or machine.

    Where documents outlive the process that holds them, each has a lease, which the holder renews while it
    lives. A document whose lease has run out counts as released. Its holder may confirm it nevertheless; then
    it is filed anew, so two copies may be kept, but no page is lost.
    """

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
        """Call *callback* with this handle once it is no longer pending, in any thread; at once if it is not.

        *callback* must not raise, and should not take long.
        """
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
    """A pending document that is held in this process.

    Others match it at once; only ``confirm`` makes it last. The first of ``confirm`` and ``release`` settles
    it, later calls do nothing.
    """

    def confirm(self, *, note: bytes = b"") -> None:
        """Keep the document: its page was stored. The *note* is stored with it, in one step.

        Raises ValueError for a note of more than `MOST_NOTE` bytes.
        """
        if len(note) > MOST_NOTE:
            raise ValueError(f"The note of a document has {len(note)} bytes, and {MOST_NOTE} are stored.")
        self._settle(confirmed=True, note=note)

    def release(self) -> None:
        """Forget the document: its page was not stored, so nothing may be judged by it."""
        self._settle(confirmed=False)
