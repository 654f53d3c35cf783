"""The thread of an index on disk. It alone waits for the disk, and tries again what has failed."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import lmdb

from scrapy_neardup import clock
from scrapy_neardup.errors import IndexUnavailable, NearDupError

from .compaction import maintain
from .directory import reason, remedy
from .runs import append

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .environment import Environment
    from .memtable import Memtable


logger = logging.getLogger(__name__)


class Retry:
    """The failures of one kind of work: the first in a row is logged with *complaint*."""

    def __init__(self, complaint: str) -> None:
        self._complaint = complaint
        #: The error of the last try, None if it succeeded.
        self.error: Exception | None = None
        #: The time, by `time.monotonic`, from which on to try again.
        self.at = clock.LONG_AGO

    def failed(self, error: Exception, seconds: float) -> None:
        """Keep *error*; the next try is *seconds* away. One that is not of a disk has a traceback."""
        if self.error is None:
            expected = isinstance(error, (NearDupError, lmdb.Error, OSError, MemoryError))
            logger.error("%s %s", self._complaint, reason(error), exc_info=not expected)
        self.error = error
        self.at = time.monotonic() + seconds


class Writer:
    """Writes the changes of *memtable* in group commits, and maintains the index in between.

    Documents older than *window* seconds may expire; 0 keeps all. A method that "needs the lock" is called
    with the lock of the environment held.
    """

    def __init__(self, environment: Environment, memtable: Memtable, window: float) -> None:
        self._environment = environment
        self._tuning = environment.tuning
        self._memtable = memtable
        self._window = window
        self._wake = threading.Condition(environment.lock)
        #: The time since which the oldest change waits for the disk; None if there is no change.
        self._waiting_since: float | None = None
        #: How many flushes were asked for, and how many of them are done.
        self._flushes = self._flushed = 0
        self._closing = False
        where = f"The index in {environment.path} cannot be"
        self._commits = Retry(
            f"{where} written; the crawl goes on, fingerprints are kept in memory and tried again"
        )
        self._upkeep = Retry(f"{where} maintained; the crawl goes on, searches become slower")
        #: How many documents this process has removed since the last maintenance.
        self._removed = 0
        #: The time from which on to look for expired runs again.
        self.expire_at = clock.LONG_AGO
        #: The steps that are left of the maintenance under way; None if there is none.
        self._steps: Iterator[None] | None = None
        self.counts = {"commits": 0, "commit_errors": 0, "forgotten": 0}
        self._thread = threading.Thread(target=self._work, name="neardup-index", daemon=True)
        self._thread.start()

    # Called by the index

    def notice(self) -> None:
        """Take notice of a new change in the memtable. Needs the lock."""
        queued = len(self._memtable.queue)
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
            self._wake.notify_all()
        elif queued == self._tuning.group_documents:  # with more, the thread is awake already
            self._wake.notify_all()
        elif queued > self._tuning.backlog_documents:
            self._forget_oldest()

    def settle(self) -> None:
        """Wait for the end of the commit under way, so that the memtable can be refreshed. Needs the lock."""
        self._wake.wait_for(lambda: not self._memtable.committing, self._tuning.disk_wait_seconds)

    def flush(self) -> None:
        """Return once all changes are on disk. Raises `IndexUnavailable` if they cannot be written."""
        with self._wake:
            self._flushes += 1
            ticket = self._flushes
            self._commits.at = clock.LONG_AGO
            self._wake.notify_all()
            done = self._wake.wait_for(lambda: self._flushed >= ticket, self._tuning.disk_wait_seconds)
            changes, error = self._memtable.changes, self._commits.error
            if changes and (error is not None or not done):
                raise IndexUnavailable(
                    f"{changes} changes cannot be written to the index in {self._environment.path} "
                    f"({self.trouble}); until they can, they are kept in memory: "
                    f"{'stop that process' if error is None else remedy(error)}."
                ) from error

    def stop(self) -> bool:
        """Write all changes and end the thread; returns False if it still waits for the disk."""
        with self._wake:
            self._closing = True
            self._commits.at = clock.LONG_AGO
            self._wake.notify_all()
        self._thread.join(self._tuning.disk_wait_seconds)
        return not self._thread.is_alive()

    @property
    def trouble(self) -> object:
        """What keeps changes from the disk, to be put into a sentence."""
        return self._commits.error or "another process holds its lock"

    @property
    def degraded(self) -> bool:
        """Whether commits or the maintenance fail, or a commit takes too long."""
        since, late = self._waiting_since, time.monotonic() - self._tuning.disk_wait_seconds
        failing = self._commits.error is not None or self._upkeep.error is not None
        return failing or (since is not None and since < late)

    # The thread

    def _work(self) -> None:
        """Alternate between commits and short steps of the maintenance, until the index is closed."""
        while not self._write_changes(wait=self._steps is None):
            if not self._closing:
                self._maintain()
        self._steps = None  # the next maintenance sweeps away what this one has begun

    def _write_changes(self, *, wait: bool) -> bool:
        """Commit if it is due, after a *wait* until it may be; returns whether the index is being closed."""
        with self._wake:
            if wait:
                self._wake.wait_for(self._commit_due, self._seconds_to_wait())
            due, closing, flushes = self._commit_due(), self._closing, self._flushes
        try:
            if due:
                while self._commit():
                    pass
                self._commits.error = None
        except Exception as error:  # noqa: BLE001  # whatever it is, the crawl goes on
            with self._environment.lock:
                self._commits.failed(error, self._tuning.commit_retry_seconds)
                self.counts["commit_errors"] += 1
                self._forget_oldest()
        with self._wake:
            self._flushed = flushes
            self._wake.notify_all()
        return closing

    def _commit_due(self) -> bool:
        """Whether to commit now. Needs the lock."""
        if self._flushes > self._flushed or self._closing:
            return True
        now = time.monotonic()
        return (
            self._waiting_since is not None
            and now >= self._commits.at
            and (
                len(self._memtable.queue) >= self._tuning.group_documents
                or now >= self._waiting_since + self._tuning.group_seconds
            )
        )

    def _seconds_to_wait(self) -> float:
        """Return how long nothing will be due, unless something new happens. Needs the lock."""
        if self._waiting_since is None:
            return self._tuning.group_seconds
        due = max(self._waiting_since + self._tuning.group_seconds, self._commits.at)
        return max(0.001, due - time.monotonic())

    def _commit(self) -> bool:
        """Write one group; returns whether another one is due."""
        memtable = self._memtable
        with self._environment.lock:
            group = memtable.begin(self._tuning.group_documents)
            if group is None:
                self._waiting_since = None
                return False
        try:
            state = append(self._environment, group.documents, group.removals)
        except BaseException:
            with self._environment.lock:
                memtable.roll_back()
            raise
        with self._wake:
            memtable.commit(group, state)
            self.counts["commits"] += 1
            self._removed += len(group.removals)
            self._waiting_since = time.monotonic() if memtable.changes else None
            memtable.look()
            self._wake.notify_all()
            urgent = self._flushes > self._flushed or self._closing
            full = len(memtable.queue) >= self._tuning.group_documents
            return full or (urgent and memtable.changes > 0)

    # The maintenance

    def maintenance(self) -> Iterator[None]:
        """Flush, expire and merge what is due, yielding after every short transaction."""
        expires = int(clock.now() - self._window) if self._window else 0
        self._removed = 0
        yield from maintain(self._environment, self._memtable.snapshot.header, expires)
        with self._environment.lock:
            self._memtable.look()

    def _maintain(self) -> None:
        """Refresh the index, and take the next step of the maintenance, or the first one if it is due."""
        try:
            with self._environment.lock:
                # An older view keeps LMDB from using pages again, and so does a reader that died.
                self._memtable.look()
                self._environment.reader_check()
                if self._steps is None and self._maintenance_due():
                    self._steps = self.maintenance()
            if self._steps is not None and next(self._steps, self) is self:  # they have come to their end
                self._steps = None
                self._upkeep.error = None
        except Exception as error:  # noqa: BLE001  # whatever it is, the crawl goes on
            self._steps = None
            with self._environment.lock:
                self._upkeep.failed(error, self._tuning.upkeep_retry_seconds)

    def _maintenance_due(self) -> bool:
        """Whether the log is long, many were removed, the last try has failed, or runs may have expired.

        Needs the lock.
        """
        now = time.monotonic()
        if now < self._upkeep.at:
            return False
        if self._window and now >= self.expire_at:
            self.expire_at = now + self._tuning.expiry_seconds
            return True
        many = max(self._memtable.unflushed, self._removed) >= self._tuning.flush_documents
        return many or self._upkeep.error is not None

    def _forget_oldest(self) -> None:
        """Drop the oldest documents beyond those that may wait for the disk. Needs the lock."""
        self.counts["forgotten"] += self._memtable.trim(self._tuning.backlog_documents)
