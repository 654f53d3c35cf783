"""When the maintenance of an index is due, and how far the one under way has come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy_neardup import clock

from .compaction import maintain
from .retry import Retry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .contents import Contents
    from .environment import Environment


class Maintenance:
    """The maintenance of the index in *environment*: flushes, merges and expiry.

    *contents* know how long the log is. Documents older than *window* seconds may expire; 0 keeps all. Only
    the thread of the writer may call `advance` and `abandon`: between two steps it holds locks.
    """

    def __init__(self, environment: Environment, contents: Contents, window: float) -> None:
        self._environment = environment
        self._tuning = environment.tuning
        self._contents = contents
        self._window = window
        wait = self._tuning.last_retry_seconds
        complaint = (
            f"The index in {environment.path} cannot be maintained; the crawl goes on, searches become slower"
        )
        self._tries = Retry(complaint, wait, wait)
        #: How many documents this process has removed since the last maintenance.
        self.removed = 0
        #: The time from which on to look for expired runs again.
        self.expire_at = clock.LONG_AGO
        #: The steps that are left of the maintenance under way; None if there is none.
        self._steps: Iterator[None] | None = None

    @property
    def under_way(self) -> bool:
        """Whether `advance` has begun what it has not ended."""
        return self._steps is not None

    @property
    def failing(self) -> bool:
        """Whether the last maintenance has failed."""
        return self._tries.error is not None

    def steps(self) -> Iterator[None]:
        """Flush, expire and merge what is due, yielding after every short transaction."""
        expires = int(clock.now() - self._window) if self._window else 0
        self.removed = 0
        yield from maintain(self._environment, self._contents.snapshot.header, expires)
        with self._environment.lock:  # without it, another thread might just reopen the environment
            self._contents.look()
            self._environment.reader_check()

    def advance(self) -> None:
        """Refresh the index, and take the next step of the maintenance, or the first one if it is due."""
        try:
            with self._environment.lock:
                self._contents.look()  # an older view keeps LMDB from using pages again
            if self._steps is None and self._is_due():
                self._steps = self.steps()
            if self._steps is not None and next(self._steps, self) is self:  # they have come to their end
                self._steps = None
                self._tries.succeeded()
        except Exception as error:  # noqa: BLE001  # whatever it is, the crawl goes on
            self._steps = None
            with self._environment.lock:
                self._tries.failed(error)

    def abandon(self) -> None:
        """Leave the maintenance under way as it is; the next one sweeps away what it has begun."""
        self._steps = None

    def _is_due(self) -> bool:
        """Whether there is something for the maintenance to do.

        That is if the log is long, if many documents were removed, if the last try has failed, or if runs may
        have expired.
        """
        with self._environment.lock:
            now = time.monotonic()
            if now < self._tries.at:
                return False
            if self._window and now >= self.expire_at:
                self.expire_at = now + self._tuning.expiry_seconds
                return True
            many = max(self._contents.memtable.unflushed, self.removed) >= self._tuning.flush_documents
            return self.failing or many
