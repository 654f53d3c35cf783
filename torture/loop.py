"""What holds up the event loop: every turn that takes long is noted, with what it was busy with."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from typing_extensions import Self

#: Seconds after which a call by the event loop is looked at.
LOOKED_AT = 0.025
#: Folder of the package, as it stands in the names of files.
_PACKAGE = "/scrapy_neardup/"


class Hold(NamedTuple):
    """A call by the event loop that took long."""

    #: Seconds that the thread was busy with it, and how long it lasted: others may have had the processor.
    busy: float
    lasted: float
    #: Where the package was in it when it was looked at; empty if the package was not in it.
    where: str


class LoopWatch:
    """Notes how long each call by the event loops of this thread takes, while it is entered.

    A thread looks at the calls that take long, to see whether the package is in them.
    """

    def __init__(self) -> None:
        self.holds: list[Hold] = []
        #: How long each call lasted, in seconds, and when it began.
        self.lasted = array("d")
        self._began: float | None = None
        self._where = ""
        self._stop = threading.Event()
        self._thread = threading.get_ident()

    def __enter__(self) -> Self:
        self._run = asyncio.Handle._run
        run, watch = self._run, self

        def timed(handle: asyncio.Handle) -> Any:
            if threading.get_ident() != watch._thread:
                return run(handle)
            watch._where = ""
            watch._began, busy = time.perf_counter(), time.thread_time()
            try:
                return run(handle)
            finally:
                lasted = time.perf_counter() - watch._began
                watch._began = None
                watch.lasted.append(lasted)
                if lasted > LOOKED_AT:
                    watch.holds.append(Hold(time.thread_time() - busy, lasted, watch._where))

        asyncio.Handle._run = timed  # type: ignore[method-assign]
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._stop.set()
        asyncio.Handle._run = self._run  # type: ignore[method-assign]

    def held_by_package(self, seconds: float) -> list[Hold]:
        """Return the calls in which the package was, and for which the thread was busy longer than that."""
        return [hold for hold in self.holds if hold.where and hold.busy > seconds]

    def percentile(self, share: float, part: slice = slice(None)) -> float:
        """Return how long the longest calls last, but for a *share* in percent of the time they take.

        What something that happens meanwhile has to wait for depends on the time that calls take, not on how
        many there are.
        """
        lasted = np.sort(np.array(self.lasted[part] or [0.0], float))
        taken = np.cumsum(lasted)
        return float(lasted[np.searchsorted(taken, taken[-1] * share / 100)])

    def _look(self) -> None:
        while not self._stop.wait(LOOKED_AT / 3):
            began = self._began
            if began is not None and time.perf_counter() - began > LOOKED_AT * 2 / 3 and not self._where:
                frame = sys._current_frames().get(self._thread)
                if frame is not None:
                    self._where = _inside(frame)


def _inside(frame: FrameType) -> str:
    """Return the innermost places of the package on the stack; empty if it is not there."""
    places = [
        f"{each.filename.rsplit(_PACKAGE, 1)[1]}:{each.lineno}"
        for each in traceback.extract_stack(frame)
        if _PACKAGE in each.filename and "/torture/" not in each.filename
    ]
    return " > ".join(places[-3:])
