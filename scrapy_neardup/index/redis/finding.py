"""Finding documents on a server: one round trip reads buckets, a second fetches the documents they name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.matches import NO_MATCHES, Matches
from scrapy_neardup.index.protocol import Found
from scrapy_neardup.index.sorted_arrays import is_member
from scrapy_neardup.index.tables import NO_KEY

from .buckets import MAX_BYTES, MOST_BYTES, Bucket, BucketMemory
from .layout import NO_NUMBERS, epoch_of, unpack_numbers
from .looked import NOTHING_LOOKED, Looked
from .probes import probes_of, probes_of_keys
from .store import BATCH, Known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Lookup, Pending

    from .probes import MetByProbes, Probe
    from .store import Store


class Finder:
    """Finds documents of *store*.

    *handle* returns the handle of a pending document, None of one that is kept, given its number, URL and
    lease.
    """

    def __init__(self, store: Store, handle: Callable[[int, str, Lease], Pending | None]) -> None:
        self._store = store
        self._handle = handle
        self._memory = BucketMemory()

    def look(self, document: Documents, lookups: Sequence[Lookup]) -> tuple[list[Probe], Looked]:
        """Read the buckets in which *document*, one row, is looked up; return how, and what is in them."""
        layout = self._store.layout
        return self._look(lambda epochs: probes_of(layout, document, lookups, epochs))

    def _look(self, probes_in: Callable[[range], list[Probe]]) -> tuple[list[Probe], Looked]:
        """Read the buckets of the probes that *probes_in* returns for epochs; return both."""
        store = self._store
        while True:
            epochs, age = store.epochs, store.server.age
            probes = probes_in(epochs)
            if not probes:
                store.calls.drain()
                return probes, NOTHING_LOOKED
            equal = {(probe.name, probe.entry): probe.epoch for probe in probes if probe.target is None}
            near = {probe.name: probe.epoch for probe in probes if probe.target is not None}
            known = [
                bucket or Bucket(epoch)
                for bucket, epoch in zip(self._memory.known([*near], age), near.values(), strict=True)
            ]
            # What this process has settled goes along, and is seen.
            newest, *parts = store.calls.read(store.looking([*equal], near, known, MOST_BYTES))
            if epoch_of(newest + 1) == epochs[-1]:
                break
            store.learn_epochs()
        numbers = {
            place: unpack_numbers(data, epoch)
            for (place, epoch), data in zip(equal.items(), parts, strict=False)
            if data
        }
        buckets = [bucket.followed(*part) for bucket, part in zip(known, parts[len(equal) :], strict=True)]
        self._memory.keep([*near], buckets, age)
        return probes, Looked(newest, numbers, dict(zip(near, buckets, strict=True)))

    def _whole(self, looked: Looked) -> Looked:
        """Read those buckets in full of which the oldest entries were passed over; they are not kept."""
        store, buckets = self._store, dict(looked.buckets)
        for name, cut in looked.buckets.items():
            if cut.is_cut:
                unknown = Bucket(cut.epoch)
                _, part = store.calls.run(store.looking((), [name], [unknown], MAX_BYTES))
                buckets[name] = unknown.followed(*part)
        return looked._replace(buckets=buckets)

    def found(
        self, document: Documents, lookups: Sequence[Lookup], candidates: MetByProbes
    ) -> tuple[Found, Known]:
        """Return those of *candidates* that are there, and all that the server says of them."""
        wanted = sorted(set().union(*(each.documents.tolist() for each in candidates.met)))
        crowded = any(each.crowded for each in candidates.met)
        narrowed = any(each.narrowed for each in candidates.met)
        if not wanted:  # so it is for most pages
            nothing = self._store.nothing
            none_shared = np.zeros((len(lookups), 0), np.int64)
            stored = nothing.documents.stored
            return Found(NO_NUMBERS, none_shared, stored, [], crowded, narrowed), nothing
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
        found = Found(
            there,
            shared,
            known.documents.stored,
            pending,
            crowded,
            narrowed,
        )
        meets = shared.any(axis=0) if len(lookups) else np.zeros(0, bool)
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
        for start in range(0, len(keys), BATCH):
            asked = keys[start : start + BATCH].tolist()
            near, looked = self._look(partial(self._probes_near, family, asked, start, distance))
            looked = self._whole(looked)
            for probe in near:
                matches = probe.matches(looked, distance)
                if matches is not None:
                    met.setdefault(probe.lookup, set()).update(matches.document.tolist())
        return met

    def _probes_near(
        self, family: int, keys: Sequence[int], first: int, distance: int, epochs: range
    ) -> list[Probe]:
        """Return the probes of *keys*, as those of lookups whose numbers begin with *first*."""
        layout = self._store.layout
        kind = self._store.header.families[family]
        return [
            probe
            for number, key in enumerate(keys, first)
            if not (kind.equal and kind.keys > 1 and key == int(NO_KEY))
            for probe in probes_of_keys(layout, number, family, [key], distance, epochs)
        ]
