"""The LMDB environment of an index: checked before it is opened, opened once a process, grown when full.

Flags: ``metasync=False`` with ``sync=True`` survives power cuts with at most the last commit undone; ``sync=False``
and ``writemap=True`` can corrupt the file, so only a scratch index, which nobody will open again, goes without sync.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import threading
import time
import weakref
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import lmdb

from scrapy_neardup.errors import IndexUnavailable

from .directory import DATA, check_data_file, check_directory, corrupted

if TYPE_CHECKING:
    from collections.abc import Callable

    from .snapshot import Snapshot

Result = TypeVar("Result")

#: Address space reserved for the file, which itself grows as it is used.
MAP_SIZE = 1 << 36
MIN_MAP_SIZE = 1 << 26
MAX_READERS = 1024
DATABASES = ("meta", "log", "documents", "runs", "dead")


#: All that were opened in this process or, after a fork, by its parent: those must never be finalised in the child,
#: whose transactions would give up the parent's slots in the table of readers.
_environments: weakref.WeakSet[Environment] = weakref.WeakSet()
_inherited: list[object] = []
_held: list[threading.RLock] = []


def _before_fork() -> None:
    """Take the locks, so that no other thread holds them in the child, where it would never let go."""
    _held[:] = [environment.lock for environment in _environments]
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
        if path is not None:
            check_directory(path)
            check_data_file(path / DATA)
        self._open()
        _environments.add(self)
        if self.scratch and sys.platform != "win32":
            # Nobody else opens it: without a name, it is gone with the process, however that ends.
            shutil.rmtree(self.path)

    def read(self) -> lmdb.Transaction:
        """Begin a read transaction, whose values are views of the memory map.

        Raises ``lmdb.MapResizedError`` if another process has made the map larger: see `adopt_size`.
        """
        self.require_same_process()
        try:
            return self._env.begin(buffers=True)
        except lmdb.ReadersFullError:
            self._env.reader_check()
            return self._env.begin(buffers=True)

    def write(self, work: Callable[[lmdb.Transaction], Result]) -> Result:
        """Run *work* in a write transaction; again, if the map had to grow. Blocks while others write."""
        self.require_same_process()
        while True:
            try:
                with self._writing, self._env.begin(write=True, buffers=True) as transaction:
                    return work(transaction)
            except lmdb.MapFullError:  # noqa: PERF203
                self._remap(lambda: self._env.set_mapsize(2 * int(self._env.info()["map_size"])))
            except lmdb.MapResizedError:  # another process made it larger
                self.adopt_size()
            except lmdb.PanicError:  # a meta page could not be written: only opening it again helps
                self._remap(self._reopen)
                raise

    def adopt_size(self) -> None:
        """Make the memory map as large as another process has made it."""
        self._remap(lambda: self._env.set_mapsize(0))

    def last_transaction(self) -> int:
        """Return the number of the last commit by any process."""
        return int(self._env.info()["last_txnid"])

    def size(self) -> int:
        """Return the bytes of the file in use."""
        return int((self._env.info()["last_pgno"] + 1) * self._env.stat()["psize"])

    def reader_check(self) -> None:
        """Clear the slots of readers that died, which would keep old pages from being used again."""
        self._env.reader_check()

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
            raise IndexUnavailable(
                "The index was opened before a fork, which LMDB does not survive: start child processes by "
                'multiprocessing\'s method "spawn" or "forkserver".'
            )

    def _remap(self, move: Callable[[], object]) -> None:
        with self.upkeep, self.lock, self._writing:
            snapshots = list(self.snapshots)
            while True:
                for snapshot in snapshots:
                    snapshot.drop()
                move()
                try:
                    for snapshot in snapshots:
                        snapshot.refresh()
                    return
                except lmdb.MapResizedError:  # once more, meanwhile
                    move = partial(self._env.set_mapsize, 0)

    def _reopen(self) -> None:
        self._env.close()
        self._open()

    def _open(self) -> None:
        size = MAP_SIZE
        for attempt in range(60):
            try:
                self._env = lmdb.open(
                    str(self.path),
                    map_size=size,
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
            except lmdb.LockError as error:
                raise IndexUnavailable(
                    f"The lock file in {self.path} cannot be used ({error}): processes in different containers "
                    "must share a PID namespace, or each have an index of its own."
                ) from error
            except (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.CorruptedError) as error:
                raise corrupted(self.path / DATA, str(error)) from error
            except (lmdb.Error, OSError, MemoryError) as error:
                if "Cannot allocate" in str(error) and size > MIN_MAP_SIZE:
                    size //= 2  # a limit on address space
                elif "Invalid argument" in str(error) and attempt < 50:
                    time.sleep(random.uniform(0.001, 0.02))  # another process opens or closes at this moment
                else:
                    raise IndexUnavailable(
                        f"The index in {self.path} cannot be opened ({error}): check the directory's "
                        "permissions and free space, or set NEARDUP_DIR to another directory."
                    ) from error
        try:
            self._env.reader_check()
            self.databases = {name: self._env.open_db(name.encode()) for name in DATABASES}
        except lmdb.Error as error:
            self._env.close()
            if isinstance(error, (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError)):
                raise corrupted(self.path / DATA, str(error)) from error
            raise IndexUnavailable(
                f"The index in {self.path} cannot be written ({error}): free space on its disk, "
                "or set NEARDUP_DIR to another directory."
            ) from error
