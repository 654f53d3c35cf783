"""The thread of an index on disk: only it waits for the disk, and what fails it tries again."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup import clock
from scrapy_neardup.errors import IndexUnavailable, NearDupError

from .compaction import FOLD, maintain
from .faults import reason, remedy
from .wal import append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_neardup.index.header import Header

    from .environment import Environment
    from .memtable import Overlay

logger = logging.getLogger(__name__)

#: Documents in one commit, and seconds that a confirmed document waits for it at most: with the commit itself this
#: keeps what a crash forgets below 1000 documents or one second.
GROUP, INTERVAL = 1000, 0.5
#: Seconds before the next try after a failed commit: the first, and the most that doubling leads to.
RETRY = (1.0, 30.0)
#: Documents kept for later when the disk cannot be written; beyond them the oldest are forgotten.
BACKLOG = 100_000
#: Seconds between two looks for what has expired.
EXPIRE = 3600.0
#: Seconds that flushing and closing wait for the disk.
TIMEOUT = 10.0
OTHER_WRITER = "another process holds its lock"


class Writer:
    """Moves documents from *overlay* to the log in groups, and has the log folded and runs merged when due.

    *refresh* moves the index on to the newest commit. Documents older than *window* seconds may expire.
    """

    def __init__(
        self,
        environment: Environment,
        header: Header,
        overlay: Overlay,
        refresh: Callable[[], None],
        window: float,
    ) -> None:
        self._environment = environment
        self._header = header
        self._overlay = overlay
        self._refresh = refresh
        self._window = window
        self._wake = threading.Condition(environment.lock)
        #: Since when something waits for the disk.
        self._since: float | None = None
        #: How many flushes were asked for, and how many of them are done.
        self._flushes = self._flushed = 0
        self._closing = False
        #: What keeps documents from the disk, and what keeps runs from being made and merged.
        self._error: Exception | None = None
        self._upkeep_error: Exception | None = None
        self._retry_at = self._upkeep_at = self._expire_at = clock.EVER
        self._retry_after = 0.0
        self.counts = {"commits": 0, "commit_errors": 0, "forgotten": 0}
        self._thread = threading.Thread(target=self._work, name="neardup-index", daemon=True)
        self._thread.start()

    # For the index

    def notice(self) -> None:
        """Look at the overlay, which has something new for the disk. Needs the lock of the index."""
        queued = len(self._overlay.queue)
        if self._since is None:
            self._since = time.monotonic()
            self._wake.notify_all()
        elif queued == GROUP:  # with more the thread is awake
            self._wake.notify_all()
        elif queued > BACKLOG:
            self._trim()

    def settle(self) -> None:
        """Wait for the end of the commit under way, which keeps the overlay from moving on. Needs the lock."""
        self._wake.wait_for(lambda: not self._overlay.committing, TIMEOUT)

    def flush(self) -> None:
        """Return once all changes are on disk. Raises `IndexUnavailable` if they cannot be written."""
        with self._wake:
            self._flushes += 1
            ticket, self._retry_at = self._flushes, clock.EVER
            self._wake.notify_all()
            done = self._wake.wait_for(lambda: self._flushed >= ticket, TIMEOUT)
            changes = self._overlay.changes
            if changes and (self._error is not None or not done):
                raise IndexUnavailable(
                    f"{changes} changes cannot be written to the index in {self._environment.path} "
                    f"({self.trouble}); until they can, they are kept in memory: {self._remedy}."
                ) from self._error

    def stop(self) -> bool:
        """Write all changes and end; returns whether the thread has ended, or still waits for the disk."""
        with self._wake:
            self._closing, self._retry_at = True, clock.EVER
            self._wake.notify_all()
        self._thread.join(TIMEOUT)
        return not self._thread.is_alive()

    @property
    def trouble(self) -> object:
        """What keeps documents from the disk."""
        return self._error or OTHER_WRITER

    @property
    def _remedy(self) -> str:
        return "stop that process" if self._error is None else remedy(self._error)

    @property
    def degraded(self) -> bool:
        """Whether something keeps documents from the disk, or runs from being made."""
        late = self._since is not None and time.monotonic() > self._since + TIMEOUT
        return self._error is not None or self._upkeep_error is not None or late

    def upkeep(self) -> Iterator[None]:
        """Do what maintenance is due, yielding after every short step."""
        yield from maintain(
            self._environment, self._header, int(clock.now() - self._window) if self._window else 0
        )
        with self._environment.lock:
            self._refresh()
        self._environment.reader_check()

    # The thread

    def _work(self) -> None:
        upkeep: Iterator[None] | None = None
        while True:
            with self._wake:
                if upkeep is None:
                    self._wake.wait_for(self._due, self._patience())
                due, closing, flushes = self._due(), self._closing, self._flushes
            try:
                if due:
                    while self._commit():
                        pass
                    self._error, self._retry_after = None, 0.0
            except Exception as error:  # noqa: BLE001  # whatever it is, the crawl goes on
                self._failed(error)
            with self._wake:
                self._flushed = flushes
                self._wake.notify_all()
            if closing:
                return
            try:
                with self._environment.lock:
                    self._refresh()  # the pages of an older view could not be used again
                if upkeep is None and self._upkeep_due():
                    upkeep = self.upkeep()
                if upkeep is not None and next(upkeep, self) is self:
                    upkeep = self._upkeep_error = None
            except Exception as error:  # noqa: BLE001
                upkeep = None
                self._upkeep_failed(error)

    def _due(self) -> bool:
        """Whether to commit now."""
        if self._flushes > self._flushed or self._closing:
            return True
        now = time.monotonic()
        return (
            self._since is not None
            and now >= self._retry_at
            and (len(self._overlay.queue) >= GROUP or now >= self._since + INTERVAL)
        )

    def _patience(self) -> float:
        """Return the seconds until something may be due."""
        if self._since is None:
            return INTERVAL
        return max(0.001, max(self._since + INTERVAL, self._retry_at) - time.monotonic())

    def _commit(self) -> bool:
        """Write one group; returns whether there is more."""
        overlay = self._overlay
        with self._environment.lock:
            group = overlay.begin(GROUP)
            if group is None:
                self._since = None
                return False
        try:
            state = append(self._environment, group.documents, group.removals)
        except BaseException:
            with self._environment.lock:
                overlay.roll_back()
            raise
        with self._wake:
            overlay.commit(group, state)
            self.counts["commits"] += 1
            self._since = time.monotonic() if overlay.changes else None
            self._refresh()
            self._wake.notify_all()
            urgent = self._flushes > self._flushed or self._closing
            return len(overlay.queue) >= GROUP or (urgent and overlay.changes > 0)

    def _upkeep_due(self) -> bool:
        with self._environment.lock:
            now = time.monotonic()
            if self._closing or now < self._upkeep_at:
                return False
            if self._window and now >= self._expire_at:
                self._expire_at = now + EXPIRE
                return True
            return self._upkeep_error is not None or self._overlay.unfolded >= FOLD

    def _failed(self, error: Exception) -> None:
        with self._environment.lock:
            if self._error is None:
                self._log(
                    "The index in %s cannot be written; the crawl goes on, fingerprints are kept in memory and tried "
                    "again %s",
                    error,
                )
            self._error = error
            self.counts["commit_errors"] += 1
            self._retry_after = min(RETRY[1], 2 * self._retry_after or RETRY[0])
            self._retry_at = time.monotonic() + self._retry_after
            self._trim()

    def _upkeep_failed(self, error: Exception) -> None:
        with self._environment.lock:
            if self._upkeep_error is None:
                self._log(
                    "The index in %s cannot be maintained; the crawl goes on, searches become slower %s",
                    error,
                )
            self._upkeep_error = error
            self._upkeep_at = time.monotonic() + RETRY[1]

    def _log(self, message: str, error: Exception) -> None:
        expected = isinstance(error, (NearDupError, lmdb.Error, OSError, MemoryError))
        logger.error(message, self._environment.path, reason(error), exc_info=not expected)

    def _trim(self) -> None:
        self.counts["forgotten"] += self._overlay.trim(BACKLOG)
