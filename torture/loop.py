"""What holds up the event loop: every turn that takes long is noted, with what it was busy with."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import scrapy_neardup

if TYPE_CHECKING:
    from types import FrameType

    from typing_extensions import Self

#: Seconds after which a call by the event loop is looked at, and from one look to the next.
LOOKED_AT, NEXT_LOOK = 0.02, 0.005
#: Folder of the package, and folders of what calls it or is called back by it.
_PACKAGE = f"{Path(scrapy_neardup.__file__).parent}/"
_OTHERS = ("/scrapy/", "/twisted/", "/torture/", "/tests/")


class Hold(NamedTuple):
    """A call by the event loop that took long."""

    #: Seconds that the thread was busy with it, and how long it lasted: others may have had the processor.
    busy: float
    lasted: float
    #: At which share of the looks the package, or what it has called, was at work.
    share: float
    #: Where it was then, the last time; empty if it never was.
    where: str


class LoopWatch:
    """Notes how long each call by the event loops of this thread takes, while it is entered.

    A thread looks at the calls that take long, to see whether the package is in them.
    """

    def __init__(self) -> None:
        self.holds: list[Hold] = []
        self._began: float | None = None
        self._looks: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.get_ident()

    def __enter__(self) -> Self:
        self._run = asyncio.Handle._run
        run, watch = self._run, self

        def timed(self: asyncio.Handle) -> None:
            if threading.get_ident() != watch._thread:
                return run(self)
            watch._looks = looks = list[str]()
            watch._began, busy = time.perf_counter(), time.thread_time()
            try:
                return run(self)
            finally:
                lasted = time.perf_counter() - watch._began
                watch._began = None
                if lasted > LOOKED_AT:
                    inside = [look for look in looks if look]
                    share = len(inside) / max(len(looks), 1)
                    where = inside[-1] if inside else ""
                    watch.holds.append(Hold(time.thread_time() - busy, lasted, share, where))

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        asyncio.Handle._run = self._run  # type: ignore[method-assign]

    def held_by_package(self, seconds: float) -> list[Hold]:
        """Return the calls in which the thread was busy with the package for longer than that."""
        return [hold for hold in self.holds if hold.busy * hold.share > seconds]

    def _look(self) -> None:
        while not self._stop.wait(NEXT_LOOK):
            began, looks = self._began, self._looks
            if began is not None and time.perf_counter() - began > LOOKED_AT - NEXT_LOOK:
                frame = sys._current_frames().get(self._thread)
                if frame is not None:
                    looks.append(_inside(frame))


def _inside(frame: FrameType | None) -> str:
    """Return where the package is at work; empty if others are, on whatever occasion."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_PACKAGE):
            return f"{name[len(_PACKAGE) :]}:{frame.f_lineno}"
        if any(folder in name for folder in _OTHERS):
            break
        frame = frame.f_back
    return ""
