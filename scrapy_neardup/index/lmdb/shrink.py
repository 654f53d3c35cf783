"""Compacting an index that nobody uses: its space is given back to the disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexUnavailable

from .blocks import encode_block
from .compaction import merge_all
from .data_file import DATA
from .directory import LOCK
from .layout import number_key
from .offline import alone, environment_of, reading_ahead, require_sound
from .reading import reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header, Stored

    from .environment import Environment

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
                with reading_ahead(path / DATA):
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
