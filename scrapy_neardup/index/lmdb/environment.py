"""The LMDB environment of an index: checked before it is opened, opened once a process, grown when full.

Flags: ``metasync=False`` with ``sync=True`` survives power cuts with at most the last commit undone; ``sync=False``
and ``writemap=True`` can corrupt the file, so only a scratch index, which nobody will open again, goes without sync.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import lmdb

from scrapy_neardup.errors import IndexUnavailable, NearDupError

from .directory import DATA, check_data_file, check_directory
from .faults import translated, unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from .snapshot import Snapshot

Result = TypeVar("Result")

#: Address space reserved for the file, which itself grows as it is used.
MAP_SIZE = 1 << 36
MIN_MAP_SIZE = 1 << 26
MAX_READERS = 1024
#: Commits after which to look for readers that died: until then no page that they could read is used again.
CHECK_READERS = 64
#: Times that a transaction is begun anew after what has kept it from beginning was mended.
TRIES = 8
FORKED = (
    "The index was opened before a fork, which LMDB does not survive: close it before the fork, or start child "
    'processes by multiprocessing\'s method "spawn" or "forkserver".'
)
DATABASES = ("meta", "log", "documents", "runs", "dead")


#: All that were opened in this process or, after a fork, by its parent: those must never be finalised in the child,
#: whose transactions would give up the parent's slots in the table of readers.
_environments: weakref.WeakSet[Environment] = weakref.WeakSet()
_inherited: list[object] = []
_held: list[threading.RLock] = []


def _before_fork() -> None:
    """Take the locks, so that no other thread holds them in the child, where it would never let go."""
    _held[:] = [environment.lock for environment in list(_environments)]
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    for lock in _held:
        lock.release()
    _held.clear()


def _after_fork_in_child() -> None:
    _after_fork()
    _inherited.extend(
        (environment, [snapshot.leave() for snapshot in environment.snapshots])
        for environment in _environments
    )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


class Environment:
    """An open LMDB environment. Raises `IndexUnavailable` or `IndexCorrupted` if it cannot be opened.

    Locks are taken in this order: `merging`, `upkeep`, `lock`, then the one of the write transaction.
    """

    def __init__(self, path: Path | None) -> None:
        self.scratch = path is None
        self.path = Path(tempfile.mkdtemp(prefix="neardup-")) if path is None else path
        #: Held by the thread that maintains the index, for as long as that takes.
        self.merging = threading.Lock()
        #: Held by the thread that reads the memory map at length: maintenance, checks.
        self.upkeep = threading.RLock()
        #: Held by whoever searches.
        self.lock = threading.RLock()
        #: What reads the memory map and has to let go of it before it moves.
        self.snapshots: weakref.WeakSet[Snapshot] = weakref.WeakSet()
        self._writing = threading.RLock()
        self._pid = os.getpid()
        self._commits = 0
        self._transacting = False
        #: The thread that moves the memory map.
        self._mover: int | None = None
        #: Whether it could not be opened again after it had to be closed.
        self._lost = False
        self._size = MAP_SIZE
        try:
            with translated(self.path, "opened"):
                if path is not None:
                    check_directory(path)
                    check_data_file(path / DATA)
                self._open()
                if self.scratch and sys.platform != "win32":
                    # Nobody else opens it: without a name, it is gone with the process, however that ends.
                    shutil.rmtree(self.path)
        except BaseException:
            if self.scratch:
                shutil.rmtree(self.path, ignore_errors=True)
            raise
        _environments.add(self)

    def read(self, *, wait: bool = True) -> lmdb.Transaction:
        """Begin a read transaction, whose values are views of the memory map.

        What can be mended first, is: a map that another process has made larger, an environment that a failed write
        has left unusable. That needs the locks of all who read the map. Where they are not to be *waited* for, as by
        who searches, the error of LMDB is raised instead.
        """
        return self._begin(wait, lambda: self._env.begin(buffers=True))

    def write(self, work: Callable[[lmdb.Transaction], Result]) -> Result:
        """Run *work* in a write transaction; again, if the map had to grow. Blocks while others write."""

        def transact() -> Result:
            with self._writing:
                with self._env.begin(write=True, buffers=True) as transaction:
                    self._transacting = True
                    try:
                        result = work(transaction)
                    finally:
                        self._transacting = False
                self._commits += 1
                if self._commits % CHECK_READERS == 0:
                    self.reader_check()
                return result

        while True:
            try:
                return self._begin(True, transact)
            except lmdb.MapFullError:  # noqa: PERF203
                self._remap(self._grow)

    def _begin(self, wait: bool, begin: Callable[[], Result]) -> Result:
        """Run *begin*, again each time that what keeps it from a transaction could be mended."""
        for attempt in range(TRIES):
            self.require_same_process()
            try:
                return begin()
            except lmdb.Error as error:
                if attempt == TRIES - 1 or not self._mend(error, wait):
                    raise
        raise AssertionError

    def _mend(self, error: lmdb.Error, wait: bool) -> bool:
        """Do what lets a transaction begin after *error*; returns whether there was something to do, and it is done."""
        if self._mover == threading.get_ident():
            return False
        if self._lost or isinstance(error, lmdb.PanicError):  # a meta page could not be written
            return self._remap(self._reopen, wait)
        if isinstance(error, lmdb.MapResizedError):  # another process made it larger
            return self._remap(self._adopt, wait)
        if isinstance(error, lmdb.ReadersFullError):
            return self.reader_check() > 0
        return False

    def last_transaction(self) -> int:
        """Return the number of the last commit by any process; -1 while that cannot be told."""
        return -1 if self._lost else int(self._env.info()["last_txnid"])

    def size(self) -> int:
        """Return the bytes of the file in use."""
        return int((self._env.info()["last_pgno"] + 1) * self._env.stat()["psize"])

    def reader_check(self) -> int:
        """Clear the slots of readers that died, which would keep old pages from being used again; returns how many."""
        return int(self._env.reader_check())

    def copy(self, target: Path) -> None:
        """Write a compact copy, consistent while others write, into the empty directory *target*."""
        self._env.copy(str(target), compact=True)

    def close(self) -> None:
        """Close."""
        with self._writing:
            self._env.close()
        if self.scratch:
            shutil.rmtree(self.path, ignore_errors=True)

    @property
    def forked(self) -> bool:
        """Whether this is a child of the process that opened it, which has to leave it alone."""
        return os.getpid() != self._pid

    def require_same_process(self) -> None:
        """Raise `IndexUnavailable` after a fork, across which LMDB must not be used."""
        if self.forked:
            raise IndexUnavailable(FORKED)

    def _remap(self, move: Callable[[], object], wait: bool = True) -> bool:
        """Let all let go of the memory map, and *move* it; returns whether its locks were free, or *waited* for."""
        with contextlib.ExitStack() as held:
            for lock in (self.upkeep, self.lock, self._writing):
                if not lock.acquire(blocking=wait):
                    return False
                held.callback(lock.release)
            if self._transacting:  # this thread, whose transaction has to end first
                return False
            snapshots = list(self.snapshots)
            for snapshot in snapshots:
                snapshot.drop()
            self._mover = threading.get_ident()
            try:
                move()
            finally:
                for snapshot in snapshots:
                    # Where this fails, it is tried again by whoever reads next, who is told.
                    with contextlib.suppress(lmdb.Error, NearDupError):
                        snapshot.refresh()
                self._mover = None
        return True

    def _adopt(self) -> None:
        try:
            self._env.set_mapsize(0)
        except lmdb.Error:  # LMDB has let go of the map; perhaps what is in use can be mapped
            self._reopen()

    def _grow(self) -> None:
        size = int(self._env.info()["map_size"])
        try:
            self._env.set_mapsize(2 * size)
        except lmdb.Error:
            self._size = size
            self._reopen()
            raise
        self._size = 2 * size

    def _reopen(self) -> None:
        self._lost = True
        self._env.close()
        if not (self.path / DATA).is_file():  # LMDB would make a new one
            raise IndexUnavailable(
                f"The file of the index in {self.path} is gone: close the index and open it again."
            )
        self._open()
        self._lost = False

    def _open(self) -> None:
        for attempt in range(60):
            try:
                self._env = lmdb.open(
                    str(self.path),
                    map_size=self._size,
                    max_dbs=len(DATABASES),
                    max_readers=MAX_READERS,
                    sync=not self.scratch,
                    metasync=False,
                    writemap=False,
                    meminit=False,
                    readahead=False,
                    lib_version=0,
                )
                break
            except (lmdb.Error, OSError, MemoryError) as error:
                if "Cannot allocate" in str(error) and self._size > MIN_MAP_SIZE:
                    self._size //= 2  # a limit on address space
                elif "Invalid argument" in str(error) and attempt < 50:
                    time.sleep(random.uniform(0.001, 0.02))  # another process opens or closes at this moment
                elif any(other.forked and other.path == self.path for other in list(_environments)):
                    raise IndexUnavailable(
                        FORKED
                    ) from error  # LMDB takes it for one that this process has open
                else:
                    raise unavailable(self.path, error, "opened") from error
        try:
            self._env.reader_check()
            self.databases = {name: self._env.open_db(name.encode()) for name in DATABASES}
        except lmdb.Error as error:
            self._env.close()
            raise unavailable(self.path, error, "written") from error
