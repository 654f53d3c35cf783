"""Rebuilding a damaged index: what can be read of it goes into a new one, which takes its place.

A document is kept if its block is whole and its fingerprint is known. Each table of a family files all
documents, so one tells what another has lost. What LMDB reads of a damaged file may end the process: so
another process reads a copy.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted, IndexMismatch
from scrapy_neardup.index.decoding import UNREADABLE
from scrapy_neardup.index.protocol import Documents
from scrapy_neardup.index.tables import NO_KEY

from .blocks import decode_block, decode_logged, decode_partition
from .check import partition_fault, state_faults
from .commands import alone, environment_of, require_sound, take_place
from .directory import LOCK, whole_size, write_sidecar
from .faults import DATA, corrupted, translated
from .index import LmdbIndex
from .layout import HELD, decode_held, key_number, number_key, partition_key, read_removed, read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header
    from scrapy_neardup.index.protocol import Stored
    from scrapy_neardup.index.tables import Family

    from .environment import Environment
    from .layout import Run

    #: Returns keys that follow from what is stored of documents, by the number of their family: uint64[n].
    Derive = Callable[[Stored, Header], dict[int, NDArray[np.uint64]]]

#: What a block holds: `Stored` in a run, `Documents` in the log.
Some = TypeVar("Some", "Stored", Documents)
#: The name of a directory for a new file begins so; the damaged file is kept under a name that begins so.
PREFIX, KEPT = "repair-", "damaged-"
#: What reading a damaged database may raise.
BROKEN = (lmdb.Error, IndexCorrupted, *UNREADABLE)


@dataclass(frozen=True)
class Rebuilt:
    """What was kept and what is lost, in numbers of documents."""

    documents: int
    gone: int
    #: Documents that some of their keys no longer find.
    weaker: int
    #: Whether documents that were removed are back, since it cannot be read which those were.
    revived: bool
    #: Where the damaged file is now.
    kept: Path


def rebuild(path: Path, derive: Derive) -> Rebuilt:
    """Put what can be read of the index in *path* into a new file, and that into the place of the old one.

    The old file is kept under another name. Raises `IndexUnavailable` while others use the index, and
    `IndexCorrupted` if nothing can be saved; then all stays as it was.
    """
    with translated(path, "rebuilt"), alone(path):
        for left in path.glob(f"{PREFIX}*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=path) as folder:
            source, target = Path(folder, "source"), Path(folder, "target")
            source.mkdir()
            shutil.copyfile(path / DATA, source / DATA)
            # Beyond the end of a file that was cut short processes die: what is missing reads as zeros.
            os.truncate(source / DATA, whole_size(path / DATA))
            found = _copied(path, source, target, derive)
            with environment_of(target) as (environment, header):
                require_sound(environment, header, lambda *_: None)
            os.link(path / DATA, found.kept)
            take_place(target / DATA, path / DATA)
            write_sidecar(path, header.uuid, found.documents)
        (path / LOCK).unlink(missing_ok=True)  # it describes the old file
        return found


def _copied(path: Path, source: Path, target: Path, derive: Derive) -> Rebuilt:
    """Have another process copy the index in *source* into a new one in *target*."""
    number = 1
    while (kept := path / f"{KEPT}{number}.mdb").exists():
        number += 1
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return replace(pool.submit(_copy, source, target, derive).result(), kept=kept)
    except BrokenProcessPool as error:
        raise corrupted(path / DATA, "nothing can be saved: reading it ends the process") from error
    except (IndexCorrupted, IndexMismatch) as error:
        raise corrupted(path / DATA, f"nothing can be saved: {error}") from error


def _copy(source: Path, target: Path, derive: Derive) -> Rebuilt:
    """Copy what can be read of the index in *source* into a new one in *target*.

    Raises `IndexCorrupted`, and `IndexMismatch` for an index of bare fingerprints.
    """
    with translated(source, "read"), environment_of(source) as (environment, header):
        if len(header.families) == 1:
            raise IndexMismatch("it holds bare fingerprints, whose numbers would change: add them anew")
        with environment.read() as transaction:
            readable = _Readable(environment, header, transaction, derive)
            with contextlib.closing(LmdbIndex(target, header)) as index:
                for documents in readable.documents():
                    index.add(documents)
                count = index.gauges()["documents"]
    return Rebuilt(count, readable.gone, readable.weaker, readable.revived, source)


class _Readable:
    """What one transaction can read of a damaged index; counts what it cannot, as `Rebuilt` says."""

    def __init__(
        self, environment: Environment, header: Header, transaction: lmdb.Transaction, derive: Derive
    ) -> None:
        self._databases = environment.databases
        self._header = header
        self._transaction = transaction
        # An index of another's own keys says nothing of how they were made.
        self._derive: Derive = derive if "features" in header.parameters else lambda *_: {}
        self._state = read_state(environment, transaction)
        if broken := next(state_faults(self._state), None):
            raise IndexCorrupted(f"The state of the index cannot be true ({broken})")
        self.gone = self.weaker = 0
        self.revived = False

    def documents(self) -> Iterator[Documents]:
        """Yield what is left, run by run, then that of the log."""
        state, dead = self._state, np.empty(0, np.int64)
        try:
            dead = read_removed(self._transaction, self._databases["dead"])
        except BROKEN:
            self.revived = True
        for run in state.runs:
            yield from self._of_run(run, dead[(dead >= run.start) & (dead < run.stop)] - run.start)
        wanted = np.ones(state.next - state.flushed, bool)
        wanted[dead[dead >= state.flushed] - state.flushed] = False
        for rows, documents in self._blocks("log", decode_logged, state.flushed, wanted):
            wanted[rows] = False
            yield documents
        self.gone += int(wanted.sum())

    def _of_run(self, run: Run, dead: NDArray[np.int64]) -> Iterator[Documents]:
        """Yield what is left of *run*, but for the *dead* rows of its range."""
        header, size = self._header, run.stop - run.start
        keys = np.full((header.keys, size), NO_KEY)
        #: For each family: of which documents some key is known, and of which all are.
        known, complete = np.zeros((2, len(header.families), size), bool)
        for place, family in enumerate(header.families):
            known[place], whole = self._keys(run, place, family, keys[header.rows[place]])
            complete[place] = whole or (family.keys == 1) & known[place]
        # Where nobody says which documents were left out as removed, only what is in a table was not.
        held = self._held(run)
        wanted: NDArray[np.bool_] = np.any(known, axis=0) if held is None else held.copy()
        left: NDArray[np.bool_] = np.ones(size, bool) if held is None else held.copy()
        wanted[dead] = left[dead] = False
        near = [place for place, family in enumerate(header.families) if not family.equal]
        for rows, stored in self._blocks("documents", decode_block, run.start, wanted):
            wanted[rows] = left[rows] = False
            part = keys[:, rows]
            for place, new in self._derive(stored, header).items():
                unknown = ~known[place, rows]
                part[header.rows[place]][:, unknown] = new[unknown]
                known[place, rows] = complete[place, rows] = True
            # Without its fingerprint a document could not be found by what is like it.
            usable = known[near][:, rows].all(axis=0)
            self.gone += int((~usable).sum())
            self.weaker += int((usable & ~complete[:, rows].all(axis=0)).sum())
            yield Documents(part, *stored).take(np.flatnonzero(usable))
        self.gone += int(left.sum())

    def _held(self, run: Run) -> NDArray[np.bool_] | None:
        """Return which documents *run* holds (bool[n]), None if that cannot be read."""
        try:
            return decode_held(self._partition(run, HELD, 0) or b"", run)
        except BROKEN:
            return None

    def _keys(
        self, run: Run, place: int, family: Family, keys: NDArray[np.uint64]
    ) -> tuple[NDArray[np.bool_], bool]:
        """Put the keys of a family of *run* into *keys* (uint64[family.keys, n]).

        Returns of which documents there are some (bool[n]), and whether a table of the family is whole.
        """
        cut, first, size = run.cut(family), self._header.first_table[place], keys.shape[1]
        whole, kind = False, np.dtype([("row", "<i8"), ("key", "<u8")])
        parts = [np.empty(0, kind)]
        for table in range(len(family.tables)):
            sound = True
            for partition in range(1 << cut):
                data = self._partition(run, first + table, partition)
                if partition_fault(data, cut, partition) is not None:
                    sound = False
                    continue
                assert data is not None
                entries = decode_partition(data, cut).entries
                rows = entries.documents.astype(np.int64) - run.start
                if ((rows < 0) | (rows >= size)).any():
                    sound = False
                    continue
                part = np.empty(len(rows), kind)
                part["row"], part["key"] = rows, family.tables.restore(table, entries.keys)
                parts.append(part)
            whole |= sound
        found = np.unique(np.concatenate(parts))
        nth = np.arange(len(found)) - found["row"].searchsorted(found["row"])
        found, nth = found[nth < family.keys], nth[nth < family.keys]
        keys[nth, found["row"]] = found["key"]
        known = np.zeros(size, bool)
        known[found["row"]] = True
        return known, whole

    def _partition(self, run: Run, table: int, partition: int) -> bytes | None:
        """Return the bytes of a partition, None if it is missing or cannot be read."""
        try:
            data = self._transaction.get(partition_key(run.id, table, partition), db=self._databases["runs"])
        except lmdb.Error:
            return None
        return None if data is None else bytes(data)

    def _blocks(
        self, name: str, decode: Callable[..., Some], start: int, wanted: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.int64], Some]]:
        """Yield the rows that are *wanted* (bool[n], from document *start* on) of each block that is whole.

        The caller may change *wanted* meanwhile.
        """
        number, stop = start, start + len(wanted)
        while number < stop:
            try:
                with self._transaction.cursor(self._databases[name]) as cursor:
                    if not cursor.set_range(number_key(number)):
                        return
                    first, data = key_number(cursor.key()), bytes(cursor.value())
            except BROKEN:
                number += 1  # beyond what the damaged page holds, the next one may be sound
                continue
            if first >= stop:
                return
            number = max(number, first) + 1
            try:
                documents = decode(data, self._header, check=True)
            except BROKEN:
                continue
            rows = np.arange(first - start, first - start + len(documents.urls))
            inside = np.flatnonzero((rows >= 0) & (rows < len(wanted)))
            inside = inside[wanted[rows[inside]]]
            if len(inside):
                yield rows[inside], documents.take(inside)
