"""Commands on an index: opening, describing, checking, compacting it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import Header
from scrapy_neardup.index.header import damaged

from .compaction import Item, maintain, write
from .directory import (
    DATA,
    LOCK,
    NEW,
    USERS,
    check_data_file,
    file_lock,
    renamed,
    require_index,
    shared_use,
    translated,
)
from .environment import Environment
from .index import LmdbIndex
from .layout import Run, encode_block, number_key, read_header
from .snapshot import Snapshot, reading


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the index in directory *path*, which other processes may use meanwhile, but not this one."""
    require_index(path)
    with shared_use(path, reset=False), _environment_of(path) as (environment, header):
        yield environment, header


@contextlib.contextmanager
def _environment_of(path: Path) -> Iterator[tuple[Environment, Header]]:
    """Open the environment of the index in *path*; the caller has seen to it that it may be used."""
    with contextlib.closing(Environment(path)) as environment:
        yield environment, read_header(environment)


def describe(path: Path) -> dict[str, Any]:
    """Return numbers and parameters of the index in *path*, by name, ready for JSON. Raises as `opened`."""
    with opened(path) as (environment, header), reading(environment, header) as reader:
        state, size = reader.state, environment.size()
        backlog = state.next - state.flushed
        documents = state.documents
        return {
            "path": str(path),
            "uuid": header.uuid,
            "format": header.format,
            "created": header.created,
            **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
            "tables": header.first_table[-1],
            "documents": documents,
            "added": state.next,
            "removed": sum(run.removed for run in state.runs) + state.removed,
            "backlog": backlog,
            "runs": [run.documents for run in state.runs],
            "bytes_used": size,
            "bytes_per_document": round(size / documents, 1) if documents else None,
            "bytes_file": (path / DATA).stat().st_size,
            "bytes_disk_free": shutil.disk_usage(path).free,
        }


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that should not be; *what* is a sentence."""

    where: str
    what: str

    @classmethod
    def of(cls, where: str, error: Exception) -> Problem:
        """Return what the *error* of a reader says."""
        return cls(where, str(error).partition(": run ")[0].rstrip(".") + ".")


def check(index: LmdbIndex) -> Iterator[Problem]:
    """Yield the problems of an open index, as far as it is on disk."""
    return find_problems(index._environment, index.header)


def find_problems(environment: Environment, header: Header) -> Iterator[Problem]:
    """Yield the first problem of each run and of the log."""
    try:
        with reading(environment, header) as reader:
            state = reader.state
            borders = [*((run.start, run.stop) for run in state.runs), (state.flushed, state.next)]
            if state.flushed > state.next or any(one[1] != after[0] for one, after in pairwise(borders)):
                raise damaged("Its runs and its log do not follow each other")
            if state.removed != reader.dead.between(state.flushed, state.next).sum():
                raise damaged("Other documents of its log are marked as removed than it says")
            for run in (*state.runs, None):
                try:
                    if run is None:
                        deque(reader.whole_log(), 0)
                    else:
                        _verify(reader, run)
                except IndexCorrupted as error:  # noqa: PERF203  # each is told
                    yield Problem.of("log" if run is None else f"run {run.id}", error)
    except IndexCorrupted as error:
        yield Problem.of("state", error)


def _verify(reader: Snapshot, run: Run) -> None:
    """Raise `IndexCorrupted` unless each document that *run* holds is in a block, and in each table."""
    header, missing, expected = reader.header, ~reader.dead.between(run.start, run.stop), run.start
    if missing.sum() != run.documents - run.removed:
        raise damaged(f"{missing.sum()} documents are left and not {run.documents - run.removed}")
    for first, stored in reader.blocks(run.start, run.stop):
        if first < expected or (expected := first + len(stored.urls)) > run.stop:
            raise damaged(f"The block of document {first} overlaps another")
        missing[first - run.start : expected - run.start] = False
    if missing.any():
        raise damaged(f"{missing.sum()} documents are missing, the first {run.start + missing.argmax()}")
    for family, first in zip(header.families, header.first_table, strict=False):
        most, cut, fewer = run.documents * family.keys, run.cut(family), family.equal and family.keys > 1
        for table in range(first, first + len(family.tables)):
            count = 0
            for partition in range(1 << cut):
                entries = reader.partition(run, cut, table, partition, check=True).entries
                count += len(entries.documents)
                if ((entries.documents < run.start) | (entries.documents >= run.stop)).any():
                    raise damaged(f"Table {table} has documents of another run")
            if count > most or (count < most and not fewer):  # a document may lack some of several keys
                raise damaged(f"Table {table} has {count} entries of {run.documents} documents")


def compact(path: Path) -> tuple[int, int]:
    """Merge all runs of the index in *path* and rewrite its file without removed documents, in one step.

    Returns its bytes before, after. Raises `IndexUnavailable` while others use it, `IndexCorrupted`.
    """
    require_index(path)
    data = path / DATA
    with file_lock(path / USERS, wait=False) as held:
        if not held:
            raise IndexUnavailable(f"The index in {path} is in use: stop what uses it first.")
        check_data_file(data)
        before = data.stat().st_size
        with translated(path, "compacted"):
            with renamed(path / NEW, data, sync=True) as new:
                with _environment_of(path) as (environment, header), new.open("wb") as file:
                    for _ in maintain(environment, header, wait=True, whole=True):
                        pass
                    with reading(environment, header) as reader:
                        for _ in write(environment, _purged(reader)):
                            pass
                    environment.env.copyfd(file.fileno(), compact=True)
                shutil.copymode(data, new)
                with contextlib.suppress(PermissionError):  # another user's file
                    os.chown(new, data.stat().st_uid, data.stat().st_gid)
            (path / LOCK).unlink(missing_ok=True)  # it describes the old file
        return before, data.stat().st_size


def _purged(reader: Snapshot) -> Iterator[Item]:
    """Yield the blocks of runs that hold removed documents, with blanks in their places."""
    for run in reader.state.runs:
        for first, documents in reader.blocks(run.start, run.stop):
            gone = np.flatnonzero(reader.dead.between(first, first + len(documents.urls)))
            documents.records[gone] = np.zeros((), documents.records.dtype)
            for row in gone.tolist():
                documents.urls[row], documents.notes[row] = "", b""
            if len(gone):
                yield "documents", number_key(first), encode_block(documents, number_key(first))
