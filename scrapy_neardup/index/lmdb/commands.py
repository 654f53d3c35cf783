"""Opening an index for a command, describing it, compacting it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.errors import IndexUnavailable

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
)
from .environment import Environment
from .layout import encode_block, number_key, read_header
from .runs import write
from .snapshot import count_documents, live_documents, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_neardup.index import Header

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
    with shared_use(path, reset=False), _environment_of(path) as (environment, header):
        yield environment, header


@contextlib.contextmanager
def _environment_of(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the environment of the index in *path*; the caller has seen to it that it may be used."""
    environment = Environment(path)
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
        documents, state = count_documents(reader), reader.state
        times: list[int] = []
        if "time" in (header.dtype.names or ()):
            for _, some in live_documents(reader, progress):
                if len(some.urls):
                    times += [int(some.records["time"].min()), int(some.records["time"].max())]
        return {
            "path": str(path),
            "uuid": header.uuid,
            "format": header.format,
            "created": header.created,
            **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
            "tables": [len(family.tables) for family in header.families],
            "documents": documents,
            "oldest": _iso(min(times, default=None)),
            "newest": _iso(max(times, default=None)),
            "added": state.next,
            "removed": len(reader.dead),
            "backlog": state.next - state.flushed,
            "runs": [run.documents for run in state.runs],
            "bytes_used": environment.size(),
            "bytes_per_document": round(environment.size() / documents, 1) if documents else None,
            "bytes_file": (path / DATA).stat().st_size,
            "bytes_disk_free": shutil.disk_usage(path).free,
        }


def _iso(time: int | None) -> str | None:
    return None if time is None else datetime.fromtimestamp(time, timezone.utc).isoformat()


def compact(path: Path) -> tuple[int, int]:
    """Merge all runs of the index in *path* and rewrite its file without removed documents.

    Returns its bytes before, after. The new file takes the place of the old one in one step, once it is on
    disk. Raises `IndexUnavailable` while others use the index, `IndexCorrupted` if it reads damage.
    """
    require_index(path)
    data = path / DATA
    with file_lock(path / USERS, wait=False) as held:
        if not held:
            raise IndexUnavailable(
                f"The index in {path} is in use: stop the crawls and commands that use it first."
            )
        for left in path.glob(f"{PREFIX}*"):
            shutil.rmtree(left)
        before = data.stat().st_size
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=path) as folder, translated(path, "compacted"):
            with _environment_of(path) as (environment, header):
                for _ in merge_all(environment, header):
                    pass
                with reading(environment, header) as reader:
                    for _ in write(environment, _purged(reader)):
                        pass
                environment.copy(Path(folder))
            copy = Path(folder, DATA)
            shutil.copymode(data, copy)
            with contextlib.suppress(PermissionError):  # another user's file
                os.chown(copy, data.stat().st_uid, data.stat().st_gid)
            _sync(copy)
            copy.replace(data)
            _sync(path)
            (path / LOCK).unlink(missing_ok=True)  # it describes the old file
        return before, data.stat().st_size


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


def _sync(path: Path) -> None:
    """Return once the file or directory *path* is on disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
