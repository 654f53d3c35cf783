"""A consistent view of what all processes have committed: runs, removed documents, the log."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.errors import IndexCorrupted

from .base import Documents, Matches
from .removed import read_removed
from .sorted import Entries, is_member, look_up
from .storage import (
    HELD,
    State,
    block_size,
    decode_block,
    decode_entries,
    decode_held,
    key_number,
    number_key,
    partition_key,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import lmdb
    from numpy.typing import NDArray

    from .environment import Environment
    from .header import Header
    from .storage import Run

#: A smaller value may lie inside a leaf page, which moves when a neighbour changes; a larger one has pages of its
#: own and stays where it is as long as the run exists, whatever is committed meanwhile.
LEAF_VALUE = 1 << 16


class Snapshot:
    """Reads one transaction's state of an index. Not thread-safe."""

    def __init__(self, environment: Environment, header: Header) -> None:
        self._environment = environment
        environment.snapshots.add(self)
        self.header = header
        self._transaction: lmdb.Transaction | None = None
        self._partitions: dict[tuple[int, int, int], Entries] = {}
        self._held: dict[int, NDArray[np.bool_]] = {}
        self._raw = b""
        self._removals = -1
        self.state = State()
        #: Removed documents, ascending: int64[n].
        self.dead = np.empty(0, np.int64)

    def refresh(self) -> bool:
        """Move on to the newest commit; returns whether anything changed."""
        transaction = self._environment.read()
        old, self._transaction = self._transaction, transaction
        raw = bytes(transaction.get(b"state", b"", db=self._environment.databases["meta"]))
        changed = raw != self._raw
        if changed:
            self.state = State.from_json(raw)
            self._raw = raw
            live = {run.id for run in self.state.runs}
            self._partitions = {key: view for key, view in self._partitions.items() if key[0] in live}
            self._held = {run: held for run, held in self._held.items() if run in live}
            if self.state.removals != self._removals:
                self._removals = self.state.removals
                self.dead = read_removed(transaction, self._environment.databases["dead"])
        if old is not None:
            old.abort()
        return changed

    def drop(self) -> None:
        """Let go of the memory map."""
        self._partitions.clear()
        if self._transaction is not None:
            self._transaction.abort()
            self._transaction = None
            self._raw, self._removals = b"", -1

    def leave(self) -> lmdb.Transaction | None:
        """Hand over the transaction without ending it, as a forked child has to."""
        self._partitions.clear()
        transaction, self._transaction = self._transaction, None
        return transaction

    def close(self) -> None:
        """Let go of the memory map for good."""
        self.drop()
        self._environment.snapshots.discard(self)

    def hide(self, documents: Collection[int]) -> None:
        """Treat *documents* as removed until the next change."""
        numbers = np.array(sorted(documents), np.int64)
        numbers = numbers[~is_member(numbers, self.dead)]
        if len(numbers):
            self.dead = np.insert(self.dead, np.searchsorted(self.dead, numbers), numbers)

    def expect(self, removals: int) -> None:
        """Take the next change of what is removed, which makes them *removals*, for what is hidden already."""
        if self._removals == removals - 1:
            self._removals = removals

    def filed(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of *documents* that a run holds; it holds removed ones until the next merge."""
        parts = [np.empty(0, np.int64)]
        for run in self.state.runs:
            among = documents[(documents >= run.start) & (documents < run.stop)]
            if len(among):
                parts.append(among[self.held(run)[among - run.start]])
        return np.concatenate(parts)

    def held(self, run: Run) -> NDArray[np.bool_]:
        """Tell which documents of its range *run* holds: bool[stop - start]."""
        held = self._held.get(run.id)
        if held is None:
            data = self._reader().get(
                partition_key(run.id, HELD, 0), b"", db=self._environment.databases["runs"]
            )
            held = self._held[run.id] = decode_held(data, run)
        return held

    def search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int = 0
    ) -> Iterator[Matches]:
        """Find the documents of all runs within *distance* bits of *keys*; the same pair perhaps repeatedly."""
        tables = self.header.families[family].tables
        most *= self.header.families[family].equal
        radius = tables.radius(distance)
        for table, (permuted, prefix_bits) in enumerate(
            zip(tables.keys(keys), tables.prefix_bits, strict=True)
        ):
            probes = permuted
            query = None
            if radius:
                bit = np.arange(64 - prefix_bits, 64, dtype=np.uint64)
                flips = np.concatenate(([np.uint64(0)], np.uint64(1) << bit))
                probes = (permuted[:, np.newaxis] ^ flips).ravel()
                permuted = np.repeat(permuted, len(flips))
                query = np.repeat(np.arange(len(keys)), len(flips))
            for run in self.state.runs:
                for position, document, bits in self._search_run(
                    run, family, table, permuted, probes, prefix_bits, distance, most
                ):
                    matches = Matches(
                        position if query is None else query[position], document.astype(np.int64), bits
                    )
                    if len(self.dead):
                        alive = ~is_member(matches.document, self.dead)
                        matches = Matches(matches.query[alive], matches.document[alive], bits[alive])
                    yield matches

    def fetch(self, documents: NDArray[np.int64]) -> Documents:
        """Return what the log holds of *documents*, in their order. Raises `IndexCorrupted` for one that it lacks."""
        order = np.argsort(documents, kind="stable")
        wanted = documents[order]
        parts, place = [], 0
        with self._reader().cursor(self._environment.databases["documents"]) as cursor:
            while place < len(wanted):
                number = int(wanted[place])
                if not (cursor.set_range(number_key(number + 1)) and cursor.prev()) and not cursor.last():
                    raise IndexCorrupted(f"Document {number} is missing: run `scrapy-neardup index check`.")
                start = key_number(cursor.key())
                stop = start + block_size(cursor.value())
                if not start <= number < stop:
                    raise IndexCorrupted(f"Document {number} is missing: run `scrapy-neardup index check`.")
                end = int(np.searchsorted(wanted, stop))
                parts.append(decode_block(cursor.value(), self.header, wanted[place:end] - start))
                place = end
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        if not parts:
            return Documents(np.empty((self.header.keys, 0), np.uint64), np.empty(0, self.header.dtype), [])
        urls = [url for part in parts for url in part.urls]
        return Documents(
            np.concatenate([part.keys for part in parts], axis=1)[:, back],
            np.concatenate([part.records for part in parts])[back],
            [urls[row] for row in back.tolist()],
        )

    def blocks(self, start: int, stop: int, *, check: bool = False) -> Iterator[tuple[int, Documents]]:
        """Yield the blocks that begin in [start, stop), with the number of the first document of each."""
        with self._reader().cursor(self._environment.databases["documents"]) as cursor:
            if not cursor.set_range(number_key(start)):
                return
            for key, value in cursor.iternext():
                number = key_number(key)
                if number >= stop:
                    return
                yield number, decode_block(value, self.header, check=check)

    def partition(self, run: Run, table: int, partition: int) -> Entries:
        """Return one partition of a run, as views where possible."""
        key = (run.id, table, partition)
        entries = self._partitions.get(key)
        if entries is None:
            data = self._reader().get(partition_key(*key), b"", db=self._environment.databases["runs"])
            entries = self._partitions[key] = decode_entries(bytes(data) if len(data) < LEAF_VALUE else data)
        return entries

    def _reader(self) -> lmdb.Transaction:
        if self._transaction is None:
            self.refresh()
        assert self._transaction is not None
        return self._transaction

    def _search_run(
        self,
        run: Run,
        family: int,
        table: int,
        keys: NDArray[np.uint64],
        probes: NDArray[np.uint64],
        prefix_bits: int,
        distance: int,
        most: int,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]]:
        cut = run.cut(self.header.families[family])
        table += self.header.first_table[family]
        if not cut:
            yield from look_up(self.partition(run, table, 0), keys, probes, prefix_bits, distance, most)
            return
        shift = np.uint64(64 - cut)
        if len(probes) == 1:
            entries = self.partition(run, table, int(probes[0] >> shift))
            yield from look_up(entries, keys, probes, prefix_bits, distance, most)
            return
        # Neighbouring probes lie in one partition, and walk through memory in one direction.
        order = np.argsort(probes)
        partitions = probes[order] >> shift
        bounds = np.flatnonzero(partitions[1:] != partitions[:-1]) + 1
        for begin, end in pairwise([0, *bounds.tolist(), len(order)] if len(order) else []):
            rows = order[begin:end]
            entries = self.partition(run, table, int(partitions[begin]))
            for position, document, bits in look_up(
                entries, keys[rows], probes[rows], prefix_bits, distance, most
            ):
                yield rows[position], document, bits
