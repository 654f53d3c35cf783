"""A document's place in the index while nobody knows yet whether its page will be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Reservation:
    """A pending document. Others match it at once; only ``confirm`` makes it last.

    The first of ``confirm`` and ``release`` settles it, later calls do nothing.
    """

    __slots__ = ("_callbacks", "_on_settle", "confirmed", "url", "weak")

    def __init__(self, url: str, on_settle: Callable[[bool], None]) -> None:
        self.url = url
        #: True once confirmed, False once released, None while pending.
        self.confirmed: bool | None = None
        #: Whether it is confirmed without items.
        self.weak = False
        self._on_settle = on_settle
        self._callbacks: list[Callable[[Reservation], None]] = []

    def confirm(self, *, weak: bool = False) -> None:
        """Keep the document: its page was stored.

        A *weak* one has stored no item: its copies are told from it by `Verdict.weak`.
        """
        if self.confirmed is None:
            self.weak = weak
            self._settle(True)

    def release(self) -> None:
        """Forget the document: its page was not stored, so nothing may be judged by it."""
        self._settle(False)

    def add_done_callback(self, callback: Callable[[Reservation], None]) -> None:
        """Call *callback* with this reservation once it is settled; at once if it already is."""
        if self.confirmed is None:
            self._callbacks.append(callback)
        else:
            callback(self)

    def _settle(self, confirmed: bool) -> None:
        if self.confirmed is not None:
            return
        self.confirmed = confirmed
        self._on_settle(confirmed)
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)
