"""Opening an index for a command, describing and compacting it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexUnavailable

from .blocks import encode_block
from .check import find_problems
from .compaction import merge_all
from .directory import LOCK, USERS, file_lock, is_index, is_noted, is_unfinished, read_sidecar, shared_use
from .environment import Environment
from .faults import DATA, corrupted
from .layout import number_key, read_header
from .snapshot import count_documents, live_documents, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header, Stored

    from .snapshot import Snapshot


#: The folder of a Scrapy project in which a relative NEARDUP_DIR is.
PROJECT = ".scrapy"


def require_index(path: Path) -> None:
    """Raise `IndexUnavailable` or `IndexCorrupted` unless there is an index in *path*. Nothing is created."""
    try:
        known = read_sidecar(path) if is_noted(path) else None
        exists = (path / DATA).is_file()
        filled = exists and (path / DATA).stat().st_size > 0 and not is_unfinished(path)
    except OSError as error:
        raise IndexUnavailable(
            f"The index in {path} cannot be read ({error.strerror}): change its permissions."
        ) from error
    if not filled and known is not None:
        state = "empty" if exists else "missing"
        raise corrupted(path / DATA, f"it is {state} and should hold {known} documents")
    if not filled or (known is None and not is_index(path)):
        there = path.parent / PROJECT / path.name
        remedy = f"name {there}" if (there / DATA).is_file() else "name the directory of an index"
        raise IndexUnavailable(f"There is no index in {path}: {remedy}.")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the index in directory *path*, which other processes may use meanwhile, but not this one."""
    require_index(path)
    with shared_use(path, reset=False), environment_of(path) as (environment, header):
        yield environment, header


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep all others from opening the index in *path*. Raises `IndexUnavailable` if it is open somewhere."""
    require_index(path)
    with file_lock(path / USERS, wait=False) as held:
        if not held:
            raise IndexUnavailable(
                f"The index in {path} is in use: stop the crawls and commands that use it first."
            )
        yield


def require_sound(environment: Environment, header: Header, progress: Callable[[int, int], None]) -> None:
    """Check the index, and raise `IndexCorrupted` for its first problem: merging could make it worse."""
    problem = next(find_problems(environment, header, progress), None)
    if problem is not None:
        raise corrupted(environment.path / DATA, f"{problem.where}: {problem.what.rstrip('.')}")


@contextlib.contextmanager
def environment_of(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the environment of the index in *path*; the caller has seen to it that it may be used."""
    environment = Environment(path, readahead=True)
    try:
        with environment.read() as transaction:
            header = read_header(environment, transaction)
        if header is None:
            raise corrupted(path / DATA, "it has no header")
        yield environment, header
    finally:
        environment.close()


def describe(path: Path, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return numbers and parameters of the index in *path*, by name, ready for JSON.

    *progress* is called with the documents read so far, and how many there are. Raises as `opened` does.
    """
    with opened(path) as (environment, header), reading(environment, header) as reader:
        documents = count_documents(reader)
        times = _times(reader, progress) if "time" in (header.dtype.names or ()) else (None, None)
        return {
            "path": str(path),
            "uuid": header.uuid,
            "format": header.format,
            "created": header.created,
            **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
            "tables": [len(family.tables) for family in header.families],
            "documents": documents,
            "oldest": times[0],
            "newest": times[1],
            "added": reader.state.next,
            "removed": len(reader.dead),
            "backlog": reader.state.next - reader.state.flushed,
            "runs": [
                {"id": run.id, "start": run.start, "stop": run.stop, "documents": run.documents}
                for run in reader.state.runs
            ],
            **_space(environment, documents),
            "bytes_file": (path / DATA).stat().st_size,
            "bytes_disk_free": shutil.disk_usage(path).free,
        }


def _times(reader: Snapshot, progress: Callable[[int, int], None]) -> tuple[str | None, str | None]:
    """Return when the oldest and the newest document were stored, in ISO 8601; None for an empty index."""
    oldest, newest = [], []
    for numbers, documents in live_documents(reader, progress):
        if len(numbers):
            oldest.append(int(documents.records["time"].min()))
            newest.append(int(documents.records["time"].max()))
    if not oldest:
        return None, None
    first, last = (
        datetime.fromtimestamp(time, timezone.utc).isoformat() for time in (min(oldest), max(newest))
    )
    return first, last


def _space(environment: Environment, documents: int) -> dict[str, Any]:
    """Return how many bytes of the file are used, and for what."""
    with environment.read() as transaction:
        used = {}
        for name, database in environment.databases.items():
            stat = transaction.stat(database)
            pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
            used[name] = pages * stat["psize"]
        size = environment.size()
    return {
        "bytes_used": size,
        "bytes_per_document": round(size / documents, 1) if documents else None,
        "bytes_log": used["log"],
        "bytes_documents": used["documents"],
        "bytes_tables": used["runs"],
        "bytes_reusable": max(0, size - sum(used.values())),
    }


#: The name of a directory for a copy begins so. One that is still there was left by a process that died.
PREFIX = "compact-"


def compact(path: Path, progress: Callable[[int, int], None]) -> tuple[int, int]:
    """Merge all runs of the index in *path* and rewrite its file without removed documents.

    Returns its bytes before, after. The new file takes the place of the old one in one step, once it is on
    disk. The index is checked first, and *progress* is called with what that has done and with the total.
    Raises `IndexUnavailable` while others use the index, `IndexCorrupted` if the check finds something.
    """
    with alone(path):
        for left in path.glob(f"{PREFIX}*"):
            shutil.rmtree(left)
        before = (path / DATA).stat().st_size
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=path) as folder:
            copy = Path(folder, DATA)
            with environment_of(path) as (environment, header):
                require_sound(environment, header, progress)
                for _ in merge_all(environment, header):
                    pass
                _purge(environment, header)
                try:
                    environment.copy(Path(folder))
                except lmdb.Error as error:
                    raise IndexUnavailable(
                        f"The index in {path} cannot be copied ({error}): free space on its disk."
                    ) from error
            take_place(copy, path / DATA)
        (path / LOCK).unlink(missing_ok=True)  # it describes the old file
        return before, (path / DATA).stat().st_size


def _purge(environment: Environment, header: Header) -> None:
    """Take removed documents out of the blocks of runs.

    A block that holds no others is deleted, but for the last one of a run, from which the age of the run is
    read. In the other blocks blanks take their places, so that the other documents keep their numbers.
    """
    batch: list[tuple[bytes, bytes | None]] = []
    size = 0

    def work(transaction: lmdb.Transaction) -> None:
        for key, value in batch:
            if value is None:
                transaction.delete(key, db=environment.databases["documents"])
            else:
                transaction.put(key, value, db=environment.databases["documents"])

    with reading(environment, header) as reader:
        for run in reader.state.runs:
            alive = reader.held(run)
            for first, documents in reader.blocks(run.start, run.stop):
                stop = first + len(documents.urls)
                gone = np.flatnonzero(~alive[first - run.start : stop - run.start])
                if not len(gone):
                    continue
                value = None if len(gone) == stop - first < run.stop - first else _blanked(documents, gone)
                batch.append((number_key(first), value))
                size += len(value or b"")
                if size >= environment.tuning.transaction_bytes:
                    environment.write(work)
                    batch, size = [], 0
    environment.write(work)


def _blanked(documents: Stored, rows: NDArray[np.int64]) -> bytes:
    """Return the block of *documents*, with zeros, an empty URL and an empty note in the place of *rows*."""
    documents.records[rows] = np.zeros((), documents.records.dtype)
    for row in rows.tolist():
        documents.urls[row], documents.notes[row] = "", b""
    return encode_block(documents)


def take_place(copy: Path, data: Path) -> None:
    """Replace the file *data* by *copy*, with the same owner and permissions.

    It is on disk before it gets the name.
    """
    old, new = data.stat(), copy.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(copy, old.st_uid, old.st_gid)
        except PermissionError as error:
            raise IndexUnavailable(
                f"The file {data} belongs to another user or group: compact it as that user."
            ) from error
    shutil.copymode(data, copy)
    _sync(copy)
    copy.replace(data)
    if os.name == "posix":
        _sync(data.parent)


def _sync(path: Path) -> None:
    """Return once the file or directory *path* is on disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
