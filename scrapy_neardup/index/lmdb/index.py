"""The index on disk: an overlay in memory over sorted runs in LMDB, and a thread that moves the one to the other."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.local import LocalIndex
from scrapy_neardup.index.protocol import Documents, Stored
from scrapy_neardup.index.search import search_all, search_runs

from .compaction import FOLD, load, merge_all, reading
from .creation import open_header
from .directory import shared_use, write_sidecar
from .environment import Environment
from .faults import decoding, translated
from .memtable import Overlay
from .snapshot import Snapshot
from .wal import append
from .writer import Writer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Matches
    from scrapy_neardup.index.reservation import Reservation

#: Documents of one transaction of a bulk load.
LOAD = 1 << 20


class LmdbIndex(LocalIndex):
    """The `Index` in the directory *path*, or with None a scratch index on disk that vanishes with the process.

    *wanted* says how it must have been made, but for what to *ignore*, and how to make it if it is new; None takes
    it as it is. Runs of documents whose records have a ``time`` more than *window* seconds ago are dropped. Raises
    `IndexUnavailable`, `IndexCorrupted` or `IndexMismatch`.
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
        self._closed = False
        #: The last commit seen, and what keeps from seeing later ones.
        self._seen = -1
        self._behind: lmdb.Error | None = None
        where = Path(tempfile.gettempdir()) if path is None else path
        with translated(where, "opened"), contextlib.ExitStack() as undo:
            if path is not None:
                undo.enter_context(shared_use(path, reset=reset))
            self._environment = Environment(path)
            undo.callback(self._environment.close)
            super().__init__(self._environment.lock)
            self.header = open_header(self._environment, wanted, ignore)
            self._overlay = Overlay(self.header)
            self._snapshot = Snapshot(self._environment, self.header)
            self._snapshot.refresh()
            self._overlay.follow(self._snapshot)
            self._undo = undo.pop_all()
        self._writer = Writer(self._environment, self.header, self._overlay, self._look, window)

    # Searching

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0, most: int = 0) -> Matches:
        """See `Index`."""
        with self.lock, self._translated():
            self._catch_up()
            with decoding("A partition"):
                return search_all(
                    (
                        lambda some: search_runs(self._snapshot, family, some, distance, most),
                        lambda some: self._overlay.columns.search(family, some, distance, most),
                    ),
                    keys,
                    most,
                )

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """See `Index`."""
        with self.lock, self._translated():
            columns = self._overlay.columns
            numbers = [self._overlay.number(document) for document in documents.tolist()]
            new = [place for place, number in enumerate(numbers) if number in columns]
            if len(new) == len(numbers):
                return columns.fetch(numbers)
            if not new:
                return self._snapshot.fetch(np.array(numbers, np.int64))
            old = [place for place, number in enumerate(numbers) if number not in columns]
            parts = [
                columns.fetch(numbers[place] for place in new),
                self._snapshot.fetch(np.array([numbers[place] for place in old], np.int64)),
            ]
            return Stored.concatenate(parts).take(np.argsort(new + old))

    # Adding and removing

    def _reserve(self, document: Documents, holder: Reservation | None) -> int:
        self.require_open()
        return self._overlay.reserve(document.keys[:, 0], document.records[0], document.urls[0], holder)

    def _holder(self, document: int) -> Reservation | None:
        return self._overlay.holder(document)

    def _confirm(self, document: int, replaces: Sequence[int]) -> None:
        if self._overlay.confirm(document):
            if replaces:
                self.discard(replaces)
            self._writer.notice()

    def _release(self, document: int) -> None:
        self._overlay.release(document)

    def discard(self, documents: Sequence[int]) -> None:
        """See `Index`."""
        with self.lock, self._translated():
            self._catch_up()
            self._overlay.discard(documents, self._snapshot)
            if self._overlay.removals:
                self._writer.notice()

    def add(self, documents: Documents) -> NDArray[np.int64]:
        """See `Index`. A large load goes past the log, straight into a run."""
        self.require_open()
        numbers = [np.empty(0, np.int64)]
        with self._translated("written"):
            for start in range(0, len(documents.urls), LOAD):
                part = documents.take(slice(start, start + LOAD))
                if len(part.urls) < FOLD:
                    state = append(self._environment, part)
                else:
                    state = load(self._environment, self.header, part)
                numbers.append(np.arange(state.next - len(part.urls), state.next))
            for _ in self._writer.upkeep():
                pass
            with self.lock:
                self._writer.settle()
                self._look()
        return np.concatenate(numbers)

    # Life

    def flush(self) -> None:
        """See `Index`."""
        self.require_open()
        self._writer.flush()

    def compact(self) -> None:
        """Merge all runs into one, without what was removed."""
        self.flush()
        with self._translated("written"):
            for _ in merge_all(self._environment, self.header):
                pass
            with self.lock:
                self._look()

    def gauges(self) -> dict[str, int]:
        """See `Index`."""
        with self.lock, self._translated():
            self._catch_up()
            overlay, state = self._overlay, self._snapshot.state
            removed = int(np.searchsorted(self._snapshot.dead, state.folded))
            stored = sum(run.documents for run in state.runs) - removed
            return {
                "documents": stored + len(overlay.columns) - overlay.pending,
                "pending": overlay.pending,
                "backlog": len(overlay.queue),
                "runs": len(state.runs),
                "bytes": self._environment.size(),
                "degraded": int(self._writer.degraded or self._behind is not None),
                **self._writer.counts,
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
        with self.lock:
            if self._closed:
                return
            self._closed = True
        ended = self._writer.stop()
        lost = self._overlay.changes
        if ended:
            with self.lock:
                self._snapshot.close()
            if not self._environment.scratch:
                # It only says that there is an index, which it said before.
                with contextlib.suppress(OSError):
                    write_sidecar(self._environment.path, self.header.uuid, self._snapshot.state.next)
            with self._translated("closed"):
                self._undo.close()
        if lost:
            raise IndexUnavailable(
                f"{lost} changes could not be written to the index in {self._environment.path} "
                f"({self._writer.trouble}) and are forgotten: copies of new documents will pass."
            )

    def require_open(self) -> None:
        """Raise `IndexUnavailable` if it is closed, or was opened before a fork."""
        self._environment.require_same_process()
        if self._closed:
            raise IndexUnavailable("The index is closed: open it again.")

    def _translated(self, what: str = "used") -> translated:
        return translated(self._environment.path, what)

    # Keeping up with other processes

    def _catch_up(self) -> None:
        """Take in what other processes have committed."""
        self.require_open()
        self._look()
        self._overlay.follow(self._snapshot)  # it may have moved on with the memory map

    def _look(self) -> None:
        """Move on to the newest commit, unless one of ours is under way."""
        last = self._environment.last_transaction()
        if self._overlay.committing or (last == self._seen and self._snapshot.attached):
            return
        try:
            self._snapshot.refresh(wait=False)
        except lmdb.Error as error:
            if not self._snapshot.attached:
                raise
            self._behind = error  # until it can be mended, the older view has to do
            return
        self._overlay.follow(self._snapshot)
        self._seen, self._behind = last, None
