"""The thread that commits the documents of the memtable, for which alone the disk is awaited."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Collection, Iterator

import lmdb
import numpy as np

from scrapy_neardup import clock
from scrapy_neardup.errors import IndexUnavailable, NearDupError
from scrapy_neardup.index.header import damaged
from scrapy_neardup.index.protocol import Documents

from . import layout
from .compaction import is_due, maintain
from .directory import reason, remedy
from .environment import Environment
from .layout import State
from .memtable import Memtable

logger = logging.getLogger(__name__)


def append(environment: Environment, documents: Documents, removals: Collection[int] = ()) -> State:
    """Commit *documents* to the log, and tombstones for *removals*; returns the state that this leads to.

    Removals of what is not stored are passed over. Raises `IndexUnavailable` if the index is full.
    """

    def work(transaction: lmdb.Transaction) -> State:
        state = layout.read_state(environment, transaction)
        key, newer = layout.number_key(state.next), state._replace(next=state.next + len(documents.urls))
        if newer.next > layout.MAX_DOCUMENTS:
            raise IndexUnavailable(
                "The index is full (2**32 - 1 documents): start another one (NEARDUP_DIR)."
            )
        if len(documents.urls):
            block = layout.encode_block(documents.stored, key, documents.keys)
            if not transaction.put(key, block, append=True, db=environment.databases["log"]):
                raise damaged("The log has documents that its state does not know")
        if removals:
            database = environment.databases["dead"]
            dead = layout.Tombstones(transaction, database, state.oldest, state.next)
            # np.unique imports more of NumPy when it is first used, which takes 0.1 s.
            numbers = np.array(sorted(set(removals)), np.int64)
            numbers = numbers[(numbers >= state.oldest) & (numbers < state.next)]
            numbers = numbers[~dead.has(numbers)]
            dead.add(numbers)
            dead.write(transaction, database, numbers)
            # Each run begins where the one before it ends, and the log where the last one does.
            borders = numbers.searchsorted([*(run.start for run in state.runs), state.flushed, state.next])
            *of_runs, of_log = np.diff(borders).tolist()
            runs = zip(state.runs, of_runs, strict=True)
            newer = newer._replace(
                runs=tuple(run._replace(removed=run.removed + more) for run, more in runs),
                removed=state.removed + of_log,
            )
        layout.write_state(environment, transaction, newer)
        return newer

    return environment.write(work)


class Retry:
    """Failures of one kind of work: the first in a row is logged with *complaint*."""

    def __init__(self, complaint: str) -> None:
        self._complaint = complaint
        #: The error of the last try, None if it succeeded.
        self.error: Exception | None = None
        #: The time, by `time.monotonic`, from which on to try again.
        self.at = clock.LONG_AGO

    def failed(self, error: Exception, seconds: float) -> None:
        """Keep *error*; the next try is *seconds* away. What no disk can cause is logged with a traceback."""
        if self.error is None:
            expected = isinstance(error, (NearDupError, lmdb.Error, OSError, MemoryError))
            logger.error("%s %s", self._complaint, reason(error), exc_info=not expected)
        self.error = error
        self.at = time.monotonic() + seconds


class Writer:
    """Writes the changes of *memtable* in group commits, and maintains the index in between.

    Documents older than *window* seconds may expire; 0 keeps all. "The lock" is the environment's.
    """

    def __init__(self, environment: Environment, memtable: Memtable, window: float) -> None:
        self._environment = environment
        self._tuning = environment.tuning
        self._memtable = memtable
        self._window = window
        self._wake = threading.Condition(environment.lock)
        #: The time from which on to commit what there is, and the one since which a commit is under way.
        self._next, self._since = time.monotonic() + self._tuning.group_seconds, math.inf
        #: How many flushes were asked for, and how many of them are done.
        self._flushes = self._flushed = 0
        self._closing = False
        where = f"The index in {environment.path} cannot be"
        self._commits = Retry(
            f"{where} written; the crawl goes on, fingerprints are kept in memory and tried again"
        )
        self._upkeep = Retry(f"{where} maintained; the crawl goes on, searches become slower")
        #: The steps that are left of the maintenance under way; None if there is none.
        self._steps: Iterator[None] | None = None
        self.counts = {"commits": 0, "commit_errors": 0, "forgotten": 0}
        self._thread = threading.Thread(target=self._work, name="neardup-index", daemon=True)
        self._thread.start()

    def notice(self) -> None:
        """Take notice of a new document in the queue of the memtable. Needs the lock."""
        queued = len(self._memtable.queue)
        if queued == self._tuning.group_documents:  # with more, the thread is awake already
            self._wake.notify_all()
        elif queued > self._tuning.backlog_documents:
            self._forget_oldest()

    def settle(self) -> None:
        """Wait for the end of the commit under way, so that the memtable can be refreshed. Needs the lock."""
        self._wake.wait_for(lambda: not self._memtable.group, self._tuning.disk_wait_seconds)

    def flush(self) -> None:
        """Return once all changes are on disk. Raises `IndexUnavailable` if they cannot be written."""
        with self._wake:
            self._flushes += 1
            ticket = self._flushes
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
            self._closing, self._commits.at = True, clock.LONG_AGO
            self._ends = time.monotonic() + self._tuning.closing_seconds
            self._wake.notify_all()
        self._thread.join(self._tuning.closing_seconds + self._tuning.disk_wait_seconds)
        return not self._thread.is_alive()

    @property
    def trouble(self) -> object:
        """What keeps changes from the disk, to be put into a sentence."""
        return self._commits.error or "another process holds its lock"

    @property
    def degraded(self) -> bool:
        """Whether commits or the maintenance fail, or a commit takes too long."""
        late = self._since < time.monotonic() - self._tuning.disk_wait_seconds
        return late or self._commits.error is not None or self._upkeep.error is not None

    def _work(self) -> None:
        """Alternate between commits and short steps of the maintenance, until the index is closed."""
        while not self._write_changes():
            if not self._closing:
                self._maintain()
        self._steps = None  # the next maintenance sweeps away what this one has begun

    def _write_changes(self) -> bool:
        """Commit all changes, once that is due; returns whether the thread is to end."""
        with self._wake:
            if self._steps is None or self._closing:
                seconds = min(self._tuning.group_seconds, self._tuning.commit_retry_seconds)
                self._wake.wait_for(self._commit_due, max(0.001, seconds))
            due, closing, flushes = self._commit_due(), self._closing, self._flushes
            groups = 1 + len(self._memtable.queue) // self._tuning.group_documents
        if due:
            try:
                for _ in range(groups):
                    self._commit()
                self._commits.error = None
            except Exception as error:  # noqa: BLE001  # whatever it is, the crawl goes on
                with self._environment.lock:
                    self._commits.failed(error, self._tuning.commit_retry_seconds)
                    self.counts["commit_errors"] += 1
                    self._forget_oldest()
            self._next = time.monotonic() + self._tuning.group_seconds
        with self._wake:
            self._flushed = flushes
            self._wake.notify_all()
        return closing and (self._commits.error is None or time.monotonic() >= self._ends)

    def _commit_due(self) -> bool:
        """Whether to commit now. Needs the lock."""
        now, full = time.monotonic(), len(self._memtable.queue) >= self._tuning.group_documents
        due = full or self._closing or now >= self._next
        return self._flushes > self._flushed or (due and now >= self._commits.at)

    def _commit(self) -> None:
        """Write one group, if there is any change."""
        memtable = self._memtable
        with self._environment.lock:
            if not memtable.changes:
                return
            documents, removals = memtable.begin(self._tuning.group_documents)
            self._since = time.monotonic()
        try:
            state = append(self._environment, documents, removals)
        except BaseException:
            with self._environment.lock:
                memtable.roll_back()
            raise
        finally:
            self._since = math.inf
        with self._wake:
            memtable.commit(state)
            self.counts["commits"] += 1
            memtable.look()
            self._wake.notify_all()

    @property
    def _expires(self) -> int:
        """The time before which documents are too old, in seconds since 1970; 0: none are."""
        return int(clock.now() - self._window) if self._window else 0

    def maintenance(self, *, wait: bool = False, whole: bool = False) -> Iterator[None]:
        """Flush, expire and merge what is due, yielding after every short transaction; see `maintain`."""
        header = self._memtable.snapshot.header
        yield from maintain(self._environment, header, self._expires, wait=wait, whole=whole)
        with self._environment.lock:
            self._memtable.look()

    def _maintain(self) -> None:
        """Look for commits of others; take the next step of the maintenance, or the first if it is due."""
        if not self._environment.compaction_lock.acquire(blocking=False):
            return  # another thread writes many documents, and looks when they are in a run
        try:
            with self._environment.lock:
                # An older view keeps LMDB from using pages again, and so does a reader that died.
                self._memtable.look()
                self._environment.env.reader_check()
                if self._steps is None and self._maintenance_due():
                    self._steps = self.maintenance()
            if self._steps is not None and next(self._steps, self) is self:  # they have come to their end
                self._steps = None
                self._upkeep.error = None
        except Exception as error:  # noqa: BLE001  # whatever it is, the crawl goes on
            self._steps = None
            with self._environment.lock:
                self._upkeep.failed(error, self._tuning.upkeep_retry_seconds)
        finally:
            self._environment.compaction_lock.release()

    def _maintenance_due(self) -> bool:
        """Whether something is due, or the last try has failed. Needs the lock."""
        due = is_due(self._memtable.snapshot, self._expires) or self._upkeep.error is not None
        return due and time.monotonic() >= self._upkeep.at

    def _forget_oldest(self) -> None:
        """Drop the oldest documents beyond those that may wait for the disk. Needs the lock."""
        self.counts["forgotten"] += self._memtable.trim(self._tuning.backlog_documents)
