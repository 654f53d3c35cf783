"""Finding documents on a server: one round trip reads buckets, a second fetches the documents they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index.protocol import Found
from scrapy_neardup.index.search import NO_MATCHES, NONE_MET, Matches, Met, closest, is_member, most_shared

from .layout import NEAR_BYTES, unpack_near, unpack_numbers
from .store import BATCH, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Lookup, Pending

    from .layout import Generation
    from .store import Store

#: Of longer buckets a crawl reads only the newest entries: a flood must not make every lookup dear.
MOST_BYTES = (1 << 18) // NEAR_BYTES * NEAR_BYTES
#: No value of a server is longer.
MAX_BYTES = 1 << 29
#: A key that so many more documents have than a lookup accepts need not be filed: it is passed over anyway.
CAP = 1024


class Wanted(NamedTuple):
    """A key that is looked up, and within what distance."""

    family: int
    key: int
    distance: int = 0


class Looked(NamedTuple):
    """What one look has met, when the number *newest* was the last one that was given to a document."""

    met: Mapping[Wanted, list[Matches]] = {}
    newest: int = 0
    #: Where somebody else may file what would be met: buckets, and the entries but for their numbers.
    places: frozenset[tuple[bytes, bytes]] = frozenset()
    #: The keys of which not all was read.
    cut: frozenset[Wanted] = frozenset()


class Candidates(NamedTuple):
    """Documents that lookups have met, before it is known whether they are still there."""

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

    def look(self, document: Documents, lookups: Sequence[Lookup]) -> tuple[Looked, Candidates]:
        """Look up *document*, one row: return what is there, and what may be like it."""
        layout = self._store.layout
        keys = layout.keys(document)
        asked = [[Wanted(each.family, key, each.distance) for key in keys[each.family]] for each in lookups]
        looked = self._look([each for some in asked for each in some], MOST_BYTES)
        crowded: set[tuple[int, int]] = set()
        found = []
        for lookup, wanted in zip(lookups, asked, strict=True):
            parts = {each.key: looked.met[each] for each in wanted if each in looked.met}
            met = _meet(lookup, layout.equal[lookup.family], parts, crowded)
            found.append(met._replace(narrowed=not looked.cut.isdisjoint(wanted)))
        return looked, Candidates(found, crowded)

    def _look(self, wanted: Sequence[Wanted], most: int) -> Looked:
        """Read the buckets of keys, of each the last bytes, *most* of them."""
        store = self._store
        while True:
            last = store.generations[-1]
            equal: dict[tuple[bytes, bytes], tuple[Generation, list[Wanted]]] = {}
            near: dict[bytes, tuple[Generation, list[tuple[Wanted, int, int]]]] = {}
            filed: list[tuple[bytes, bytes]] = []
            for each in wanted:
                for generation in store.generations:
                    for bucket, entry, within in store.layout.looked_up(*each, generation):
                        if store.layout.equal[each.family]:
                            equal.setdefault((bucket, entry), (generation, []))[1].append(each)
                        else:
                            target = int.from_bytes(entry, "little")
                            near.setdefault(bucket, (generation, []))[1].append((each, target, within))
                        if generation == last:  # nothing new comes into an earlier one
                            filed.append((bucket, entry))
            if not wanted:
                store.calls.drain()
                return Looked()
            # What this process has settled goes along, and is seen.
            looking = store.looking([*equal], near, most)
            newest, known, oldest, *parts = store.calls.run(looking, reads=True)
            if store.learn(known):
                break
        met: dict[Wanted, list[Matches]] = {}
        cut: set[Wanted] = set()

        def add(each: Wanted, numbers: NDArray[np.int64], distances: NDArray[np.uint8]) -> None:
            if oldest:
                there = numbers >= int(oldest)
                numbers, distances = numbers[there], distances[there]
            if len(numbers):
                met.setdefault(each, []).append(Matches(np.zeros(len(numbers), np.int64), numbers, distances))

        for (generation, keys), data in zip(equal.values(), parts, strict=False):
            for each in keys if data else ():  # most have none
                numbers = unpack_numbers(data, generation)
                add(each, numbers, np.zeros(len(numbers), np.uint8))
        for (generation, probes), data in zip(near.values(), parts[len(equal) :], strict=True):
            stored, numbers = unpack_near(data, generation)
            for each, target, within in probes if data else ():
                bits = np.bitwise_count(stored ^ np.uint64(target))
                (rows,) = (bits <= within).nonzero()
                add(each, numbers[rows], bits[rows] + np.uint8(each.distance - within))
                if len(data) == most:
                    cut.add(each)
        return Looked(met, int(newest), frozenset(filed), frozenset(cut))

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
            wanted = {number: Wanted(family, key, distance) for number, key in some if has[number]}
            looked = self._look(list(wanted.values()), MAX_BYTES)
            for number, each in wanted.items():
                for part in looked.met.get(each, ()):
                    met.setdefault(number, set()).update(part.document.tolist())
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
