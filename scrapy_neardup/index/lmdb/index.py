"""The index on disk: a memtable over a log and sorted runs in LMDB, and a thread that writes to both."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.header import Header, decoding
from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.index.protocol import Documents, Filing, Found, Lookup, Stored
from scrapy_neardup.index.search import Matches, Met, closest, most_shared, put_together, search_all
from scrapy_neardup.index.tables import NO_KEY

from .directory import require_index, shared_use, translated
from .environment import DEFAULT, Environment, Tuning
from .layout import create, read_header
from .memtable import Filed, Memtable
from .snapshot import reading, search_near, search_one, with_key
from .writer import Writer, append

_NO_KEY = int(NO_KEY)

#: Many documents that are added at once make runs of so many times the size at which the log is flushed.
RUN = 10


class LmdbIndex:
    """The index in the directory *path*, or a scratch index that vanishes with the process if it is None.

    Methods with an underscore are called under the lock.
    """

    remote = False

    def __init__(
        self,
        path: Path | None,
        wanted: Header | None,
        *,
        ignore: Collection[str] = (),
        window: float = 0,
        reset: bool = False,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self.path = path
        #: How many have opened it and not closed it.
        self.users = 1
        self._closed = False
        where = Path(tempfile.gettempdir()) if path is None else path
        with translated(where, "opened"), contextlib.ExitStack() as undo:
            if path is not None:
                undo.enter_context(shared_use(path, reset=reset))
            self._environment = Environment(path, tuning, None if wanted is None else partial(create, wanted))
            undo.callback(self._environment.close)
            self.header = read_header(self._environment)
            if wanted is not None:
                self.header.require(wanted, str(path), ignore)
            self._memtable = Memtable(self._environment, self.header)
            self._undo = undo.pop_all()
        #: Held by whatever has to see or change several things at once.
        self.lock = self._environment.lock
        self._newest = _Newest(self)
        self._nothing = Stored(np.empty(0, self.header.dtype), [], [])
        self._writer = Writer(self._environment, self._memtable, window)

    def search(self, family: int, keys: NDArray[np.uint64], distance: int = 0) -> Matches:
        with self._newest:
            (asked,) = self.header.families[family].has(keys).nonzero()
            found = search_all(partial(self._near, family, distance), keys[asked])
            return found._replace(query=asked[found.query])

    def find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        with self._newest:
            return self._find(document, lookups)

    def retrieve(self, family: int, keys: NDArray[np.uint64]) -> tuple[Matches, Stored]:
        with self._newest:
            matches = self.search(family, keys)
            return matches, self.fetch(matches.document)

    def reserve_if(
        self, document: Documents, lookups: Sequence[Lookup], decide: Callable[[Found], Filing | None]
    ) -> Reservation | None:
        with self._newest:
            filing = decide(self._find(document, lookups))
            return None if filing is None else self._file(filing)

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        with self.lock, translated(self._environment.path):
            return self._memtable.fetch(documents)

    def _file(self, filing: Filing) -> Reservation:
        def settle(reservation: Reservation) -> None:
            with self.lock:
                filed = self._memtable.settle(number, reservation)
                if filed is not None:
                    self._confirmed(filed, filing.replaces)

        reservation = Reservation(filing.document.urls[0], settle)
        number = self._memtable.file(filing.document, reservation)
        return reservation

    def _confirmed(self, filed: Filed, replaces: Sequence[int]) -> None:
        """Have a document written, now that it is queued, in the place of those that it *replaces*."""
        if replaces:
            self.discard(replaces)
        self._writer.notice()

    def _find(self, document: Documents, lookups: Sequence[Lookup]) -> Found:
        found = [self._meet(lookup, document) for lookup in lookups]
        numbers, shared, crowded, narrowed = put_together(found)
        if not len(numbers):  # most pages are new
            return Found(numbers, shared, self._nothing, [], crowded, narrowed)
        pending = [self._memtable.pending.get(number) for number in numbers.tolist()]
        return Found(numbers, shared, self.fetch(numbers), [*pending], crowded, narrowed)

    def _meet(self, lookup: Lookup, document: Documents) -> Met:
        """Look up the keys of one document."""
        family, distance, most, nearest, compared = lookup
        kind, keys = self.header.families[family], document.keys[self.header.rows[family], 0]
        if not kind.equal:
            snapshot = self._memtable.snapshot
            with decoding("A partition"):
                in_runs, narrowed = search_one(snapshot, family, int(keys[0]), distance, compared)
            parts = [in_runs, *self._memtable.columns.near(family, keys, distance)]
            return closest(parts, nearest)._replace(narrowed=narrowed)
        # Only all keys together tell which documents share the most of them.
        limit = most + 1 if most else nearest + 1 if nearest and len(keys) == 1 else 0
        counts: dict[int, int] = {}
        for key in keys.tolist():
            having = self._with_key(family, key, limit) if kind.keys == 1 or key != _NO_KEY else ()
            for number in having if not most or len(having) <= most else ():
                counts[number] = counts.get(number, 0) + 1
        return most_shared(counts, nearest)

    def _near(self, family: int, distance: int, keys: NDArray[np.uint64]) -> Iterator[Matches]:
        """Yield the documents whose keys differ in at most *distance* bits, perhaps several times."""
        with decoding("A partition"):
            yield from search_near(self._memtable.snapshot, family, keys, distance)
        yield from self._memtable.columns.near(family, keys, distance)

    def _with_key(self, family: int, key: int, limit: int) -> set[int]:
        """Find the documents that have *key*, at least the *limit* of them that were filed first; 0: all."""
        newest, snapshot = self._memtable.columns.with_key(family, key), self._memtable.snapshot
        if not snapshot.cuts[family]:
            return newest
        with decoding("A partition"):
            older = with_key(snapshot, family, key, limit)
        return older | newest if newest else older

    def discard(self, documents: Sequence[int]) -> None:
        with self._newest:
            self._memtable.discard(documents)

    def add(self, documents: Documents) -> NDArray[np.int64]:
        self.require_open()
        count, size = len(documents.urls), self._environment.tuning.flush_documents
        numbers = [np.empty(0, np.int64)]
        # Few large runs take less time than many small ones, which the writer would begin meanwhile.
        alone = self._environment.compaction_lock if count >= size else contextlib.nullcontext()
        with translated(self._environment.path, "written"), alone:
            for start in range(0, count, size):
                part = documents.take(slice(start, start + size))
                state = append(self._environment, part)
                numbers.append(np.arange(state.next - len(part.urls), state.next))
                if start + size >= count or start // size % RUN == RUN - 1:
                    for _ in self._writer.maintenance(wait=count >= size):
                        pass
            with self.lock:
                self._writer.settle()
                self._memtable.look()
        return np.concatenate(numbers)

    def flush(self) -> None:
        self.require_open()
        self._writer.flush()

    def compact(self) -> None:
        """Flush the log and merge all runs into one, without the documents that were removed."""
        self.flush()
        with translated(self._environment.path, "written"):
            for _ in self._writer.maintenance(wait=True, whole=True):
                pass

    def documents(self) -> Iterator[tuple[NDArray[np.int64], Stored]]:
        """Yield the numbers (int64[n]) and contents of all documents on disk, block by block."""
        with reading(self._environment, self.header) as reader:
            yield from reader.documents()

    def gauges(self) -> dict[str, int]:
        with self._newest:
            memtable = self._memtable
            return {
                "documents": memtable.count,
                "pending": len(memtable.pending),
                "backlog": len(memtable.group) + len(memtable.queue),
                "runs": len(memtable.snapshot.state.runs),
                "bytes": self._environment.size(),
                "degraded": int(self._writer.degraded),
                **self._writer.counts,
            }

    def close(self) -> None:
        """Write what is confirmed, and close for the last user. Raises `IndexUnavailable`."""
        if self._environment.forked or self._closed:
            return
        with _lock:  # nobody may open it again before it is closed
            self.users -= 1
            if not self.users:
                if _open.get(self.path) is self:
                    del _open[self.path]
                self._close()
                return
        self.flush()

    def _close(self) -> None:
        with self.lock:
            self._closed = True
        ended = self._writer.stop()
        lost = self._memtable.changes
        if ended:
            with self.lock:
                self._memtable.snapshot.close()
            with translated(self._environment.path, "closed"):
                self._undo.close()
        if lost:
            named = [filed.url for filed in (*self._memtable.group, *self._memtable.queue)][:5]
            raise IndexUnavailable(
                f"{lost} changes could not be written to the index in {self._environment.path} "
                f"({self._writer.trouble}) and are forgotten: copies of new documents will pass, such as "
                f"{', '.join(named)}."
            )

    def require_open(self) -> None:
        """Raise `IndexUnavailable` if the index is closed, or was opened before a fork."""
        self._environment.require_same_process()
        if self._closed:
            raise IndexUnavailable("The index is closed: open it again.")


class _Newest(translated):
    """A block that holds the lock, and in which all that others have committed is seen."""

    def __init__(self, index: LmdbIndex) -> None:
        super().__init__(index._environment.path)
        self._index = index

    def __enter__(self) -> None:
        self._index.lock.acquire()
        try:
            self._index.require_open()
            self._index._memtable.look()
        except BaseException as error:
            self.__exit__(None, error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._index.lock.release()
        super().__exit__(kind, error, trace)


_open: dict[Path | None, LmdbIndex] = {}
_lock = threading.Lock()

# In a child, an index that the parent has open refuses to be used, and so does the one that stands here.
os.register_at_fork(after_in_child=lambda: _lock._at_fork_reinit())  # type: ignore[attr-defined]


def open_directory(
    path: str | os.PathLike[str] | None,
    wanted: Header | None,
    *,
    ignore: Collection[str],
    window: float,
    reset: bool,
) -> LmdbIndex:
    """Open the index in directory *path*, or return the one that this process has open: see `open_index`."""
    where = None if path is None else Path(path).expanduser().resolve()
    if wanted is None and where is not None:
        require_index(where)
    with _lock:
        index = None if where is None or reset else _open.get(where)
        if index is None:
            index = LmdbIndex(where, wanted, ignore=ignore, window=window, reset=reset)
            if where is not None:
                _open[where] = index
            return index
        index.require_open()
        if wanted is not None:
            index.header.require(wanted, str(where), ignore)
        index.users += 1
        return index
