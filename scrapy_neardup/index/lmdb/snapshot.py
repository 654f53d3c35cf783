"""What one LMDB transaction sees of the committed documents, and the search of the tables of runs."""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from itertools import pairwise

import lmdb
import numpy as np
from numpy.typing import NDArray

from scrapy_neardup.index.header import Header, damaged, decoding
from scrapy_neardup.index.protocol import Documents, Stored
from scrapy_neardup.index.search import NO_MATCHES, Entries, Matches, look_up

from . import layout
from .directory import translated
from .environment import Environment
from .layout import Partition, Run, State, Tombstones


class Snapshot:
    """Reads an index as one transaction sees it, and moves on by `refresh`; for one thread at a time."""

    def __init__(self, environment: Environment, header: Header) -> None:
        self._environment = environment
        environment.readers.add(self)
        self.tuning = environment.tuning
        self.header = header
        self._transaction: lmdb.Transaction | None = None
        #: The number of the last commit that is seen; None while no transaction is open.
        self.commit: int | None = None
        #: Partitions that this transaction has read, by run, table and number.
        self._partitions: dict[tuple[int, int, int], Partition] = {}
        self.state = State(next=-1)  # as of no index
        #: For each family: each run, and by how many bits its tables of that family are cut.
        self.cuts: list[list[tuple[Run, int]]] = [[] for _ in header.families]
        #: The documents that count as removed, and how many of those in runs do not yet in the state.
        self.dead: Tombstones
        self.hidden = 0

    def refresh(self) -> None:
        """Move on to the newest commit."""
        transaction = self._environment.read()
        try:
            self._take(transaction)
        except BaseException:
            transaction.abort()
            raise
        self.close()
        # Asked of the transaction: LMDB shows the number of a commit a moment before others see it.
        self._transaction, self.commit = transaction, int(transaction.id())

    def _take(self, transaction: lmdb.Transaction) -> None:
        """Take over the state that *transaction* sees."""
        state = layout.read_state(self._environment, transaction)
        if state == self.state:
            return
        database = self._environment.databases["dead"]
        self.dead = Tombstones(transaction, database, state.oldest, state.next)
        self.state, self.hidden = state, 0
        self.cuts = [[(run, run.cut(family)) for run in state.runs] for family in self.header.families]

    def leave(self) -> lmdb.Transaction | None:
        """Return the transaction, without ending it, and hold it no longer."""
        transaction, self._transaction, self.commit = self._transaction, None, None
        return transaction

    def close(self) -> None:
        """End the transaction."""
        self._partitions.clear()  # views of what it sees
        transaction = self.leave()
        if transaction is not None:
            transaction.abort()

    def hide(self, documents: Collection[int]) -> list[int]:
        """Count *documents* as removed until the state changes; returns those that did not, or are newer."""
        numbers = np.array(sorted({*documents}), np.int64)
        numbers = numbers[numbers >= self.state.oldest]
        known = numbers[: numbers.searchsorted(self.state.next)]
        new = known[~self.dead.has(known)]
        self.dead.add(new)
        self.hidden += int(new.searchsorted(self.state.flushed))
        return [*new.tolist(), *numbers[len(known) :].tolist()]

    def alive(self, found: Matches) -> Matches:
        """Return those of *found* that do not count as removed."""
        return found.take(~self.dead.has(found.document)) if self.dead.some else found

    def fetch(self, documents: NDArray[np.int64]) -> Stored:
        """Return what runs store of *documents* (int64[n]), in order; `IndexCorrupted` if one is missing."""
        order = np.argsort(documents, kind="stable")
        wanted, place = documents[order], 0
        parts = [Stored(np.empty(0, self.header.dtype), [], [])]
        with self._reader().cursor(self._environment.databases["documents"]) as cursor:
            while place < len(wanted):
                number = int(wanted[place])
                found = (cursor.set_range(layout.number_key(number + 1)) and cursor.prev()) or cursor.last()
                with decoding("A block of documents"):
                    start = layout.key_number(cursor.key()) if found else 0
                    stop = start + layout.block_size(cursor.value()) if found else 0
                if not start <= number < stop:
                    raise damaged(f"Document {number} is missing")
                end = int(np.searchsorted(wanted, stop))
                parts.append(
                    layout.decode_block(cursor.value(), self.header, wanted[place:end] - start).stored
                )
                place = end
        stored = Stored.concatenate(parts)
        return stored.take(np.argsort(order, kind="stable")) if len(order) > 1 else stored

    def blocks(self, start: int, stop: int) -> Iterator[tuple[int, Stored]]:
        """Yield the blocks of runs and log that begin in [start, stop), with their first numbers, checked."""
        for name, low, high in (("documents", 0, self.state.flushed), ("log", self.state.flushed, stop)):
            for number, documents in self.read(name, max(start, low), min(stop, high)):
                yield number, documents.stored

    def documents(self) -> Iterator[tuple[NDArray[np.int64], Stored]]:
        """Yield the numbers (int64[n]) and contents of all documents, block by block."""
        state = self.state
        for first, documents in self.blocks(state.oldest, state.next):
            rows = np.flatnonzero(~self.dead.between(first, first + len(documents.urls)))
            yield rows + first, documents.take(rows)

    def read(
        self, name: str, start: int, stop: int = layout.MAX_DOCUMENTS, without: Collection[int] = ()
    ) -> Iterator[tuple[int, Documents]]:
        """Yield the blocks of a database that begin in [start, stop), but at none of *without*, checked."""
        keys = self.header.keys if name == "log" else 0
        with self._reader().cursor(self._environment.databases[name]) as cursor:
            found = cursor.set_range(layout.number_key(start))
            for key, value in cursor.iternext() if found else ():
                with decoding("The number of a block"):
                    number = layout.key_number(key)
                if number >= stop:
                    return
                if number not in without:
                    yield number, layout.decode_block(value, self.header, keys=keys, check=bytes(key))

    def whole_log(self) -> Iterator[tuple[int, Documents]]:
        """Yield the blocks of the log. Raises `IndexCorrupted` unless they are those that the state names."""
        expected = self.state.flushed
        for first, documents in self.read("log", 0):
            if first != expected:
                break
            expected += len(documents.urls)
            yield first, documents
        else:
            if expected == self.state.next:
                return
        raise damaged(f"The log has other documents than the state says, from {expected} on")

    def partition(self, run: Run, cut: int, table: int, partition: int, *, check: bool = False) -> Partition:
        """Return one *partition* of a *table*; `IndexCorrupted`, with *check* also by its checksum."""
        key = (run.id, table, partition)
        found = self._partitions.get(key)
        if found is None or check:
            stored = layout.partition_key(*key)
            data = self._reader().get(stored, b"", db=self._environment.databases["runs"])
            found = layout.decode_partition(data, cut, check=stored if check else None)
            if len(self._partitions) >= self.tuning.partitions:
                self._partitions.clear()
            self._partitions[key] = found
        return found

    def _reader(self) -> lmdb.Transaction:
        assert self._transaction is not None, "refresh it first"
        return self._transaction


@contextlib.contextmanager
def reading(environment: Environment, header: Header) -> Iterator[Snapshot]:
    """Yield a snapshot of the newest commit. Raises `IndexUnavailable` or `IndexCorrupted`."""
    environment.require_same_process()
    with translated(environment.path, "read"), contextlib.closing(Snapshot(environment, header)) as reader:
        environment.env.reader_check()
        reader.refresh()
        yield reader


#: The entries of a partition that share a prefix with a probe of a key: the key as the table permutes it, the
#: partition, where these entries start, where they stop, the probe, and the bits of the prefix.
Range = tuple[int, Entries, int, int, int, int]


def with_key(reader: Snapshot, family: int, key: int, limit: int) -> set[int]:
    """Return the first *limit* documents that have *key* in a *family* of equal keys; all if that is 0."""
    table = reader.header.first_table[family]
    documents: set[int] = set()
    for run, cut in reader.cuts[family]:
        entries, values, starts, shift, mask = reader.partition(run, cut, table, key >> (64 - cut))
        place = (key >> shift) & mask
        end = starts[place + 1]
        start = bisect_left(values, key, starts[place], end)
        if start == end or values[start] != key:
            continue
        of_key = entries.documents[start : bisect_right(values, key, start, end)]
        # They ascend within a run, and from run to run. Some may be dead, or have the key several times.
        if limit:
            most = limit + run.removed + reader.hidden
            of_key = of_key[: most * reader.header.families[family].keys]
        documents.update(of_key[~reader.dead.has(of_key)].tolist())
        if limit and len(documents) >= limit:
            return set(sorted(documents)[:limit])
    return documents


def search_near(reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
    """Yield the documents within *distance* bits of *keys* (uint64[n]), perhaps several times."""
    if len(keys) > reader.tuning.few_keys:
        yield from map(reader.alive, _search_many(reader, family, keys, distance))
        return
    for position, key in enumerate(keys.tolist()):
        found, _ = search_one(reader, family, key, distance, 0)
        yield found._replace(query=found.query + position)


def search_one(reader: Snapshot, family: int, key: int, distance: int, compared: int) -> tuple[Matches, bool]:
    """Return the documents within *distance* bits of *key*, perhaps several times.

    If there are more than *compared* entries, unless that is 0, those that share the longest prefixes with
    the key are compared, and True is returned besides.
    """
    ranges = _ranges(reader, family, key, distance) if reader.cuts[family] else []
    too_many = bool(compared) and sum(each[3] - each[2] for each in ranges) > compared
    if too_many:
        ranges = _narrowed(ranges, compared)
    if not ranges:
        return NO_MATCHES, too_many
    stored = np.concatenate([entries.keys[start:stop] for _, entries, start, stop, _, _ in ranges])
    wanted = np.array([each[0] for each in ranges], np.uint64)
    bits = np.bitwise_count(stored ^ wanted.repeat([stop - start for _, _, start, stop, _, _ in ranges]))
    (near,) = (bits <= distance).nonzero()
    if not len(near):
        return NO_MATCHES, too_many
    documents = np.concatenate([entries.documents[start:stop] for _, entries, start, stop, _, _ in ranges])
    found = Matches(np.zeros(len(near), np.int64), documents[near].astype(np.int64), bits[near])
    return reader.alive(found), too_many


def _ranges(reader: Snapshot, family: int, key: int, distance: int) -> list[Range]:
    """Return the range of each probe of *key* in each table of each run."""
    tables, first = reader.header.families[family].tables, reader.header.first_table[family]
    cuts, ranges = reader.cuts[family], []
    for table, (permuted, flips, bits) in enumerate(
        zip(tables.permute(key), tables.flips(distance), tables.prefix_bits, strict=True), first
    ):
        suffix = (1 << (64 - bits)) - 1
        for flip in flips:
            probe = permuted ^ flip
            high = probe | suffix
            low = high ^ suffix
            for run, cut in cuts:
                entries, values, starts, shift, mask = reader.partition(run, cut, table, low >> (64 - cut))
                place = (low >> shift) & mask
                start = bisect_left(values, low, starts[place], starts[place + 1])
                stop = bisect_right(values, high, start, starts[((high >> shift) & mask) + 1])
                if start < stop:
                    ranges.append((permuted, entries, start, stop, probe, bits))
    return ranges


def _narrowed(ranges: list[Range], most: int) -> list[Range]:
    """Return the parts of *ranges* that share the longest prefixes with a probe, up to *most* entries."""
    for _ in range(64):
        longer = []
        for permuted, entries, start, stop, probe, bits in ranges:
            suffix, keys = (1 << max(0, 63 - bits)) - 1, entries.keys[start:stop]
            low = start + int(keys.searchsorted(np.uint64(probe & ~suffix), "left"))
            high = start + int(keys.searchsorted(np.uint64(probe | suffix), "right"))
            if low < high:
                longer.append((permuted, entries, low, high, probe, min(64, bits + 1)))
        ranges = longer
        if sum(each[3] - each[2] for each in ranges) <= most:
            return ranges
    # Every entry is equal to its probe, so each table has the same documents. Runs come in order of age.
    probes = {probe for *_, probe, _ in ranges}
    left = dict.fromkeys(probes, most // len(probes))
    cut = []
    for permuted, entries, start, stop, probe, bits in ranges:
        size = min(stop - start, left[probe])
        left[probe] -= size
        cut.append((permuted, entries, start, start + size, probe, bits))
    return cut


def _search_many(reader: Snapshot, family: int, keys: NDArray[np.uint64], distance: int) -> Iterator[Matches]:
    """Look up all probes of one table in one run at a time, partition by partition."""
    first, at_once = reader.header.first_table[family], reader.tuning.candidates_at_once
    tables = reader.header.families[family].tables
    each = np.arange(len(keys))
    for table, (permuted, flips, bits) in enumerate(
        zip(tables.keys(keys), tables.flips(distance), tables.prefix_bits, strict=True), first
    ):
        probes = (permuted[:, np.newaxis] ^ np.array(flips, np.uint64)).ravel()
        # In order of the probes, those of one partition are neighbours, and memory is read in one direction.
        order = np.argsort(probes)
        query, wanted = each.repeat(len(flips))[order], permuted.repeat(len(flips))[order]
        probes = probes[order]
        for run, cut in reader.cuts[family]:
            for partition, rows in _by_partition(probes, cut):
                entries = reader.partition(run, cut, table, partition).entries
                for position, document, distances in look_up(
                    entries, wanted[rows], probes[rows], bits, distance, at_once
                ):
                    yield Matches(query[rows][position], document.astype(np.int64), distances)


def _by_partition(probes: NDArray[np.uint64], cut: int) -> Iterator[tuple[int, slice]]:
    """Yield the partitions of a table cut by *cut* bits, each with the rows of the sorted *probes* in it."""
    partitions = probes >> np.uint64(64 - cut) if cut else np.zeros(len(probes), np.uint64)
    bounds = np.flatnonzero(partitions[1:] != partitions[:-1]) + 1
    for begin, end in pairwise([0, *bounds.tolist(), len(probes)]):
        yield int(partitions[begin]), slice(begin, end)
