"""Giving the space of an index back to the disk."""

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
from .compaction import merge_all, reading
from .directory import DATA, LOCK
from .layout import number_key
from .offline import alone, environment_of, reading_ahead, require_sound
from .runs import STEP
from .traversal import sound_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from scrapy_neardup.index import Header, Stored

    from .environment import Environment

#: Begins the names of the directories for copies; one that is left was of a process that died.
PREFIX = "compact-"


def compact(path: Path, progress: Callable[[int, int], None]) -> tuple[int, int]:
    """Merge all runs of the index in *path*, rewrite its file without what was removed; returns its bytes before, after.

    The copy takes the place of the file in one step, once it is on disk. *progress* is told about the check that
    comes first. Raises `IndexUnavailable` while others use the index, `IndexCorrupted` if the check finds something.
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
            _take_place(copy, path / DATA)
        (path / LOCK).unlink(missing_ok=True)  # it speaks of the old file
        return before, (path / DATA).stat().st_size


def _purge(environment: Environment, header: Header) -> None:
    """Take what was removed out of the log, whose numbers stay: blocks without it, or with blanks in its place.

    The last block of a run stays in any case, since the age of a run is that of its blocks.
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
            for first, documents in sound_blocks(reader, run.start, run.stop):
                stop = first + len(documents.urls)
                gone = np.flatnonzero(~alive[first - run.start : stop - run.start])
                if not len(gone):
                    continue
                value = None if len(gone) == stop - first < run.stop - first else _blanked(documents, gone)
                batch.append((number_key(first), value))
                size += len(value or b"")
                if size >= STEP:
                    environment.write(work)
                    batch, size = [], 0
    environment.write(work)


def _blanked(documents: Stored, rows: NDArray[np.int64]) -> bytes:
    documents.records[rows] = np.zeros((), documents.records.dtype)
    for row in rows.tolist():
        documents.urls[row] = ""
    return encode_block(documents)


def _take_place(copy: Path, data: Path) -> None:
    """Replace *data* by *copy*, which has to be on disk before its name is."""
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
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
