"""Finding documents on a server: one round trip reads buckets, a second fetches the documents they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.index.matches import NO_MATCHES, Matches
from scrapy_neardup.index.protocol import Found
from scrapy_neardup.index.sorted_arrays import is_member

from .buckets import Bucket, BucketMemory
from .probes import probes_of_key
from .scripts import LOOK
from .store import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.leases import Lease
    from scrapy_neardup.index.protocol import Documents, Lookup, Pending

    from .probes import MetByProbes, Probe
    from .store import Known, Store


class Finder:
    """Finds documents of *store*.

    *handle* returns the handle of a pending document, None of one that is kept, given its number, URL and
    lease.
    """

    def __init__(self, store: Store, handle: Callable[[int, str, Lease], Pending | None]) -> None:
        self._store = store
        self._handle = handle
        self._memory = BucketMemory()

    def look(self, probes: Sequence[Probe]) -> dict[bytes, Bucket]:
        """Read the buckets of *probes*; return them by their names."""
        sizes = {probe.name: probe.size for probe in probes}
        if not sizes:
            self._store.settling.drain()
            return {}
        age = self._store.server.age
        names = list(sizes)
        buckets = dict(zip(names, self._memory.known(names, list(sizes.values()), age), strict=True))
        arguments = [each for bucket in buckets.values() for each in bucket.arguments()]
        # What this process has settled goes along, and is seen.
        parts = self._store.settling.drain(self._store.call(LOOK, names, arguments))
        return self.follow(buckets, parts, age)

    def _whole(self, buckets: Iterable[tuple[bytes, Bucket]]) -> dict[bytes, Bucket]:
        """Read *buckets*, of which the oldest entries were passed over, in full; they are not kept."""
        store = self._store
        return {
            name: bucket.followed(*store.run(store.call(LOOK, [name], bucket.arguments(whole=True)))[0])
            for name, bucket in ((name, Bucket.unknown(cut.size)) for name, cut in buckets)
        }

    def follow(self, buckets: dict[bytes, Bucket], parts: Sequence[Any], age: int) -> dict[bytes, Bucket]:
        """Return *buckets* with what the server says of them; it was asked at the *age* of its data."""
        newest = {
            name: bucket.followed(*part) for (name, bucket), part in zip(buckets.items(), parts, strict=True)
        }
        self._memory.keep(list(newest), list(newest.values()), age)
        return newest

    def found(
        self, document: Documents, lookups: Sequence[Lookup], candidates: MetByProbes
    ) -> tuple[Found, Known]:
        """Return those of *candidates* that are there, and all that the server says of them."""
        known = self._store.fetch(sorted(set().union(*(each.documents.tolist() for each in candidates.met))))
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
            crowded=any(each.crowded for each in candidates.met),
            narrowed=any(each.narrowed for each in candidates.met),
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
        kind = self._store.header.families[family]
        met: dict[int, set[int]] = {}
        for start in range(0, len(keys), BATCH):
            asked = keys[start : start + BATCH]
            probes = [
                probe
                for row, key in enumerate(asked.tolist(), start)
                if not (kind.equal and kind.keys > 1 and not kind.has(keys[row : row + 1])[0])
                for probe in probes_of_key(self._store.layout, row, family, key, distance)
            ]
            buckets = self.look(probes)
            whole = self._whole(bucket for bucket in buckets.items() if bucket[1].is_cut)
            for probe in probes:
                bucket = whole.get(probe.name) or buckets[probe.name]
                if len(bucket.keys):
                    numbers = probe.matches(bucket, distance).document
                    met.setdefault(probe.lookup, set()).update(numbers.tolist())
        return met
