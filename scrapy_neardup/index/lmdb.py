"""The index on disk: an overlay in memory over sorted runs in LMDB, and a thread that moves the one to the other.

A document is *pending* in the overlay, then confirmed and queued, then committed to the log (still in the overlay),
then folded into a run. Searches ask overlay and runs. Only the thread waits for the disk.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexUnavailable

from .base import Documents, Matches
from .columns import Columns
from .directory import DATA, corrupted, read_sidecar, shared_use, write_sidecar
from .environment import Environment
from .header import Header
from .maintenance import FOLD, load, maintain, merge_all, put_blocks, read_state, reading, write_state
from .removed import add_removed
from .snapshot import Snapshot
from .storage import State

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

#: Documents in one commit, and seconds that a confirmed document waits for it at most: with the commit itself this
#: keeps what a crash forgets below 1000 documents or one second.
GROUP, INTERVAL = 1000, 0.5
#: Seconds after which a search looks whether another process has committed.
FRESH = 0.05
#: Seconds before the next try after a failed commit: the first, and the most that doubling leads to.
RETRY = (1.0, 30.0)
#: Documents kept for later when the disk cannot be written; beyond them the oldest are forgotten.
BACKLOG = 100_000
#: Documents of one transaction of a bulk load.
LOAD = 1 << 20
#: Seconds between two looks for what has expired.
EXPIRE = 3600.0
OTHER_WRITER = "another process holds its lock"
#: Seconds that flushing and closing wait for the disk.
TIMEOUT = 10.0


class LmdbIndex:
    """The `Index` in the directory *path*, or with None a scratch index on disk that vanishes with the process.

    *wanted* says how it must have been made, but for what to *ignore*, and how to make it if it is new; None takes
    it as it is. Runs of
    documents whose records have a ``time`` more than *window* seconds ago are dropped. Raises `IndexUnavailable`,
    `IndexCorrupted` or `IndexMismatch`.
    """

    def __init__(
        self,
        path: Path | None,
        wanted: Header | None,
        *,
        ignore: Collection[str] = (),
        window: float = 0,
        reset: bool = False,
    ) -> None:
        self.path = path
        self._window = window
        self._serial = -1
        self._pending: dict[int, Any] = {}
        self._queue: deque[int] = deque()
        self._queued_at = 0.0
        #: Documents to be marked as dead; those being committed still under their temporary number.
        self._removals: list[int] = []
        self._committing: set[int] = set()
        #: First numbers of blocks of our own that came from the overlay, until the snapshot has them.
        self._own: set[int] = set()
        #: The state that the overlay agrees with.
        self._applied = State()
        self._resized = False
        #: Numbers on disk of documents that were handed out under a temporary one.
        self._aliases: dict[int, int] = {}
        self._look_at = self._expire_at = 0.0
        self._seen = -1
        #: How many flushes were asked for, and how many of them are done.
        self._flushes = self._flushed = 0
        self._closing = False
        #: What keeps documents from the disk, and what keeps runs from being made and merged.
        self._error: Exception | None = None
        self._upkeep_error: Exception | None = None
        self._retry_at = self._retry_after = self._upkeep_at = 0.0
        self._counts = {"commits": 0, "commit_errors": 0, "forgotten": 0}
        with contextlib.ExitStack() as undo:
            if path is not None:
                undo.enter_context(shared_use(path, reset=reset))
            self._environment = Environment(path)
            undo.callback(self._environment.close)
            self.lock = self._environment.lock
            self._wake = threading.Condition(self.lock)
            self.header = _header(self._environment, wanted, ignore)
            self._columns = Columns(self.header)
            self._snapshot = Snapshot(self._environment, self.header)
            self._refresh()
            self._close = undo.pop_all()
        self._thread = threading.Thread(target=self._work, name="neardup-index", daemon=True)
        self._thread.start()

    # Searching

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        """See `Index`."""
        with self.lock:
            self._catch_up()
            return Matches.gather(
                [
                    *self._snapshot.search(family, keys, distance, most),
                    *self._columns.search(family, keys, distance, most),
                ]
            )

    def fetch(self, documents: NDArray[np.int64]) -> Documents:
        """See `Index`."""
        with self.lock:
            numbers = np.array([self._aliases.get(number, number) for number in documents.tolist()], np.int64)
            here = np.array([number in self._columns for number in numbers.tolist()], bool)
            if here.all():
                return self._columns.fetch(numbers.tolist())
            if not here.any():
                return self._snapshot.fetch(numbers)
            new, old = self._columns.fetch(numbers[here].tolist()), self._snapshot.fetch(numbers[~here])
            back = np.argsort(np.concatenate((np.flatnonzero(here), np.flatnonzero(~here))))
            urls = [*new.urls, *old.urls]
            return Documents(
                np.concatenate((new.keys, old.keys), axis=1)[:, back],
                np.concatenate((new.records, old.records))[back],
                [urls[row] for row in back.tolist()],
            )

    # Adding and removing

    def reserve(self, keys: NDArray[np.uint64], record: NDArray[Any], url: str, holder: Any) -> int:
        """See `Index`."""
        with self.lock:
            self.require_open()
            number = self._serial
            self._serial -= 1
            self._columns.append(
                np.array([number]), Documents(keys[:, np.newaxis], record[np.newaxis], [url])
            )
            self._pending[number] = holder
            return number

    def holder(self, document: int) -> Any:
        """See `Index`."""
        return self._pending.get(document)

    def confirm(self, document: int, replaces: Sequence[int] = ()) -> None:
        """See `Index`."""
        with self.lock:
            if document not in self._pending:
                return
            del self._pending[document]
            self._note_work()
            self._queue.append(document)
            self.discard(replaces)
            if len(self._queue) >= GROUP:
                self._wake.notify_all()
            self._trim()

    def release(self, document: int) -> None:
        """See `Index`."""
        with self.lock:
            if document in self._pending:
                del self._pending[document]
                self._columns.remove([document])

    def discard(self, documents: Sequence[int]) -> None:
        """See `Index`."""
        with self.lock:
            self.require_open()
            numbers = [self._aliases.get(document, document) for document in documents]
            runs = sorted({number for number in numbers if number >= 0 and number not in self._columns})
            filed = set(self._snapshot.filed(np.array(runs, np.int64)).tolist()) if runs else set()
            later = [
                number
                for number in numbers
                if number in self._committing or number in filed or (number >= 0 and number in self._columns)
            ]
            if later:
                self._note_work()
                self._removals.extend(later)
                self._hide_removals()
            for number in numbers:
                if number in self._pending:
                    del self._pending[number]
                elif number < 0 and number not in self._committing and number in self._columns:
                    self._queue.remove(number)
            self._columns.remove(numbers)

    def add(self, documents: Documents) -> NDArray[np.int64]:
        """See `Index`. A large load goes past the log, straight into a run."""
        self.require_open()
        numbers = []
        for start in range(0, len(documents.urls), LOAD):
            rows = slice(start, start + LOAD)
            part = Documents(documents.keys[:, rows], documents.records[rows], documents.urls[rows])
            small = len(part.urls) < FOLD
            with self._reporting():
                first = (
                    self._append(part, ()).next - len(part.urls)
                    if small
                    else load(self._environment, self.header, part)
                )
            numbers.append(np.arange(first, first + len(part.urls)))
        with self._reporting():
            for _ in self._upkeep():
                pass
        with self._wake:  # a commit under way keeps the overlay from moving on
            self._wake.wait_for(lambda: not self._committing, TIMEOUT)
            self._refresh()
        return np.concatenate(numbers) if numbers else np.empty(0, np.int64)

    # Life

    def flush(self) -> None:
        """See `Index`."""
        with self._wake:
            self.require_open()
            self._flushes += 1
            ticket, self._retry_at = self._flushes, 0.0
            self._wake.notify_all()
            done = self._wake.wait_for(lambda: self._flushed >= ticket, TIMEOUT)
            changes = len(self._queue) + len(self._removals)
            if changes and (self._error is not None or not done):
                raise IndexUnavailable(
                    f"{changes} changes cannot be written to the index in {self._environment.path} "
                    f"({self._error or OTHER_WRITER}): free space on its disk; until then they are kept in memory."
                ) from self._error

    def compact(self) -> None:
        """Merge all runs into one, without what was removed."""
        self.flush()
        with self._reporting():
            for _ in merge_all(self._environment, self.header):
                pass
        with self.lock:
            self._refresh()

    def gauges(self) -> dict[str, int]:
        """See `Index`."""
        with self.lock:
            self._catch_up()
            state = self._snapshot.state
            removed = int(np.searchsorted(self._snapshot.dead, state.folded))
            stored = sum(run.documents for run in state.runs) - removed
            return {
                "documents": stored + len(self._columns) - len(self._pending),
                "pending": len(self._pending),
                "backlog": len(self._queue),
                "runs": len(state.runs),
                "bytes": self._environment.size(),
                "degraded": int(self._is_degraded()),
                **self._counts,
            }

    @contextlib.contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Read what is committed, for checks and audits."""
        with reading(self._environment, self.header) as reader:
            yield reader

    def close(self) -> None:
        """Write what is confirmed, drop what is pending, close. Raises `IndexUnavailable` if writing failed."""
        if self._environment.forked:
            return
        with self._wake:
            if self._closing:
                return
            self._closing, self._retry_at = True, 0.0
            self._wake.notify_all()
        self._thread.join(TIMEOUT)
        lost = len(self._queue) + len(self._removals)
        if not self._thread.is_alive():
            with self.lock:
                self._snapshot.close()
            if not self._environment.scratch:
                with contextlib.suppress(
                    OSError
                ):  # it only says that there is an index, which it said before
                    write_sidecar(self._environment.path, self.header.uuid, self._snapshot.state.next)
            self._close.close()
        if lost:
            raise IndexUnavailable(
                f"{lost} changes could not be written to the index in {self._environment.path} "
                f"({self._error or OTHER_WRITER}) and are forgotten: copies of new documents will pass."
            )

    def _is_degraded(self) -> bool:
        late = (self._queue or self._removals) and time.monotonic() > self._queued_at + TIMEOUT
        return self._error is not None or self._upkeep_error is not None or bool(late)

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (lmdb.Error, OSError) as error:
            raise IndexUnavailable(
                f"The index in {self._environment.path} cannot be written ({error}): free space on its disk."
            ) from error

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
                if self._resized:
                    self._resized = False
                    self._environment.adopt_size()
                if upkeep is None and self._upkeep_due():
                    upkeep = self._upkeep()
                if upkeep is not None and next(upkeep, self) is self:
                    upkeep = self._upkeep_error = None
            except Exception as error:  # noqa: BLE001
                upkeep = None
                self._upkeep_failed(error)

    def _due(self) -> bool:
        if self._flushes > self._flushed or self._closing:
            return True
        now = time.monotonic()
        waiting = bool(self._queue or self._removals)
        return (
            waiting
            and now >= self._retry_at
            and (len(self._queue) >= GROUP or now >= self._queued_at + INTERVAL)
        )

    def _patience(self) -> float:
        """Return the seconds until something may be due."""
        if self._queue or self._removals:
            return max(0.001, max(self._queued_at + INTERVAL, self._retry_at) - time.monotonic())
        return INTERVAL

    def _note_work(self) -> None:
        """Start the clock of the next commit."""
        if not self._queue and not self._removals:
            self._queued_at = time.monotonic()
            self._wake.notify_all()

    def _commit(self) -> bool:
        """Write one group; returns whether there is more."""
        with self.lock:
            numbers = [self._queue[place] for place in range(min(GROUP, len(self._queue)))]
            removals = [number for number in self._removals if number >= 0]
            if not numbers and not removals:
                return False
            documents = self._columns.fetch(numbers)
            self._committing = set(numbers)
        try:
            state = self._append(documents, removals)
        except BaseException:
            with self.lock:  # nothing was written, so what was removed meanwhile need not be
                gone = self._committing.intersection(self._removals)
                self._committing = set()
                self._removals = [number for number in self._removals if number >= 0]
                self._queue = deque(number for number in self._queue if number not in gone)
                self._columns.remove(gone)
            raise
        with self.lock:
            self._committing = set()
            first = state.next - len(numbers)
            new = range(first, state.next)
            self._columns.renumber(numbers, new)
            self._aliases.update(zip(numbers, new, strict=True))
            for _ in numbers:
                self._queue.popleft()
            written = set(removals)
            self._removals = [self._aliases.get(n, n) for n in self._removals if n not in written]
            self._counts["commits"] += 1
            self._queued_at = time.monotonic()
            while len(self._aliases) > 4 * FOLD:
                del self._aliases[next(iter(self._aliases))]
            if numbers:
                self._own.add(first)
            self._columns.remove(self._removals)
            if removals:
                self._snapshot.expect(state.removals)
            self._refresh()
            self._wake.notify_all()
            urgent = self._flushes > self._flushed or self._closing
            return len(self._queue) >= GROUP or (urgent and bool(self._queue or self._removals))

    def _append(self, documents: Documents, removals: Sequence[int]) -> State:
        """Commit documents and removals to the log; returns the state that this leads to."""

        def work(transaction: lmdb.Transaction) -> State:
            state = read_state(self._environment, transaction)
            put_blocks(self._environment, transaction, state.next, documents)
            add_removed(
                transaction, self._environment.databases["dead"], np.unique(np.array(removals, np.int64))
            )
            stop = state.next + len(documents.urls)
            newer = replace(state, next=stop, removals=state.removals + bool(removals))
            write_state(self._environment, transaction, newer)
            return newer

        return self._environment.write(work)

    def _upkeep_due(self) -> bool:
        with self.lock:
            if self._closing or time.monotonic() < self._upkeep_at:
                return False
            self._catch_up()
            state = self._snapshot.state
            if self._window and time.monotonic() >= self._expire_at:
                self._expire_at = time.monotonic() + EXPIRE
                return True
            return state.next - state.folded >= FOLD

    def _upkeep(self) -> Iterator[None]:
        yield from maintain(
            self._environment, self.header, int(time.time() - self._window) if self._window else 0
        )
        with self.lock:
            self._refresh()
        self._environment.reader_check()

    def _failed(self, error: Exception) -> None:
        with self.lock:
            if self._error is None:
                logger.error(
                    "The index in %s cannot be written (%s): the crawl goes on, fingerprints are kept in memory "
                    "and tried again. Free space on its disk.",
                    self._environment.path,
                    error,
                    exc_info=not isinstance(error, (lmdb.Error, OSError)),
                )
            self._error = error
            self._counts["commit_errors"] += 1
            self._retry_after = min(RETRY[1], 2 * self._retry_after or RETRY[0])
            self._retry_at = time.monotonic() + self._retry_after
            self._trim()

    def _trim(self) -> None:
        """Forget the oldest of what waits for the disk too long, but for what is being written."""
        while len(self._queue) > BACKLOG + len(self._committing):
            place = len(self._committing)
            self._columns.remove([self._queue[place]])
            del self._queue[place]
            self._counts["forgotten"] += 1

    def _upkeep_failed(self, error: Exception) -> None:
        with self.lock:
            if self._upkeep_error is None:
                logger.error(
                    "The index in %s cannot be maintained (%s): the crawl goes on, searches become slower.",
                    self._environment.path,
                    error,
                    exc_info=not isinstance(error, (lmdb.Error, OSError)),
                )
            self._upkeep_error = error
            self._upkeep_at = time.monotonic() + RETRY[1]

    # Keeping up with other processes

    def _catch_up(self) -> None:
        """Take in what other processes have committed, looking for it now and then."""
        self.require_open()
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + FRESH
            if self._environment.last_transaction() != self._seen:
                self._refresh()
        if self._snapshot.state is not self._applied:  # the memory map has moved, and the snapshot on with it
            self._apply()

    def _refresh(self) -> None:
        """Move on to the newest commit.

        While a block of our own is on its way to the disk, it could not be told from those of others: then this
        waits for the refresh that follows the commit.
        """
        if self._committing:
            return
        seen = self._environment.last_transaction()
        try:
            self._snapshot.refresh()
        except lmdb.MapResizedError:
            self._resized = True  # for the thread to adopt; until then the older view has to do
            self._wake.notify_all()
            return
        self._apply()
        self._seen = seen

    def _apply(self) -> None:
        """Bring the overlay up to the state of the snapshot."""
        self._hide_removals()
        state, before = self._snapshot.state, self._applied
        if self._committing or state is before:
            return
        if state.folded > before.folded:
            numbers = self._columns.numbers()
            self._columns.remove(numbers[(numbers >= 0) & (numbers < state.folded)].tolist())
        for first, documents in self._snapshot.blocks(max(before.next, state.folded), state.next):
            if first not in self._own:
                self._columns.append(np.arange(first, first + len(documents.urls)), documents)
        self._own.clear()
        self._columns.remove(self._snapshot.dead[self._snapshot.dead >= state.folded].tolist())
        self._applied = state

    def _hide_removals(self) -> None:
        """Treat as dead what is not yet marked so on disk."""
        self._snapshot.hide({number for number in self._removals if number >= 0})

    def require_open(self) -> None:
        """Raise `IndexUnavailable` if it is closed, or was opened before a fork."""
        self._environment.require_same_process()
        if self._closing:
            raise IndexUnavailable("The index is closed: open it again.")


def _header(environment: Environment, wanted: Header | None, ignore: Collection[str]) -> Header:
    """Return the header of the index, written first if the index is new."""

    def work(transaction: lmdb.Transaction) -> Header:
        stored = transaction.get(b"header", db=environment.databases["meta"])
        if stored is not None:
            return Header.from_json(bytes(stored))
        if known is not None:
            raise corrupted(environment.path / DATA, f"it is empty and should hold {known} documents")
        if wanted is None:
            raise IndexUnavailable(
                f"There is no index in {environment.path}: name the directory of an index."
            )
        transaction.put(b"header", wanted.to_json(), db=environment.databases["meta"])
        write_state(environment, transaction, State())
        return wanted

    known = None if environment.scratch else read_sidecar(environment.path)
    with environment.read() as transaction:
        new = transaction.get(b"header", db=environment.databases["meta"]) is None
        header = None if new else work(transaction)
    if header is None:
        header = environment.write(work)
        if not environment.scratch:
            write_sidecar(environment.path, header.uuid, 0)
    if wanted is not None:
        header.require(wanted, str(environment.path), ignore)
    return header
