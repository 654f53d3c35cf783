"""What was confirmed or released and is not yet written.

It goes along with whatever the server is asked next; if nothing is asked, a thread has it written.
"""

from __future__ import annotations

import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_neardup.errors import IndexUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .scripts import Call

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
    #: Returns what has to be written then, given the answer. May raise `IndexUnavailable`.
    done: Callable[[Any], Sequence[Write]] | None = None


class Settling:
    """A queue of writes.

    *write* is called, in a thread of this object, when some have waited for a while. It may raise
    `IndexUnavailable`.
    """

    def __init__(self, write: Callable[[], object], waiting: int = WAITING) -> None:
        self._write = write
        self._waiting = waiting
        self._queue: deque[Write] = deque()
        self._wake = threading.Condition()
        self._closing = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        #: Writes that were given up.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, writes: Sequence[Write]) -> None:
        """Have *writes* made soon."""
        with self._wake:
            self._put(writes)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="neardup-settling", daemon=True)
                self._thread.start()
            if len(self._queue) == len(writes):
                self._wake.notify_all()  # the thread rests: if it waits for others, it sleeps on

    def first(self) -> list[Write]:
        """Return the writes that are to be made next, `AT_ONCE` at most. They wait until they are done."""
        with self._wake:
            return list(islice(self._queue, AT_ONCE))

    def done(self, writes: Sequence[Write], answers: Sequence[Any]) -> tuple[int, IndexUnavailable | None]:
        """Take in the *answers* to the first *writes*. Writes that have failed are made again, after others.

        Returns how many further writes follow from these, and the error of one that has failed, else None.
        """
        error: IndexUnavailable | None = None
        others: list[Write] = []
        failed: list[Write] = []
        for write, answer in zip(writes, answers, strict=True):
            more = _following(write, answer)
            if isinstance(more, IndexUnavailable):
                error = more
                failed.append(write)
            else:
                others += more
        with self._wake:
            for write in writes:
                if self._queue and self._queue[0] is write:  # else it was given up meanwhile
                    self._queue.popleft()
            self._put([*others, *failed])
        return len(others), error

    def close(self) -> None:
        """End the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _put(self, writes: Sequence[Write]) -> None:
        self._queue.extend(writes)
        while len(self._queue) > self._waiting:
            self._queue.popleft()
            self.lost += 1

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
            # Most writes go along with what is asked meanwhile.
            if self._closing.wait(GROUP_SECONDS):
                return
            try:
                self._write()
            except IndexUnavailable:  # it was logged where it was raised
                self._closing.wait(RETRY_SECONDS)


def _following(write: Write, answer: Any) -> Sequence[Write] | IndexUnavailable:
    """Return what has to be written after a write, or why it has failed."""
    if isinstance(answer, IndexUnavailable):
        return answer
    try:
        return write.done(answer) if write.done else ()
    except IndexUnavailable as error:
        return error
