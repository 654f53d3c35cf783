"""The LMDB environment of an index: transactions that go on when the memory map has to move.

The file is checked before it is opened. The map moves when it is full, when another process has made it
larger, or when a failed write has left the environment unusable. Before it moves, everybody who reads it has
to let go of it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import lmdb

from scrapy_neardup.errors import IndexUnavailable, NearDupError

from .data_file import DATA, check_data_file
from .directory import check_directory
from .faults import translated
from .forks import FORKED, environments
from .memory_map import MemoryMap
from .tuning import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from .map_reader import MapReader
    from .tuning import Tuning

Result = TypeVar("Result")

#: After so many commits the slots of readers that died are freed. Until then LMDB uses no page again that
#: they could still read.
READER_CHECK_COMMITS = 64
#: A transaction is begun at most so often, if what has kept it from beginning could be mended each time.
TRIES = 8


class Environment:
    """The open LMDB environment of the index in directory *path*, or of a scratch index if that is None.

    Raises `IndexUnavailable` or `IndexCorrupted` if it cannot be opened. All methods may be called from any
    thread. Whoever takes several locks takes them in this order: `compaction_lock`, `scan_lock`, `lock`, then
    the one of a write transaction.
    """

    def __init__(self, path: Path | None, tuning: Tuning = DEFAULT) -> None:
        self.scratch = path is None
        self.tuning = tuning
        self.path = Path(tempfile.mkdtemp(prefix="neardup-")) if path is None else path
        #: Held by the thread that maintains the index, as long as that takes.
        self.compaction_lock = threading.Lock()
        #: Held by a thread that reads much of the memory map: maintenance, checks, audits.
        self.scan_lock = threading.RLock()
        #: Held during each search and each change of the memtable.
        self.lock = threading.RLock()
        #: All that have to let go of the memory map before it moves.
        self.readers: weakref.WeakSet[MapReader] = weakref.WeakSet()
        self._writing = threading.RLock()
        self._pid = os.getpid()
        self._commits = 0
        self._transacting = False
        #: The thread that moves the memory map at the moment.
        self._mover: int | None = None
        try:
            with translated(self.path, "opened"):
                if path is not None:
                    check_directory(path)
                    check_data_file(path / DATA)
                self._map = MemoryMap(self.path, tuning, sync=not self.scratch)
                if self.scratch and sys.platform != "win32":
                    # Nobody else opens it. A file without a name is gone with the process, however that ends.
                    shutil.rmtree(self.path)
        except BaseException:
            if self.scratch:
                shutil.rmtree(self.path, ignore_errors=True)
            raise
        environments.add(self)

    @property
    def databases(self) -> dict[str, Any]:
        """The databases of the index by their names, see `layout`."""
        return self._map.databases

    @property
    def _env(self) -> lmdb.Environment:
        return self._map.env

    # Transactions

    def read(self, *, wait: bool = True) -> lmdb.Transaction:
        """Begin a read transaction, whose values are views of the memory map.

        If the map has to move first, this needs the locks of all who read it. Without *wait*, and with one of
        the locks taken, the error of LMDB is raised instead: a search must not wait for maintenance.
        """
        return self._begin(wait, lambda: self._env.begin(buffers=True))

    def write(self, work: Callable[[lmdb.Transaction], Result]) -> Result:
        """Run *work* in a write transaction and commit; returns what *work* returns.

        *work* is run again from the start if the map was full and had to grow. This blocks while others
        write.
        """

        def transact() -> Result:
            with self._writing:
                with self._env.begin(write=True, buffers=True) as transaction:
                    self._transacting = True
                    try:
                        result = work(transaction)
                    finally:
                        self._transacting = False
                self._commits += 1
                if self._commits % READER_CHECK_COMMITS == 0:
                    self.reader_check()
                return result

        while True:
            try:
                return self._begin(True, transact)
            except lmdb.MapFullError:  # noqa: PERF203
                self._move_map(self._map.grow)

    def _begin(self, wait: bool, begin: Callable[[], Result]) -> Result:
        """Run *begin*, and again each time that the error that it raised could be mended."""
        for attempt in range(TRIES):
            self.require_same_process()
            try:
                return begin()
            except lmdb.Error as error:
                if attempt == TRIES - 1 or not self._mend(error, wait):
                    raise
        raise AssertionError

    def _mend(self, error: lmdb.Error, wait: bool) -> bool:
        """Remove the cause of *error*, if that is possible; returns whether it was."""
        if self._mover == threading.get_ident():
            return False
        if self._map.lost or isinstance(error, lmdb.PanicError):  # a meta page could not be written
            return self._move_map(self._map.reopen, wait)
        if isinstance(error, lmdb.MapResizedError):  # another process has made the map larger
            return self._move_map(self._map.adopt, wait)
        if isinstance(error, lmdb.ReadersFullError):
            return self.reader_check() > 0
        return False

    # The rest

    def last_transaction(self) -> int:
        """Return the number of the last commit by any process; -1 while that cannot be told."""
        return -1 if self._map.lost else int(self._env.info()["last_txnid"])

    def size(self) -> int:
        """Return how many bytes of the file are in use."""
        return int((self._env.info()["last_pgno"] + 1) * self._env.stat()["psize"])

    def reader_check(self) -> int:
        """Free the slots of readers that died, for which LMDB keeps old pages; returns how many."""
        return int(self._env.reader_check())

    def sync(self) -> None:
        """Return once the last commit is on disk, which a power cut could undo otherwise."""
        self._env.sync(True)

    def copy(self, target: Path) -> None:
        """Write a compact copy, consistent even while others write, into the empty directory *target*."""
        # Its hints ask for text, which some names are not.
        self._env.copy(os.fsencode(target), compact=True)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close the environment; a scratch index is deleted."""
        with self._writing:
            self._env.close()
        if self.scratch:
            shutil.rmtree(self.path, ignore_errors=True)

    @property
    def forked(self) -> bool:
        """Whether this is a child of the process that opened the environment, which must not use it."""
        return os.getpid() != self._pid

    def require_same_process(self) -> None:
        """Raise `IndexUnavailable` in a child of the process that opened the environment."""
        if self.forked:
            raise IndexUnavailable(FORKED)

    def leave(self) -> object:
        """Stop reading in a forked child; returns the transactions, which must not be finalised there."""
        return [reader.leave() for reader in self.readers]

    # The memory map

    def _move_map(self, move: Callable[[], object], wait: bool = True) -> bool:
        """Make all readers let go of the map, call *move*, and let them read again.

        Returns False, and does nothing, if this thread has a write transaction open, or if another one holds
        a lock and this one should not *wait*.
        """
        with contextlib.ExitStack() as held:
            for lock in (self.scan_lock, self.lock, self._writing):
                if not lock.acquire(blocking=wait):
                    return False
                held.callback(lock.release)
            if self._transacting:
                return False
            readers = list(self.readers)
            for reader in readers:
                reader.drop()
            self._mover = threading.get_ident()
            try:
                move()
            finally:
                for reader in readers:
                    # A reader for which this fails tries again when it is used next, and raises then.
                    with contextlib.suppress(lmdb.Error, NearDupError):
                        reader.refresh()
                self._mover = None
        return True
