"""Finding documents on a server: one round trip reads buckets, a second fetches the documents they name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index.matches import NO_MATCHES, Matches
from scrapy_neardup.index.protocol import Found
from scrapy_neardup.index.search import NONE_MET, Met, closest, most_shared
from scrapy_neardup.index.sorted_arrays import is_member

from .layout import (
    NEAR_BYTES,
    NO_KEYS,
    NO_NUMBERS,
    REST,
    REST_BITS,
    epoch_of,
    unpack_keys,
    unpack_numbers,
    unpack_numbers_of,
)
from .store import BATCH, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Lookup, Pending

    from .layout import Layout
    from .store import Store

#: Buckets of more bytes are kept, of so many bytes together.
KEPT_FROM, KEPT_BYTES = 1024, 64 << 20
#: Of longer buckets a crawl reads only the newest entries: a flood must not make every lookup dear.
MOST_BYTES = (1 << 20) // NEAR_BYTES * NEAR_BYTES
#: No value of a server is longer.
MAX_BYTES = 1 << 29
#: A key that so many more documents have than a lookup accepts need not be filed: it is passed over anyway.
CAP = 1024


class Bucket(NamedTuple):
    """What is known of a bucket of fingerprints."""

    #: The epoch of its documents.
    epoch: int
    #: Its length in bytes.
    length: int = 0
    #: Its entries as far as they are known, and their keys.
    data: bytes = b""
    keys: NDArray[np.uint64] = NO_KEYS

    def followed(self, start: int, data: bytes, anew: int = 0) -> Bucket:
        """Return the bucket after an answer of the step ``look``, which has its *data* from byte *start* on.

        The data continues what is known, or with *anew* replaces it.
        """
        if not data and not anew:
            return self
        keys = unpack_keys(data)
        if anew:
            return Bucket(self.epoch, start + len(data), data, keys)
        return Bucket(self.epoch, start + len(data), self.data + data, np.concatenate((self.keys, keys)))

    @property
    def last(self) -> bytes:
        """Its last entry."""
        return self.data[-NEAR_BYTES:]

    def numbers(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the numbers of the entries at *rows*."""
        return unpack_numbers_of(self.data, rows, self.epoch)

    @property
    def is_cut(self) -> bool:
        """Whether only the newest of its entries are known."""
        return self.length > len(self.data)


class BucketMemory:
    """Long buckets, of so many bytes, those used last: only what is new of them is read again.

    Real texts crowd: some buckets hold many more documents than others, and those are the ones that lookups
    meet. They would be most of what goes over the network. Its methods may be called from any thread.
    """

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._bytes = 0
        #: The one that was used last comes last.
        self._buckets: dict[bytes, Bucket] = {}
        self._lock = threading.Lock()

    def known(self, names: Mapping[bytes, int]) -> list[Bucket]:
        """Return what is known of buckets, each with its epoch."""
        return [self._buckets.get(name) or Bucket(epoch) for name, epoch in names.items()]

    def keep(self, buckets: Mapping[bytes, Bucket]) -> None:
        """Remember long ones."""
        with self._lock:
            for name, bucket in buckets.items():
                if bucket.length >= KEPT_FROM:
                    self._drop(name)
                    self._buckets[name] = bucket
                    self._bytes += len(bucket.data) + bucket.keys.nbytes
            while self._bytes > self._kept_bytes:
                self._drop(next(iter(self._buckets)))

    def _drop(self, name: bytes) -> None:
        bucket = self._buckets.pop(name, None)
        if bucket is not None:
            self._bytes -= len(bucket.data) + bucket.keys.nbytes


class Looked(NamedTuple):
    """What was read in one step, when the number *newest* was the last one that was given to a document."""

    newest: int = 0
    #: The numbers of the documents under keys that have to be equal, int64[n] by name of bucket and tag;
    #: those that no document has are left out.
    numbers: Mapping[tuple[bytes, bytes], NDArray[np.int64]] = {}
    #: The buckets of fingerprints, by name.
    buckets: Mapping[bytes, Bucket] = {}


class Probe(NamedTuple):
    """One bucket to be looked at, for one key of a lookup."""

    lookup: int
    key: int
    name: bytes
    epoch: int
    #: What the entries of others are compared with, but for their numbers.
    entry: bytes
    #: The same as a number, None for a key that has to be equal; and in how many bits they may differ.
    target: int | None = None
    distance: int = 0

    def matches(self, looked: Looked, distance: int) -> Matches | None:
        """Return what this meets, None for nothing; the whole keys differ in at most *distance* bits."""
        if self.target is None:
            numbers = looked.numbers.get((self.name, self.entry))
            return None if numbers is None else _matches(numbers, np.zeros(len(numbers), np.uint8))
        bucket = looked.buckets[self.name]
        if not len(bucket.keys):
            return None
        bits = np.bitwise_count(bucket.keys ^ np.uint64(self.target))
        (rows,) = (bits <= self.distance).nonzero()
        if not len(rows):
            return None
        return _matches(bucket.numbers(rows), bits[rows] + np.uint8(distance - self.distance))


def _matches(numbers: NDArray[np.int64], distances: NDArray[np.uint8]) -> Matches:
    return Matches(np.zeros(len(numbers), np.int64), numbers, distances)


def _probes(
    layout: Layout, lookup: int, family: int, keys: Sequence[int], distance: int, epochs: range
) -> list[Probe]:
    """Return the probes of *keys* of a *family* in the buckets of *epochs*, as those of a *lookup*."""
    equal = layout.equal[family]
    if not equal and layout.header.families[family].tables.radius(distance):
        return [probe for key in keys for probe in _flipped(layout, lookup, family, key, distance, epochs)]
    return [
        Probe(lookup, key, bucket, epoch, entry)
        if equal
        else Probe(lookup, key, bucket, epoch, entry, int.from_bytes(entry, "little"), distance)
        for key in keys
        for epoch in epochs
        for bucket, entry in layout.key_places(family, key, epoch)
    ]


def _flipped(layout: Layout, lookup: int, family: int, key: int, distance: int, epochs: range) -> list[Probe]:
    """Return the probes of a *key* in whose buckets a bit of the prefix may differ."""
    tables = layout.header.families[family].tables
    # Several flips may lead to the same bucket. An entry has the last bits of the key, the name the first.
    probes: dict[tuple[bytes, int], Probe] = {}
    for table, (permuted, flips) in enumerate(
        zip(tables.permute(key), tables.flips(distance), strict=True),
        layout.header.first_table[family],
    ):
        target = permuted & REST
        entry = target.to_bytes(NEAR_BYTES - 3, "little")
        for flip in flips:
            rest = distance - (flip >> REST_BITS).bit_count()
            for epoch in epochs:
                name = layout.near_bucket(table, permuted ^ flip, epoch)
                probes[name, rest] = Probe(lookup, key, name, epoch, entry, target, rest)
    return list(probes.values())


class Candidates(NamedTuple):
    """Documents that probes have met, before it is known whether they are still there."""

    #: What each lookup has met.
    met: list[Met]
    #: Keys, each with its family, that so many documents have that no more need to be filed.
    crowded: set[tuple[int, int]]


def _meet(lookup: Lookup, equal: bool, parts: dict[int, list[Matches]], crowded: set[tuple[int, int]]) -> Met:
    """Return what one *lookup* has met, given what the probes of each key have.

    *equal* says whether keys have to be equal. Keys that so many documents have that no more need to be filed
    are added to *crowded*.
    """
    if lookup.nearest and not equal and len(parts) == 1:
        (of_key,) = parts.values()
        return closest(of_key, lookup.nearest)
    found = []
    for key, of_key in parts.items():
        numbers = np.unique(np.concatenate([part.document for part in of_key]))
        if lookup.most and len(numbers) > CAP + lookup.most:
            crowded.add((lookup.family, key))
        if not lookup.most or len(numbers) <= lookup.most:
            found.append(numbers)
    if not found:
        return NONE_MET
    whole = Met(*np.unique(np.concatenate(found), return_counts=True))
    return most_shared(whole, lookup.nearest) if lookup.nearest else whole


class Finder:
    """Finds documents of *store*.

    *handle* returns the handle of a pending document, None of one that is kept, given its number, URL and
    lease. All methods take as long as the network does, and raise `IndexUnavailable`.
    """

    def __init__(self, store: Store, handle: Callable[[int, str, Lease], Pending | None]) -> None:
        self._store = store
        self._handle = handle
        self._memory = BucketMemory()

    def look(self, document: Documents, lookups: Sequence[Lookup]) -> tuple[list[Probe], Looked, Candidates]:
        """Look up *document*, one row: return where, what is there, and what may be like it."""
        layout = self._store.layout
        keys = layout.keys(document)
        wanted = [
            (lookup, family, keys[family], distance) for lookup, (family, distance, *_) in enumerate(lookups)
        ]
        probes, looked = self._look(wanted)
        met: list[dict[int, list[Matches]]] = [{} for _ in lookups]
        narrowed = [False for _ in lookups]
        for probe in probes:
            if probe.target is None:
                if (probe.name, probe.entry) not in looked.numbers:
                    continue  # so it is for most
            elif looked.buckets[probe.name].is_cut:
                narrowed[probe.lookup] = True
            matches = probe.matches(looked, lookups[probe.lookup].distance)
            if matches is not None:
                met[probe.lookup].setdefault(probe.key, []).append(matches)
        crowded: set[tuple[int, int]] = set()
        found = [
            _meet(lookup, layout.equal[lookup.family], parts, crowded)._replace(narrowed=cut)
            if parts or cut
            else NONE_MET
            for lookup, parts, cut in zip(lookups, met, narrowed, strict=True)
        ]
        return probes, looked, Candidates(found, crowded)

    def _look(self, wanted: Sequence[tuple[int, int, Sequence[int], int]]) -> tuple[list[Probe], Looked]:
        """Read the buckets in which keys are looked up; return the probes, and what is there.

        *wanted* has for each lookup its number, the family, the keys, and in how many bits they may differ.
        """
        store = self._store
        while True:
            epochs = store.epochs
            probes = [probe for each in wanted for probe in _probes(store.layout, *each, epochs)]
            if not probes:
                store.calls.drain()
                return probes, Looked()
            equal = {(probe.name, probe.entry): probe.epoch for probe in probes if probe.target is None}
            near = {probe.name: probe.epoch for probe in probes if probe.target is not None}
            known = self._memory.known(near)
            # What this process has settled goes along, and is seen.
            look = store.looking([*equal], near, [(each.length, each.last) for each in known], MOST_BYTES)
            ((newest, *parts),) = store.calls.run_all([look], reads=True)
            if epoch_of(newest + 1) == epochs[-1]:
                break
            store.learn_epochs()
        numbers = {
            place: unpack_numbers(data, epoch)
            for (place, epoch), data in zip(equal.items(), parts, strict=False)
            if data
        }
        buckets = {
            name: bucket.followed(*part)
            for name, bucket, part in zip(near, known, parts[len(equal) :], strict=True)
        }
        self._memory.keep(buckets)
        return probes, Looked(newest, numbers, buckets)

    def found(
        self, document: Documents, lookups: Sequence[Lookup], candidates: Candidates
    ) -> tuple[Found, Known]:
        """Return those of *candidates* that are there, and all that the server says of them."""
        wanted = sorted(set().union(*(each.documents.tolist() for each in candidates.met)))
        crowded = any(each.crowded for each in candidates.met)
        narrowed = any(each.narrowed for each in candidates.met)
        if not wanted:  # so it is for most pages
            known = self._store.nothing
            none_shared = np.zeros((len(lookups), 0), np.int64)
            return Found(NO_NUMBERS, none_shared, known.documents.stored, [], crowded, narrowed), known
        known = self._store.fetch(wanted)
        there = np.array(known.numbers, np.int64)
        shared = np.zeros((len(lookups), len(there)), np.int64)
        for row, each in zip(shared, candidates.met, strict=True):
            still = is_member(each.documents, there)
            row[there.searchsorted(each.documents[still])] = each.shared[still]
        self._verify(document, lookups, known, shared)
        pending = [
            self._handle(number, known.documents.urls[row], known.leases[row])
            for row, number in enumerate(known.numbers)
        ]
        found = Found(there, shared, known.documents.stored, pending, crowded, narrowed)
        meets = shared.any(axis=0)
        return (found if meets.all() else found.take(np.flatnonzero(meets))), known

    def _verify(
        self, document: Documents, lookups: Sequence[Lookup], known: Known, shared: NDArray[np.int64]
    ) -> None:
        """Correct how many equal keys are *shared*: entries have 24 bits of a hash, documents the keys."""
        header = self._store.header
        for lookup, (family, *_) in enumerate(lookups):
            kind, rows = header.families[family], header.rows[family]
            if not kind.equal or not shared[lookup].any():
                continue
            ours = document.keys[rows, 0]
            ours = np.unique(ours[kind.has(ours)])
            equal = (known.documents.keys[rows][:, :, np.newaxis] == ours).any(axis=0).sum(axis=1)
            np.minimum(shared[lookup], equal, out=shared[lookup])

    def search(
        self, family: int, keys: NDArray[np.uint64], distance: int, most: int
    ) -> tuple[Matches, Known]:
        """Do what `Index.search` does; return also what the server says of the documents."""
        met = self._numbers_near(family, keys, distance)
        known = self._store.fetch(sorted(set().union(*met.values())))
        place = {number: row for row, number in enumerate(known.numbers)}
        stored = known.documents.keys[self._store.header.rows[family]]
        has = self._store.header.families[family].has(stored)
        parts = []
        for query, numbers in sorted(met.items()):
            at = np.array(sorted(place[number] for number in numbers if number in place), np.int64)
            if not len(at):
                continue
            bits = np.where(has[:, at], np.bitwise_count(stored[:, at] ^ keys[query]), np.uint8(255)).min(
                axis=0
            )
            at, bits = at[bits <= distance], bits[bits <= distance]
            if len(at) and not (most and len(at) > most):
                found_numbers = np.array(known.numbers, np.int64)[at]
                parts.append(Matches(np.full(len(at), query), found_numbers, bits.astype(np.uint8)))
        if not parts:
            return NO_MATCHES, known
        return Matches(*(np.concatenate(column) for column in zip(*parts, strict=True))), known

    def _numbers_near(self, family: int, keys: NDArray[np.uint64], distance: int) -> dict[int, set[int]]:
        """Return the numbers of the documents that may be near each of *keys*, by the key's place."""
        met: dict[int, set[int]] = {}
        has = self._store.header.families[family].has(keys).tolist()
        for start in range(0, len(keys), BATCH):
            some = enumerate(keys[start : start + BATCH].tolist(), start)
            wanted = [(number, family, [key], distance) for number, key in some if has[number]]
            near, looked = self._look(wanted)
            looked = self._whole(looked)
            for probe in near:
                matches = probe.matches(looked, distance)
                if matches is not None:
                    met.setdefault(probe.lookup, set()).update(matches.document.tolist())
        return met

    def _whole(self, looked: Looked) -> Looked:
        """Read those buckets in full of which the oldest entries were passed over; they are not kept."""
        store, buckets = self._store, dict(looked.buckets)
        for name, cut in looked.buckets.items():
            if cut.is_cut:
                unknown = Bucket(cut.epoch)
                _, part = store.calls.run(store.looking((), [name], [(0, b"")], MAX_BYTES))
                buckets[name] = unknown.followed(*part)
        return looked._replace(buckets=buckets)
