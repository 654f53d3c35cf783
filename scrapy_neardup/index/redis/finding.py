"""Finding documents on a server: one round trip reads buckets, a second fetches the documents they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index.protocol import Found
from scrapy_neardup.index.search import NO_MATCHES, NONE_MET, Matches, Met, closest, is_member, most_shared

from .layout import NEAR_BYTES, NO_NUMBERS, REST, REST_BITS, unpack_near, unpack_numbers
from .store import BATCH, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Lookup, Pending

    from .layout import Generation, Layout
    from .store import Store

#: Of longer buckets a crawl reads only the newest entries: a flood must not make every lookup dear.
MOST_BYTES = (1 << 18) // NEAR_BYTES * NEAR_BYTES
#: No value of a server is longer.
MAX_BYTES = 1 << 29
#: A key that so many more documents have than a lookup accepts need not be filed: it is passed over anyway.
CAP = 1024


class Probe(NamedTuple):
    """One bucket to be looked at, for one key of a lookup."""

    lookup: int
    key: int
    name: bytes
    generation: Generation
    #: What the entries of others are compared with, but for their numbers.
    entry: bytes
    #: The same as a number, None for a key that has to be equal; and in how many bits they may differ.
    target: int | None = None
    distance: int = 0


class Looked(NamedTuple):
    """What was read in one step, when the number *newest* was the last one that was given to a document."""

    newest: int
    #: The numbers of the documents under keys that have to be equal, int64[n] by name of bucket and tag;
    #: those that no document has are left out.
    numbers: Mapping[tuple[bytes, bytes], NDArray[np.int64]] = {}
    #: The keys and numbers in buckets of fingerprints, by name: uint64[n], int64[n].
    buckets: Mapping[bytes, tuple[NDArray[np.uint64], NDArray[np.int64]]] = {}
    #: The buckets that were too long to be read in full.
    cut: frozenset[bytes] = frozenset()

    def matches(self, probe: Probe, distance: int) -> Matches | None:
        """Return what a probe meets, None for nothing; the whole keys differ in at most *distance* bits."""
        if probe.target is None:
            numbers = self.numbers.get((probe.name, probe.entry), NO_NUMBERS)
            distances = np.zeros(len(numbers), np.uint8)
        else:
            keys, numbers = self.buckets[probe.name]
            bits = np.bitwise_count(keys ^ np.uint64(probe.target))
            (rows,) = (bits <= probe.distance).nonzero()
            numbers, distances = numbers[rows], bits[rows] + np.uint8(distance - probe.distance)
        return Matches(np.zeros(len(numbers), np.int64), numbers, distances) if len(numbers) else None


def _probes(
    layout: Layout, lookup: int, family: int, key: int, distance: int, generation: Generation
) -> list[Probe]:
    """Return the probes of a *key* of a *family* in the buckets of a *generation*, as those of a *lookup*."""
    places = layout.key_places(family, key, generation)
    if layout.equal[family]:
        return [Probe(lookup, key, bucket, generation, entry) for bucket, entry in places]
    tables = layout.header.families[family].tables
    if not tables.radius(distance):
        return [
            Probe(lookup, key, bucket, generation, entry, int.from_bytes(entry, "little"), distance)
            for bucket, entry in places
        ]
    # A bit of the prefix may differ. Several flips may lead to the same bucket: an entry has the last bits of
    # the key, the name the first.
    probes: dict[tuple[bytes, int], Probe] = {}
    for table, (permuted, flips) in enumerate(zip(tables.permute(key), tables.flips(distance), strict=True)):
        target, entry = permuted & REST, places[table].entry
        for flip in flips:
            rest = distance - (flip >> REST_BITS).bit_count()
            name = layout.near_bucket(family, table, permuted ^ flip, generation)
            probes[name, rest] = Probe(lookup, key, name, generation, entry, target, rest)
    return list(probes.values())


class Candidates(NamedTuple):
    """Documents that probes have met, before it is known whether they are still there."""

    #: What each lookup has met.
    met: list[Met]
    #: Keys, each with its family, that so many documents have that no more need to be filed.
    crowded: set[tuple[int, int]]


def _meet(lookup: Lookup, equal: bool, parts: dict[int, list[Matches]], crowded: set[tuple[int, int]]) -> Met:
    """Return what a *lookup* has met, given what the probes of each key have; add to *crowded*."""
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
    """Finds documents of *store*; *handle* returns the `Pending` of a number, URL and lease."""

    def __init__(self, store: Store, handle: Callable[[int, str, Lease], Pending | None]) -> None:
        self._store = store
        self._handle = handle

    def look(self, document: Documents, lookups: Sequence[Lookup]) -> tuple[list[Probe], Looked, Candidates]:
        """Look up *document*, one row: return where, what is there, and what may be like it."""
        layout = self._store.layout
        keys = layout.keys(document)
        wanted = [
            (lookup, family, key, distance)
            for lookup, (family, distance, *_) in enumerate(lookups)
            for key in keys[family]
        ]
        probes, looked = self._look(wanted, MOST_BYTES)
        met: list[dict[int, list[Matches]]] = [{} for _ in lookups]
        narrowed = [False for _ in lookups]
        for probe in probes:
            if probe.name in looked.cut:
                narrowed[probe.lookup] = True
            matches = looked.matches(probe, lookups[probe.lookup].distance)
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

    def _look(self, wanted: Sequence[tuple[int, int, int, int]], most: int) -> tuple[list[Probe], Looked]:
        """Look up keys (of a lookup, of a family, within a distance); read at most so many bytes a bucket."""
        store = self._store
        while True:
            probes = [
                probe
                for each in wanted
                for generation in store.generations
                for probe in _probes(store.layout, *each, generation)
            ]
            if not probes:
                store.calls.drain()
                return probes, Looked(0)
            equal = {(each.name, each.entry): each.generation for each in probes if each.target is None}
            near = {each.name: each.generation for each in probes if each.target is not None}
            # What this process has settled goes along, and is seen.
            looking = store.looking([*equal], near, most)
            newest, known, oldest, *parts = store.calls.run(looking, reads=True)
            if store.learn(known):
                break
        first = int(oldest or 0)
        numbers, buckets = {}, {}
        for (place, generation), data in zip(equal.items(), parts, strict=False):
            if data:
                found = unpack_numbers(data, generation)
                numbers[place] = found[found >= first] if first else found
        for (name, generation), data in zip(near.items(), parts[len(equal) :], strict=True):
            keys, found = unpack_near(data, generation)
            buckets[name] = (keys[found >= first], found[found >= first]) if first else (keys, found)
        cut = frozenset(
            name for name, data in zip(near, parts[len(equal) :], strict=True) if len(data) == most
        )
        return probes, Looked(int(newest), numbers, buckets, cut)

    def found(self, document: Documents, lookups: Sequence[Lookup], candidates: Candidates) -> Found:
        """Return those of *candidates* that are there."""
        wanted = sorted(set().union(*(each.documents.tolist() for each in candidates.met)))
        crowded = any(each.crowded for each in candidates.met)
        narrowed = any(each.narrowed for each in candidates.met)
        known = self._store.fetch(wanted) if wanted else self._store.nothing
        there = np.array(known.numbers, np.int64)
        shared = np.zeros((len(lookups), len(there)), np.int64)
        if not len(there):  # so it is for most pages
            return Found(there, shared, known.documents.stored, [], crowded, narrowed)
        for row, each in zip(shared, candidates.met, strict=True):
            still = is_member(each.documents, there)
            row[there.searchsorted(each.documents[still])] = each.shared[still]
        self._verify(document, lookups, known, shared)
        rows = zip(known.numbers, known.documents.urls, known.leases, strict=True)
        pending = [self._handle(*each) for each in rows]
        found = Found(there, shared, known.documents.stored, pending, crowded, narrowed)
        meets = shared.any(axis=0)
        return found if meets.all() else found.take(np.flatnonzero(meets))

    def _verify(
        self, document: Documents, lookups: Sequence[Lookup], known: Known, shared: NDArray[np.int64]
    ) -> None:
        """Correct how many equal keys are *shared*: entries have few bits of a hash, documents the keys."""
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
        met: dict[int, set[int]] = {}
        has = self._store.header.families[family].has(keys).tolist()
        for start in range(0, len(keys), BATCH):
            some = enumerate(keys[start : start + BATCH].tolist(), start)
            wanted = [(number, family, key, distance) for number, key in some if has[number]]
            probes, looked = self._look(wanted, MAX_BYTES)
            for probe in probes:
                matches = looked.matches(probe, distance)
                if matches is not None:
                    met.setdefault(probe.lookup, set()).update(matches.document.tolist())
        known = self._store.fetch(sorted(set().union(*met.values())))
        place = {number: row for row, number in enumerate(known.numbers)}
        stored = known.documents.keys[self._store.header.rows[family]]
        held = self._store.header.families[family].has(stored)
        parts = []
        for query, numbers in sorted(met.items()):
            at = np.array(sorted(place[number] for number in numbers if number in place), np.int64)
            differ = np.bitwise_count(stored[:, at] ^ keys[query])
            bits = np.where(held[:, at], differ, np.uint8(255)).min(axis=0)
            at, bits = at[bits <= distance], bits[bits <= distance]
            if len(at) and not (most and len(at) > most):
                documents = np.array(known.numbers, np.int64)[at]
                parts.append(Matches(np.full(len(at), query), documents, bits.astype(np.uint8)))
        if not parts:
            return NO_MATCHES, known
        return Matches(*(np.concatenate(column) for column in zip(*parts, strict=True))), known
