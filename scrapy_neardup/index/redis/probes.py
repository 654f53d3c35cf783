"""Which buckets a document's keys are looked up in, and which entries there are like its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.search import NONE_MET, Met, closest, most_shared

from .layout import NEAR_BYTES, REST, REST_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Documents, Lookup

    from .layout import Layout
    from .looked import Looked

#: A key that so many more documents have than a lookup accepts need not be filed: it is passed over anyway.
CAP = 1024


class Probe(NamedTuple):
    """One bucket to be looked at, for one key of a lookup."""

    lookup: int
    key: int
    name: bytes
    epoch: int
    #: What the entries of others are compared with, but for their numbers.
    entry: bytes
    #: The same as a number, and in how many bits they may differ; None for a key that has to be equal.
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


class MetByProbes(NamedTuple):
    """Documents that probes have met, before it is known whether they are still there."""

    #: What each lookup has met.
    met: list[Met]
    #: Keys, each with its family, that so many documents have that no more need to be filed.
    crowded: set[tuple[int, int]]


def probes_of(layout: Layout, document: Documents, lookups: Sequence[Lookup], epochs: range) -> list[Probe]:
    """Return the probes of *document*, one row, in the buckets of *epochs*."""
    keys = layout.keys(document)
    probes: list[Probe] = []
    for number, (family, distance, *_) in enumerate(lookups):
        probes += probes_of_keys(layout, number, family, keys[family], distance, epochs)
    return probes


def probes_of_keys(
    layout: Layout, lookup: int, family: int, keys: Sequence[int], distance: int, epochs: range
) -> list[Probe]:
    """Return the probes of *keys* of a *family*, as those of the lookup with number *lookup*."""
    places = layout.key_places
    if layout.equal[family]:
        return [
            Probe(lookup, key, bucket, epoch, entry)
            for key in keys
            for epoch in epochs
            for bucket, entry in places(family, key, epoch)
        ]
    tables = layout.header.families[family].tables
    if tables.radius(distance):
        return [probe for key in keys for probe in _flipped(layout, lookup, family, key, distance, epochs)]
    return [
        Probe(lookup, key, bucket, epoch, entry, int.from_bytes(entry, "little"), distance)
        for key in keys
        for epoch in epochs
        for bucket, entry in places(family, key, epoch)
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


def compare(
    layout: Layout, probes: Sequence[Probe], looked: Looked, lookups: Sequence[Lookup]
) -> MetByProbes:
    """Return what *probes* meet in what was *looked* at."""
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
    return MetByProbes(
        [
            _meet(lookup, layout.header.families[lookup.family].equal, parts, crowded)._replace(narrowed=cut)
            if parts or cut
            else NONE_MET
            for lookup, parts, cut in zip(lookups, met, narrowed, strict=True)
        ],
        crowded,
    )


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
