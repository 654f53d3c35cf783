"""The LMDB environment of an index: transactions that go on when the memory map has to move.

With ``sync=True`` and ``metasync=False`` a power cut undoes at most the last commit. ``sync=False`` or
``writemap=True`` can corrupt the file in a power cut, so only a scratch index, which nobody opens again, does
without sync. The file is checked before it is opened. The map moves when it is full, when another process
has made it larger, or when a failed write has left the environment unusable. Before it moves, everybody who
reads it has to let go of it.

LMDB does not survive a fork: parent and child would share the table of readers. The parent goes on as before.
The child must neither use nor finalise what its parent has open, because ending a transaction there would
free the parent's slot in that table.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import lmdb

from scrapy_neardup.errors import IndexUnavailable, NearDupError

from .directory import DATA, check_data_file, check_directory, translated, unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")

#: The databases of an index, see `layout`.
DATABASES = ("meta", "log", "documents", "runs", "dead")
#: So many processes and threads can read an index at a time.
MAX_READERS = 1024
#: Opening the file is tried at most so often in all …
OPENINGS = 60
#: … of which so many may fail because another process opens or closes it at the same moment.
BUSY_OPENINGS = 50
#: After so many commits the slots of readers that died are freed. Until then LMDB uses no page again that
#: they could still read.
READER_CHECK_COMMITS = 64
#: A transaction is begun at most so often, if what has kept it from beginning could be mended each time.
TRIES = 8
FORKED = (
    "The index was opened before a fork, which LMDB does not survive: close it before the fork, or start "
    'child processes by multiprocessing\'s method "spawn" or "forkserver".'
)

#: All environments that were opened in this process or, after a fork, by its parent.
_environments: weakref.WeakSet[Environment] = weakref.WeakSet()
#: In a child: what the parent had open, kept so that it is never finalised.
_inherited: list[object] = []
#: The locks that are held while the process forks.
_held: list[threading.RLock] = []


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes and times of an index that are not part of its format. Tests make all of them small."""

    #: A group commit holds at most so many documents, and a confirmed one waits at most so long for it. With
    #: the commit itself, that keeps what a crash forgets below 1,000 documents or one second.
    group_documents: int = 1000
    group_seconds: float = 0.5
    #: The writer waits so long after a first failed commit, then twice as long after each further one, up to
    #: the last value. Maintenance that has failed waits that long, too.
    first_retry_seconds: float = 1.0
    last_retry_seconds: float = 30.0
    #: So many documents are kept in memory while the disk cannot be written. Beyond them the oldest are
    #: forgotten.
    backlog_documents: int = 100_000
    #: Flushing and closing wait so long for the disk.
    disk_wait_seconds: float = 10.0
    #: The write-ahead log is flushed into a run when it holds so many documents, which are in memory until
    #: then. A bulk load of as many goes past the log, so many at a time.
    flush_documents: int = 1 << 14
    load_documents: int = 1 << 20
    #: A transaction of the maintenance writes or frees about so much. Other writers wait for it, and LMDB
    #: writes the list of what a transaction has freed again with each later one that uses some of it.
    transaction_bytes: int = 1 << 22
    #: A block of a run holds so many documents, a partition about so many entries: 384 KB, so that LMDB finds
    #: room for it among freed pages.
    block_documents: int = 1 << 11
    partition_entries: int = 1 << 15
    #: With a window, the writer looks so often for runs that have expired.
    expiry_seconds: float = 3600.0
    #: Address space reserved for the file at first; it grows with the file. Where the system does not allow
    #: that much, the map is halved down to the second value.
    map_bytes: int = 1 << 36
    min_map_bytes: int = 1 << 26
    #: What a snapshot remembers of partitions takes at most so much memory.
    partition_bytes: int = 1 << 26
    #: The temporary numbers of so many documents still lead to them once they have their numbers on disk.
    aliases: int = 1 << 16
    #: Up to so many probes are looked up one by one, and what they find is compared at once. From so many
    #: for each partition of a table, NumPy looks them up faster, partition by partition.
    probes_at_once: int = 256
    dense_probes: int = 8
    #: So many candidates are compared at a time, which bounds the memory of a batch (8 M take some 200 MB).
    candidates_at_once: int = 1 << 23


#: The values for crawls.
DEFAULT = Tuning()


class MapReader(Protocol):
    """Something that holds views of the memory map and has to let go of them before the map moves."""

    def drop(self) -> None:
        """Let go of the map until the next `refresh`."""

    def refresh(self, *, wait: bool = True) -> None:
        """Read the newest commit. See `Environment.read` for *wait*."""

    def leave(self) -> object:
        """Let go of the map in a forked child; returns the open transaction, which is not ended."""


class Environment:
    """The open LMDB environment of the index in directory *path*, or of a scratch index if that is None.

    *readahead* suits those who read the whole file. Raises `IndexUnavailable` or `IndexCorrupted` if it
    cannot be opened. All methods may be called from any thread. Whoever takes several locks takes them in
    this order: `compaction_lock`, `scan_lock`, `lock`, then the one of a write transaction.
    """

    def __init__(self, path: Path | None, tuning: Tuning = DEFAULT, *, readahead: bool = False) -> None:
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
        self._readahead = readahead
        self._writing = threading.RLock()
        self._pid = os.getpid()
        self._commits = 0
        self._transacting = False
        #: The thread that moves the memory map at the moment.
        self._mover: int | None = None
        #: Whether the file was closed and could not be opened again.
        self._lost = False
        try:
            with translated(self.path, "opened"):
                if path is not None:
                    check_directory(path)
                    check_data_file(path / DATA)
                self._open(tuning.map_bytes, tuning.min_map_bytes)
                if self.scratch and sys.platform != "win32":
                    # Nobody else opens it. A file without a name is gone with the process, however that ends.
                    shutil.rmtree(self.path)
        except BaseException:
            if self.scratch:
                shutil.rmtree(self.path, ignore_errors=True)
            raise
        _environments.add(self)

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
                size = self._map_bytes
                self._move_map(lambda: self._reopen(2 * self._map_bytes, self._map_bytes))
                if self._map_bytes <= size:  # the system does not allow more
                    raise

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
        # A meta page could not be written, or another process has made the map larger.
        if self._lost or isinstance(error, (lmdb.PanicError, lmdb.MapResizedError)):
            return self._move_map(self._reopen, wait)
        if isinstance(error, lmdb.ReadersFullError):
            return self.reader_check() > 0
        return False

    # The rest

    def last_transaction(self) -> int:
        """Return the number of the last commit by any process; -1 while that cannot be told."""
        return -1 if self._lost else int(self._env.info()["last_txnid"])

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

    def _open(self, map_bytes: int, least_bytes: int) -> None:
        """Open the file.

        Where the system does not allow so much address space, about a quarter of what it allows is mapped,
        since threads and all else of the program need some, too, but no less than *least_bytes*.
        """
        self._env, allowed_bytes = self._open_file(map_bytes, least_bytes)
        try:
            if allowed_bytes < map_bytes:
                self._env.set_mapsize(max(allowed_bytes // 4, least_bytes))
            self._map_bytes = int(self._env.info()["map_size"])  # more, if the file is larger
            self._env.reader_check()
            #: The databases of the index by their names.
            self.databases: dict[str, Any] = {name: self._env.open_db(name.encode()) for name in DATABASES}
        except lmdb.Error as error:
            self._env.close()
            raise unavailable(self.path, error, "written") from error

    def _open_file(self, map_bytes: int, least_bytes: int) -> tuple[lmdb.Environment, int]:
        """Open the file; try again with a smaller map, or a moment later if another process is just at it."""
        for attempt in range(OPENINGS):
            try:
                environment = lmdb.open(
                    os.fsencode(self.path),  # which takes names that are no text, too
                    map_size=map_bytes,
                    max_dbs=len(DATABASES),
                    max_readers=MAX_READERS,
                    sync=not self.scratch,
                    metasync=False,
                    writemap=False,
                    meminit=False,
                    readahead=self._readahead,
                    lib_version=0,
                )
            except (lmdb.Error, OSError, MemoryError) as error:  # noqa: PERF203
                if isinstance(error, (lmdb.MemoryError, MemoryError)) and map_bytes > least_bytes:
                    map_bytes //= 2  # there is a limit on address space
                elif isinstance(error, lmdb.InvalidParameterError) and attempt < BUSY_OPENINGS:
                    time.sleep(random.uniform(0.001, 0.02))
                elif any(other.forked and other.path == self.path for other in list(_environments)):
                    # LMDB takes the parent's environment for one that this process has open.
                    raise IndexUnavailable(FORKED) from error
                else:
                    raise unavailable(self.path, error, "opened") from error
            else:
                return environment, map_bytes
        raise AssertionError

    def _reopen(self, map_bytes: int = 0, least_bytes: int = 0) -> None:
        """Close the file and open it again, mapped as before unless a size is given.

        LMDB maps all that is in use, so this sees what others have added, too. Raises `IndexUnavailable` if
        the file is gone.
        """
        self._lost = True
        self._env.close()
        if not (self.path / DATA).is_file():  # LMDB would make a new one
            raise IndexUnavailable(
                f"The file of the index in {self.path} is gone: close the index and open it again."
            )
        self._open(map_bytes or self._map_bytes, least_bytes or self.tuning.min_map_bytes)
        self._lost = False

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


def _before_fork() -> None:
    """Take all locks: a lock that another thread holds would stay locked for ever in the child."""
    _held[:] = [environment.lock for environment in list(_environments)]
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    """Release the locks that `_before_fork` has taken."""
    for lock in _held:
        lock.release()
    _held.clear()


def _after_fork_in_child() -> None:
    """Release the locks, and keep the parent's environments and transactions from being finalised here."""
    _after_fork()
    _inherited.extend((environment, environment.leave()) for environment in _environments)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
