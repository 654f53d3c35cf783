"""Which buckets a document's keys are looked up in, and which entries there are like its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .layout import NEAR_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

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

    def numbers_in(self, bucket: Bucket) -> NDArray[np.int64]:
        """Return the numbers of the documents whose entries in *bucket* are near enough."""
        if not len(bucket.keys):
            return bucket.numbers
        near: NDArray[np.bool_] = np.bitwise_count(bucket.keys ^ np.uint64(self.target)) <= self.distance
        return bucket.numbers[near]


class Candidates(NamedTuple):
    """Documents that probes have met, before it is known whether they are still there."""

    #: Of each lookup: how many of its keys each number matches.
    shared: list[dict[int, int]]
    #: Keys, each with its family, that so many documents have that no more need to be filed.
    crowded: set[tuple[int, int]]


def probes_of(layout: Layout, document: Documents, lookups: Sequence[Lookup]) -> list[Probe]:
    """Return the probes of *document*, one row, each once."""
    probes: dict[Probe, None] = {}
    for number, (family, distance, _) in enumerate(lookups):
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
    probes: Sequence[Probe], buckets: Mapping[bytes, Bucket], lookups: Sequence[Lookup]
) -> Candidates:
    """Return what *probes* meet in *buckets*."""
    met: dict[tuple[int, int], set[int]] = {}
    for probe in probes:
        numbers = probe.numbers_in(buckets[probe.name])
        if len(numbers):
            met.setdefault((probe.lookup, probe.key), set()).update(numbers.tolist())
    shared: list[dict[int, int]] = [{} for _ in lookups]
    crowded: set[tuple[int, int]] = set()
    for (lookup, key), documents in met.items():
        most = lookups[lookup].most
        if most and len(documents) > CAP + most:
            crowded.add((lookups[lookup].family, key))
        if most and len(documents) > most:
            continue
        for document in documents:
            shared[lookup][document] = shared[lookup].get(document, 0) + 1
    return Candidates(shared, crowded)
