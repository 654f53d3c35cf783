"""What was confirmed or released and is not yet written.

A thread writes it, and whoever reads has it written first.
"""

from __future__ import annotations

import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .server import Call

#: At most so many writes wait while the server is away; the oldest goes then, and its document lapses.
WAITING = 10_000
#: Writes in one round trip.
AT_ONCE = 256
#: Seconds that a write waits for others.
GROUP_SECONDS = 0.02
#: Seconds until a failed write is tried again.
RETRY_SECONDS = 1.0


class Write(NamedTuple):
    """A call that settles a document. It may be made twice."""

    call: Call
    #: What is called with the answer; tells whether it has made other calls.
    done: Callable[[Any], bool] | None = None


class Settling:
    """A queue of writes.

    *send* makes calls in one round trip. If it raises `IndexUnavailable`, they are tried again.
    """

    def __init__(self, send: Callable[[Sequence[Call]], Sequence[Any]], waiting: int = WAITING) -> None:
        self._send = send
        self._waiting = waiting
        self._queue: deque[Write] = deque()
        self._wake = threading.Condition()
        self._closing = threading.Event()
        #: Held while some are written, so that they keep their order.
        self._writing = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None
        #: Writes that were given up.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, writes: Sequence[Write]) -> None:
        """Have *writes* made soon, by another thread."""
        with self._wake:
            self._queue.extend(writes)
            while len(self._queue) > self._waiting:
                self._queue.popleft()
                self.lost += 1
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="neardup-settling", daemon=True)
                self._thread.start()
            if len(self._queue) == len(writes):
                self._wake.notify_all()  # the thread rests: if it waits for others, it sleeps on

    def drain(self, last: Call | None = None) -> Any:
        """Return once all that waits is written, with the answer to the call *last*.

        It is made after the others in the same round trip. Raises `IndexUnavailable`.
        """
        while self._queue:  # what is being written is still there
            with self._writing:
                with self._wake:
                    some = list(islice(self._queue, AT_ONCE))
                    complete = len(some) == len(self._queue)
                calls = [write.call for write in some]
                if last is not None and complete:
                    *answers, answer = self._send([*calls, last])
                    # What was read may have changed since.
                    return self._send([last])[0] if self._done(some, answers) else answer
                if some:
                    self._done(some, self._send(calls))
        return None if last is None else self._send([last])[0]

    def _done(self, some: Sequence[Write], answers: Sequence[Any]) -> bool:
        """Take writes out of the queue, given their answers; tell whether that has made other calls."""
        more = False
        for write, answer in zip(some, answers, strict=True):
            if write.done is not None:
                more |= write.done(answer)
        with self._wake:
            for write in some:
                if self._queue and self._queue[0] is write:  # else it was given up meanwhile
                    self._queue.popleft()
        return more

    def close(self) -> None:
        """End the thread, and write what waits. Raises `IndexUnavailable` if that cannot be written."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self.drain()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
            # Most writes go along with what is read meanwhile.
            if self._closing.wait(GROUP_SECONDS):
                return
            try:
                self.drain()
            except IndexUnavailable:  # it was logged where it was raised
                self._closing.wait(RETRY_SECONDS)
