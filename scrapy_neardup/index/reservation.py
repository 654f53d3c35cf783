"""The handle of a pending document, for whoever decides whether it is kept."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bytes of the longest note of a document.
MOST_NOTE = 4096


class Reservation:
    """A pending document that is held in this process: a `Pending` to those who wait for it.

    Others match it at once; only ``confirm`` makes it last. The first of ``confirm`` and ``release`` settles
    it, later calls do nothing.
    """

    #: As long as this process lives.
    holds_until = math.inf

    __slots__ = ("_callbacks", "_lock", "_on_settle", "confirmed", "note", "url")

    def __init__(self, url: str, on_settle: Callable[[Reservation], None]) -> None:
        self.url = url
        #: True once confirmed, False once released, None while pending.
        self.confirmed: bool | None = None
        #: What `confirm` was told to keep with the document.
        self.note = b""
        self._on_settle = on_settle
        self._callbacks: list[Callable[[Reservation], object]] = []
        self._lock = threading.Lock()

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

    def poll(self) -> bool | None:
        """Return `confirmed`: nobody needs to be asked."""
        return self.confirmed

    def add_done_callback(self, callback: Callable[[Reservation], object]) -> None:
        """Call *callback* with this reservation once it is settled; at once if it already is."""
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
