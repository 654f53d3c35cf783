"""The LMDB environment of an index: its transactions, its locks, and all sizes and times."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from scrapy_neardup.errors import IndexUnavailable

from .directory import (
    DATA,
    LOCK,
    MERGE,
    check_data_file,
    check_directory,
    file_lock,
    last_commit,
    reserve,
    translated,
)

Result = TypeVar("Result")

#: The databases of an index, see `layout`.
DATABASES = ("meta", "log", "documents", "runs", "dead")
#: So many processes and threads can read an index at a time.
MAX_READERS = 1024
#: Opening the file may fail so often because another process opens or closes it at the same moment.
BUSY_OPENINGS = 50
FORKED = (
    "The index was opened before a fork, which LMDB does not survive: close it before the fork, or start "
    'child processes by multiprocessing\'s method "spawn" or "forkserver".'
)

#: All environments that were opened in this process or, after a fork, by its parent.
_environments: weakref.WeakSet[Environment] = weakref.WeakSet()
#: In a child: what the parent had open, kept so that it is never finalised.
_inherited: list[object] = []


@dataclass(frozen=True, slots=True)
class Tuning:
    """Sizes and times of an index that are not part of its format. Tests make all of them small."""

    #: A group commit holds at most so many documents, and a confirmed one waits at most so long for it. What
    #: waits is forgotten by a crash.
    group_documents: int = 1000
    group_seconds: float = 0.5
    #: A failed commit is tried again after so long, maintenance that has failed after the other.
    commit_retry_seconds: float = 2.0
    upkeep_retry_seconds: float = 30.0
    #: So many documents are kept while the disk cannot be written; of more the oldest are forgotten.
    backlog_documents: int = 100_000
    #: Flushing and closing wait so long for the disk. What fails while closing is tried again so long.
    disk_wait_seconds: float = 10.0
    closing_seconds: float = 10.0
    #: The log is flushed into a run when it holds so many documents, which are in memory until then: in
    #: columns of so many rows.
    flush_documents: int = 1 << 14
    rows: int = 1 << 14
    #: A transaction of the maintenance writes or deletes so many values. Other writers wait for it.
    transaction_values: int = 10
    #: Documents in a block of a run, and entries in a partition, about: 384 KB fit in among freed pages.
    block_documents: int = 1 << 11
    partition_entries: int = 1 << 15
    #: Address space for the file, which it cannot outgrow: what the system allows, no less than the second.
    map_bytes: int = 1 << 40
    min_map_bytes: int = 1 << 26
    #: A snapshot remembers where so many partitions are, at some 2 KB each.
    partitions: int = 1 << 15
    #: The temporary numbers of so many documents still lead to them once they have their numbers on disk.
    aliases: int = 1 << 16
    #: So many keys are looked up one by one. More of them NumPy looks up faster, partition by partition.
    few_keys: int = 16
    #: So many candidates are compared at a time, which bounds the memory of a batch (8 M take some 200 MB).
    candidates_at_once: int = 1 << 23


#: The values for crawls.
DEFAULT = Tuning()


class Environment:
    """The open LMDB environment of the index in directory *path*, or of a scratch index if that is None.

    *create* makes its data file if there is none. Raises `IndexUnavailable` or `IndexCorrupted`. Any thread
    may call the methods. Locks are taken in this order: `compaction_lock`, `lock`, then the one of a write
    transaction.
    """

    def __init__(
        self, path: Path | None, tuning: Tuning = DEFAULT, create: Callable[[Path], None] | None = None
    ) -> None:
        self.scratch = path is None
        self.tuning = tuning
        self.path = Path(tempfile.mkdtemp(prefix="neardup-")) if path is None else path
        self._data = self.path / DATA
        #: Held by the thread that maintains the index, as long as that takes.
        self.compaction_lock = threading.RLock()
        #: Held during each search and each change of the memtable.
        self.lock = threading.RLock()
        #: All snapshots, whose transactions a forked child must not end.
        self.readers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._writing = threading.RLock()
        #: Whether this is a child of the process that opened it, which must not use it.
        self.forked = False
        try:
            with translated(self.path, "opened"):
                if path is not None:
                    check_directory(path)
                if create is not None and not self._data.exists():
                    with file_lock(self.path / MERGE, wait=True):  # nobody else makes one meanwhile
                        if not self._data.exists():
                            create(self.path)
                check_data_file(self._data)
                reserve(self.path / LOCK, (MAX_READERS + 2) * 64)
                self._open()
        finally:
            if self.scratch:
                # Nobody else opens it. A file without a name is gone with the process, however that ends.
                shutil.rmtree(self.path, ignore_errors=True)
        _environments.add(self)

    def read(self) -> lmdb.Transaction:
        """Begin a read transaction, whose values are views of the memory map."""
        self.require_same_process()
        return self.env.begin(buffers=True)

    def write(self, work: Callable[[lmdb.Transaction], Result]) -> Result:
        """Run *work* in a write transaction, which waits for those of others; returns what it returns."""
        self.require_same_process()
        with self._writing:
            with self.env.begin(write=True, buffers=True) as transaction:
                result = work(transaction)
            with contextlib.suppress(OSError):  # as if somebody has deleted the file
                self._lengthen()
        return result

    def _lengthen(self) -> None:
        """Give the file the length that its last page says, by which a file that was cut short is told.

        LMDB leaves out pages that a transaction has taken from the end and given back.
        """
        if not self.scratch and self._data.stat().st_size < self.size():
            with self.env.begin(write=True):  # keeps others from writing
                if self._data.stat().st_size < self.size():
                    os.truncate(self._data, self.size())

    def size(self) -> int:
        """Return how many bytes of the file are in use."""
        return int((self.env.info()["last_pgno"] + 1) * self._page)

    def close(self) -> None:
        with self._writing:
            self.env.close()

    def require_same_process(self) -> None:
        """Raise `IndexUnavailable` in a child of the process that opened the environment."""
        if self.forked:
            raise IndexUnavailable(FORKED)

    def _open(self) -> None:
        """Open the file; where address space is limited, map a quarter of that: all else needs some, too."""
        map_bytes, busy = self.tuning.map_bytes, 0
        while True:
            try:
                #: What is asked of LMDB itself.
                self.env = lmdb.open(
                    os.fsencode(self.path),  # which takes names that are no text, too
                    map_size=map_bytes,
                    max_dbs=len(DATABASES),
                    max_readers=MAX_READERS,
                    sync=not self.scratch,  # else a power cut can corrupt the file, as with `writemap`
                    metasync=False,  # so it undoes at most the last commit
                    writemap=False,
                    meminit=False,
                    readahead=False,
                    lib_version=0,
                )
                break
            except (lmdb.MemoryError, MemoryError):
                if map_bytes <= self.tuning.min_map_bytes:
                    raise
                map_bytes //= 2
            except lmdb.InvalidParameterError:
                busy += 1
                if busy > BUSY_OPENINGS:
                    raise
                time.sleep(random.uniform(0.001, 0.02))
        try:
            if map_bytes < self.tuning.map_bytes:
                self.env.set_mapsize(max(map_bytes // 4, self.tuning.min_map_bytes))
            self.env.reader_check()
            self._page = self.env.stat()["psize"]
            #: The databases of the index by their names.
            self.databases: dict[str, Any] = {
                name: self.env.open_db(name.encode(), create=False) for name in DATABASES
            }
            #: Returns the number of the last commit by any process.
            self.last_commit = last_commit(self._data, self._page)
        except BaseException:
            self.env.close()
            raise


def _after_fork_in_child() -> None:
    """Free the locks; keep transactions from being finalised here, which would free those of the parent."""
    for environment in _environments:
        environment.forked = True
        environment.lock._at_fork_reinit()  # type: ignore[attr-defined]  # as the logging module does
        _inherited.extend([environment, *(reader.leave() for reader in environment.readers)])


os.register_at_fork(after_in_child=_after_fork_in_child)
