"""The check of an index on disk from end to end: state, tombstones, log, blocks, all partitions.

Everything is read once, and each checksum is verified. What a killed process leaves behind without harm is no
problem: partitions and blocks of a run that was never finished, which the next maintenance sweeps away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import lmdb
import numpy as np

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.header import UNREADABLE, decoding

from .directory import DAMAGED, unavailable
from .layout import (
    HELD,
    decode_block,
    decode_held,
    decode_logged,
    decode_partition,
    key_number,
    number_key,
    partition_key,
    read_dead,
    read_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.header import Header

    from .environment import Environment
    from .index import LmdbIndex
    from .layout import Run


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an index that should not be."""

    where: str
    #: A sentence.
    what: str


def check(index: LmdbIndex) -> Iterator[Problem]:
    """Yield the problems of an open index, as far as it is on disk."""
    return find_problems(index._environment, index.header)


def find_problems(
    environment: Environment, header: Header, progress: Callable[[int, int], None] | None = None
) -> Iterator[Problem]:
    """Yield the problems of the index in *environment*, as one transaction sees it while others write.

    *progress* is called with how many runs were read so far, and how many there are. Raises
    `IndexUnavailable` if LMDB or the memory fails.
    """
    try:
        with environment.read() as transaction:
            yield from _Check(environment, header, transaction).problems(progress)
    except IndexCorrupted as error:
        yield _problem("state", error)
    except (*UNREADABLE, *DAMAGED) as error:
        yield Problem("file", f"It cannot be read ({error}).")
    except (lmdb.Error, MemoryError) as error:
        raise unavailable(environment.path, error, "checked") from error


def _problem(where: str, error: Exception) -> Problem:
    said = str(error.__cause__ or error).partition(": run ")[0].rstrip(".")
    return Problem(where, f"{said[:1].upper()}{said[1:]}.")


class _Check:
    """The check of all that one transaction sees."""

    def __init__(self, environment: Environment, header: Header, transaction: lmdb.Transaction) -> None:
        self._databases = environment.databases
        self._transaction = transaction
        self._header = header
        self._state = read_state(environment, transaction)

    def problems(self, progress: Callable[[int, int], None] | None) -> Iterator[Problem]:
        """Yield what is wrong."""
        state = self._state
        borders = [*((run.start, run.stop) for run in state.runs), (state.flushed, state.next)]
        if state.flushed > state.next or any(one[1] != after[0] for one, after in pairwise(borders)):
            yield Problem("state", "Its runs and its log do not follow each other.")
            return
        try:
            dead = read_dead(self._transaction, self._databases["dead"], state)
            if len(dead) and dead[-1] >= state.next:
                yield Problem("dead", f"Document {dead[-1]} is marked as removed, and was never added.")
        except IndexCorrupted as error:
            yield _problem("dead", error)
        for place, run in enumerate(state.runs, 1):
            yield from self._run(run)
            if progress is not None:
                progress(place, len(state.runs))
        yield from self._blocks("log", state.flushed, np.ones(state.next - state.flushed, bool))
        with self._transaction.cursor(self._databases["log"]) as cursor:
            first = key_number(cursor.key()) if cursor.first() else state.flushed
            last = key_number(cursor.key()) if cursor.last() else state.flushed
        if first < state.flushed or last >= max(state.next, state.flushed + 1):
            yield Problem("log", "It has blocks that the state does not know.")

    def _run(self, run: Run) -> Iterator[Problem]:
        """Yield the problems of *run*: each document that it holds is in a block, and in each table."""
        try:
            held = decode_held(self._get(partition_key(run.id, HELD, 0)), run)
        except IndexCorrupted as error:
            yield _problem(f"run {run.id}", error)
            return
        yield from self._blocks("documents", run.start, held)
        for family, first in zip(self._header.families, self._header.first_table, strict=False):
            expected, cut = run.documents * family.keys, run.cut(family)
            for table in range(first, first + len(family.tables)):
                where, count, broken = f"run {run.id}, table {table}", 0, False
                for partition in range(1 << cut):
                    key = partition_key(run.id, table, partition)
                    try:
                        entries = decode_partition(self._get(key), cut, check=key).entries
                        with decoding("A partition"):  # an IndexError would be a document of another run
                            count += int(held[entries.documents.astype(np.int64) - run.start].sum())
                    except IndexCorrupted as error:
                        broken = True
                        yield _problem(f"{where}, partition {partition}", error)
                fewer = family.equal and family.keys > 1  # a document may lack some
                if not broken and (count > expected or (count < expected and not fewer)):
                    yield Problem(where, f"It has {count} entries of {run.documents} documents.")

    def _blocks(self, name: str, start: int, mask: NDArray[np.bool_]) -> Iterator[Problem]:
        """Yield the problems of the blocks from document *start* on, which hold all of *mask* (bool[n])."""
        missing, expected = mask.copy(), start
        decode = decode_logged if name == "log" else decode_block
        with self._transaction.cursor(self._databases[name]) as cursor:
            more = len(mask) and cursor.set_range(number_key(start))
            while more and (first := key_number(cursor.key())) < start + len(mask):
                try:
                    stop = first + len(decode(cursor.value(), self._header, check=number_key(first)).urls)
                except IndexCorrupted as error:
                    yield _problem(f"{name}, block {first}", error)
                else:
                    if first < expected or stop > start + len(mask):
                        yield Problem(f"{name}, block {first}", "It overlaps the next or the previous.")
                    expected = stop
                    missing[first - start : stop - start] = False
                more = cursor.next()
        if missing.any():
            lost = start + int(missing.argmax())
            yield Problem(name, f"{missing.sum()} documents cannot be read, the first {lost}.")

    def _get(self, key: bytes) -> bytes | memoryview:
        data: bytes | memoryview = self._transaction.get(key, b"", db=self._databases["runs"])
        return data
