"""Which buckets a document's keys are looked up in, and which entries there are like its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.search import NONE_MET, Met, closest, most_shared

from .layout import NEAR_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_neardup.index.protocol import Documents, Lookup

    from .buckets import Bucket
    from .layout import Layout

#: A key that so many documents have is not filed any more if a lookup passes it over long before.
CAP = 1024


class Probe(NamedTuple):
    """One bucket to be looked at, for one key of a lookup."""

    lookup: int
    key: int
    name: bytes
    size: int
    #: What the entries are compared with, and in how many bits they may differ.
    target: int
    distance: int

    def matches(self, bucket: Bucket, distance: int) -> Matches:
        """Return what this meets in *bucket*; the whole keys differ in at most *distance* bits."""
        if self.size == NEAR_BYTES:
            bits = np.bitwise_count(bucket.keys ^ np.uint64(self.target))
            (rows,) = (bits <= self.distance).nonzero()
            distances = bits[rows] + np.uint8(distance - self.distance)
        else:
            (rows,) = (bucket.keys == np.uint64(self.target)).nonzero()
            distances = np.zeros(len(rows), np.uint8)
        return Matches(np.zeros(len(rows), np.int64), bucket.numbers[rows], distances)


class MetByProbes(NamedTuple):
    """Documents that probes have met, before it is known whether they are still there."""

    #: What each lookup has met.
    met: list[Met]
    #: Keys, each with its family, that so many documents have that no more need to be filed.
    crowded: set[tuple[int, int]]


def probes_of(layout: Layout, document: Documents, lookups: Sequence[Lookup]) -> list[Probe]:
    """Return the probes of *document*, one row, each once."""
    probes: dict[Probe, None] = {}
    for number, (family, distance, *_) in enumerate(lookups):
        for key in layout.keys(document, family):
            probes |= dict.fromkeys(probes_of_key(layout, number, family, key, distance))
    return list(probes)


def probes_of_key(layout: Layout, lookup: int, family: int, key: int, distance: int) -> list[Probe]:
    """Return the probes of one *key* of a *family*, as those of the lookup with number *lookup*."""
    kind = layout.header.families[family]
    if kind.equal:
        (place,) = layout.key_places(family, key)
        target = int.from_bytes(place.entry, "little")
        return [Probe(lookup, key, place.bucket, place.size, target, 0)]
    probes: dict[Probe, None] = {}
    bits, table = layout.bits[family], layout.header.first_table[family]
    for number, (permuted, flips) in enumerate(
        zip(kind.tables.permute(key), kind.tables.flips(distance), strict=True)
    ):
        for flip in flips:
            name = layout.bucket(table + number, (permuted ^ flip) >> 64 - bits, bits)
            # Entries lack the first 16 bits, which name the bucket.
            rest = distance - (flip >> 48).bit_count()
            probes[Probe(lookup, key, name, NEAR_BYTES, permuted & 2**48 - 1, rest)] = None
    return list(probes)


def compare(
    layout: Layout, probes: Sequence[Probe], buckets: Mapping[bytes, Bucket], lookups: Sequence[Lookup]
) -> MetByProbes:
    """Return what *probes* meet in *buckets*."""
    met: list[dict[int, list[Matches]]] = [{} for _ in lookups]
    narrowed = [False for _ in lookups]
    for probe in probes:
        bucket = buckets[probe.name]
        narrowed[probe.lookup] |= bucket.is_cut
        if len(bucket.keys):
            matches = probe.matches(bucket, lookups[probe.lookup].distance)
            if len(matches.document):
                met[probe.lookup].setdefault(probe.key, []).append(matches)
    crowded: set[tuple[int, int]] = set()
    return MetByProbes(
        [
            _meet(lookup, layout.header.families[lookup.family].equal, parts, crowded)._replace(narrowed=cut)
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
