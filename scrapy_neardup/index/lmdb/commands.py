"""Opening an index for a command, describing it, compacting it, repairing it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexMismatch, IndexUnavailable
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.tables import NO_KEY

from .check import Reader, find_problems
from .compaction import merge_all
from .directory import (
    DATA,
    LOCK,
    USERS,
    corrupted,
    file_lock,
    is_index,
    read_sidecar,
    shared_use,
    translated,
    whole_size,
    write_sidecar,
)
from .environment import Environment
from .index import LmdbIndex
from .layout import encode_block, number_key, read_header
from .runs import write
from .snapshot import count_documents, live_documents, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header

    from .layout import Run
    from .runs import Item
    from .snapshot import Snapshot


#: The folder of a Scrapy project in which a relative NEARDUP_DIR is.
PROJECT = ".scrapy"
#: The name of a directory for a new file begins so. One that is still there was left by a process that died.
PREFIX = "rewritten-"


def require_index(path: Path) -> None:
    """Raise `IndexUnavailable` or `IndexCorrupted` unless there is an index in *path*. Nothing is created."""
    try:
        known = read_sidecar(path) if is_index(path) else None
        exists = (path / DATA).is_file()
        filled = exists and (path / DATA).stat().st_size > 0
    except OSError as error:
        raise IndexUnavailable(
            f"The index in {path} cannot be read ({error.strerror}): change its permissions."
        ) from error
    if not filled and known is not None:
        state = "empty" if exists else "missing"
        raise corrupted(path / DATA, f"it is {state} and should hold {known} documents")
    if known is None:
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


def require_sound(environment: Environment, header: Header, progress: Callable[[int, int], None]) -> None:
    """Check the index, and raise `IndexCorrupted` for its first problem: merging could make it worse."""
    problem = next(find_problems(environment, header, progress), None)
    if problem is not None:
        raise corrupted(environment.path / DATA, f"{problem.where}: {problem.what.rstrip('.')}")


def describe(path: Path, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Return numbers and parameters of the index in *path*, by name, ready for JSON.

    *progress* is called with the documents read so far, and how many there are. Raises as `opened` does.
    """
    with opened(path) as (environment, header), reading(environment, header) as reader:
        documents, state = count_documents(reader), reader.state
        oldest, newest = _times(reader, progress) if "time" in (header.dtype.names or ()) else (None, None)
        used, size = _bytes_used(environment), environment.size()
        return {
            "path": str(path),
            "uuid": header.uuid,
            "format": header.format,
            "created": header.created,
            **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
            "tables": [len(family.tables) for family in header.families],
            "documents": documents,
            "oldest": oldest,
            "newest": newest,
            "added": state.next,
            "removed": len(reader.dead),
            "backlog": state.next - state.flushed,
            "runs": [
                {"id": run.id, "start": run.start, "stop": run.stop, "documents": run.documents}
                for run in state.runs
            ],
            "bytes_used": size,
            "bytes_per_document": round(size / documents, 1) if documents else None,
            "bytes_log": used["log"],
            "bytes_documents": used["documents"],
            "bytes_tables": used["runs"],
            "bytes_reusable": max(0, size - sum(used.values())),
            "bytes_file": (path / DATA).stat().st_size,
            "bytes_disk_free": shutil.disk_usage(path).free,
        }


def _times(reader: Snapshot, progress: Callable[[int, int], None]) -> tuple[str | None, str | None]:
    """Return when the oldest and the newest document were stored, in ISO 8601; None for an empty index."""
    times: list[int] = []
    for numbers, documents in live_documents(reader, progress):
        if len(numbers):
            times += [int(documents.records["time"].min()), int(documents.records["time"].max())]
    if not times:
        return None, None
    first, last = (datetime.fromtimestamp(time, timezone.utc) for time in (min(times), max(times)))
    return first.isoformat(), last.isoformat()


def _bytes_used(environment: Environment) -> dict[str, int]:
    """Return how many bytes of the file each database uses."""
    with environment.read() as transaction:
        stats = {name: transaction.stat(each) for name, each in environment.databases.items()}
    return {
        name: (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]) * stat["psize"]
        for name, stat in stats.items()
    }


def compact(path: Path, progress: Callable[[int, int], None]) -> tuple[int, int]:
    """Merge all runs of the index in *path* and rewrite its file without removed documents.

    Returns its bytes before, after. The new file takes the place of the old one in one step, once it is on
    disk. The index is checked first, and *progress* is called with what that has done and with the total.
    Raises `IndexUnavailable` while others use the index, `IndexCorrupted` if the check finds something.
    """
    with _rewriting(path) as folder:
        before = (path / DATA).stat().st_size
        with environment_of(path) as (environment, header):
            require_sound(environment, header, progress)
            for _ in merge_all(environment, header):
                pass
            with reading(environment, header) as reader:
                for _ in write(environment, _purged(reader)):
                    pass
            try:
                environment.copy(folder)
            except lmdb.Error as error:
                raise IndexUnavailable(
                    f"The index in {path} cannot be copied ({error}): free space on its disk."
                ) from error
        _take_place(folder / DATA, path / DATA)
        return before, (path / DATA).stat().st_size


@contextlib.contextmanager
def _rewriting(path: Path) -> Iterator[Path]:
    """Keep all others from opening the index in *path*; yields a new folder beside its file.

    Raises `IndexUnavailable` if it is open somewhere.
    """
    require_index(path)
    with file_lock(path / USERS, wait=False) as held:
        if not held:
            raise IndexUnavailable(
                f"The index in {path} is in use: stop the crawls and commands that use it first."
            )
        for left in path.glob(f"{PREFIX}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=path) as folder:
            yield Path(folder)


def _purged(reader: Snapshot) -> Iterator[Item]:
    """Yield the blocks of runs that hold removed documents, with blanks in their places."""
    for run in reader.state.runs:
        alive = reader.held(run)
        for first, documents in reader.blocks(run.start, run.stop):
            gone = np.flatnonzero(~alive[first - run.start : first - run.start + len(documents.urls)])
            documents.records[gone] = np.zeros((), documents.records.dtype)
            for row in gone.tolist():
                documents.urls[row], documents.notes[row] = "", b""
            if len(gone):
                yield "documents", number_key(first), encode_block(documents, number_key(first))


def _take_place(copy: Path, data: Path) -> None:
    """Replace the file *data* by *copy*, with the same owner and permissions.

    It is on disk before it gets the name.
    """
    old, new = data.stat(), copy.stat()
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(copy, old.st_uid, old.st_gid)
        except PermissionError as error:
            raise IndexUnavailable(
                f"The file {data} belongs to another user or group: rewrite it as that user."
            ) from error
    shutil.copymode(data, copy)
    _sync(copy)
    copy.replace(data)
    if os.name == "posix":
        _sync(data.parent)
    (data.parent / LOCK).unlink(missing_ok=True)  # it describes the old file


def _sync(path: Path) -> None:
    """Return once the file or directory *path* is on disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Repaired:
    """What was kept and what is lost, in numbers of documents."""

    documents: int
    gone: int
    #: Whether documents that were removed are back, since it cannot be read which those were.
    revived: bool
    #: Where the damaged file is now.
    kept: Path


def repair(path: Path) -> Repaired:
    """Copy what can be read of the index in *path* into a new file, and that into the place of the old one.

    The old file is kept under another name. Raises `IndexUnavailable` while others use the index, and
    `IndexCorrupted` if nothing can be saved; then all stays as it was.
    """
    with translated(path, "repaired"), _rewriting(path) as folder:
        source, target = folder / "source", folder / "target"
        source.mkdir()
        shutil.copyfile(path / DATA, source / DATA)
        # Beyond the end of a file that was cut short processes die: what is missing reads as zeros.
        os.truncate(source / DATA, whole_size(path / DATA))
        try:
            # What LMDB reads of a damaged file may end the process.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                found = pool.submit(_copy_sound, source, target).result()
        except BrokenProcessPool as error:
            raise corrupted(path / DATA, "nothing can be saved: reading it ends the process") from error
        except (IndexCorrupted, IndexMismatch) as error:
            raise corrupted(path / DATA, f"nothing can be saved: {error}") from error
        with environment_of(target) as (environment, header):
            require_sound(environment, header, lambda *_: None)
        kept = next(name for each in range(1, 1 << 30) if not (name := path / f"damaged-{each}.mdb").exists())
        os.link(path / DATA, kept)
        _take_place(target / DATA, path / DATA)
        write_sidecar(path, header.uuid, found.documents)
        return replace(found, kept=kept)


def _copy_sound(source: Path, target: Path) -> Repaired:
    """Copy what can be read of the index in *source* into a new one in *target*.

    Raises `IndexCorrupted`, and `IndexMismatch` for an index of bare fingerprints.
    """
    with translated(source, "read"), environment_of(source) as (environment, header):
        if len(header.families) == 1:
            raise IndexMismatch("it holds bare fingerprints, whose numbers would change: add them anew")
        with environment.read() as transaction, contextlib.closing(LmdbIndex(target, header)) as index:
            reader = Reader(environment, header, transaction)
            state, dead = reader.state, reader.dead()
            whole = state.next - len(dead) - (state.runs[0].start if state.runs else state.flushed)
            for run in state.runs:
                whole -= run.stop - run.start - run.documents
                for part in _sound(reader, run, dead):
                    index.add(part)
            for first, documents in reader.blocks("log", state.flushed, state.next):
                numbers = np.arange(first, first + len(documents.urls))
                index.add(documents.take(np.flatnonzero(~np.isin(numbers, dead))))
            kept = index.gauges()["documents"]
    unread = "dead" in reader.broken or any(f"run {run.id}" in reader.broken for run in state.runs)
    return Repaired(kept, max(0, whole - kept), unread, source)


def _sound(reader: Reader, run: Run, dead: NDArray[np.int64]) -> Iterator[Documents]:
    """Yield what is left of *run*: the documents whose block is whole and whose fingerprint is in a table.

    Keys are in the tables alone. Those of a family that cannot be read are missing.
    """
    header, size = reader.header, run.stop - run.start
    keys = np.full((header.keys, size), NO_KEY)
    alive = np.ones(size, bool)
    for family, rows, first in zip(header.families, header.rows, header.first_table, strict=False):
        kind = np.dtype([("row", "<i8"), ("key", "<u8")])
        parts = [np.empty(0, kind)]
        for table in range(len(family.tables)):
            for entries in reader.entries(run, first + table, run.cut(family)):
                part = np.empty(len(entries.keys), kind)
                part["row"] = entries.documents.astype(np.int64) - run.start
                part["key"] = family.tables.restore(table, entries.keys)
                parts.append(part)
        found = np.unique(np.concatenate(parts))
        nth = np.arange(len(found)) - found["row"].searchsorted(found["row"])
        if family.keys == 1:
            keys[rows] = np.arange(run.start, run.stop)  # a hash that no other document has
        keys[rows][nth, found["row"]] = found["key"]
        if not family.equal:
            alive &= np.bincount(found["row"], minlength=size) > 0
    held = reader.held(run)
    alive &= np.ones(size, bool) if held is None else held
    alive[dead[(dead >= run.start) & (dead < run.stop)] - run.start] = False
    for number, documents in reader.blocks("documents", run.start, run.stop):
        row = number - run.start
        left = Documents(keys[:, row : row + len(documents.urls)], *documents.stored)
        yield left.take(np.flatnonzero(alive[row : row + len(documents.urls)]))
