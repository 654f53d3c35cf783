"""Going through all documents of an index on a server, for commands."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from .address import Address
from .index import RedisIndex
from .layout import EPOCH_BITS, epoch_of
from .opening import documents_added
from .store import BATCH, GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Documents


def opened(url: str) -> closing[RedisIndex]:
    """Open the index of *url*, which has to be there, beside its other users."""
    return closing(RedisIndex(Address.parse(url), None))


def all_documents(index: RedisIndex) -> Iterator[tuple[NDArray[np.int64], Documents]]:
    """Yield the numbers (int64[n]) and the contents of all documents that are confirmed, some at a time."""
    prefix = index.address.prefix
    for group in index.server.call("ZRANGE", prefix + b"t", 0, -1):
        values = index.server.call("LRANGE", prefix + b"d" + group, 0, -1)
        there = {number: value for number, value in enumerate(values, int(group) * GROUP) if value}
        leases = index.states([*there])
        kept = [number for number, lease in zip(there, leases, strict=True) if lease.confirmed]
        yield np.array(kept, np.int64), index.layout.values.unpack([there[number] for number in kept])


def describe(index: RedisIndex) -> dict[str, Any]:
    """Return numbers and parameters of the index, by name, ready for JSON."""
    header, gauges = index.header, index.gauges()
    return {
        "url": index.address.shown,
        "name": index.address.name,
        "uuid": header.uuid,
        "format": header.format,
        "created": header.created,
        **{name: header.parameters.get(name) for name in ("scheme", "features", "extractor")},
        "tables": [len(family.tables) for family in header.families],
        "documents": gauges["documents"],
        "pending": gauges["pending"],
        "added": documents_added(index.server),
    }


def find_problems(index: RedisIndex) -> Iterator[str]:
    """Yield what is wrong: documents that are not in a bucket where they should be.

    A key that more than a thousand documents have need not be filed.
    """
    for numbers, documents in all_documents(index):
        places = [
            (number, place)
            for row, number in enumerate(numbers.tolist())
            for place in index.layout.places(documents.take(slice(row, row + 1)), epoch_of(number))
        ]
        for start in range(0, len(places), BATCH):
            some = places[start : start + BATCH]
            buckets = index.buckets({place.bucket for _, place in some})
            for number, place in some:
                low = (number & (1 << EPOCH_BITS) - 1).to_bytes(3, "little")
                width = len(place.entry) + len(low)
                entries = np.frombuffer(buckets[place.bucket], np.uint8)
                if len(entries) % width:
                    yield f"the bucket {place.bucket.hex()} was cut"
                    continue
                entries = entries.reshape(-1, width)
                there = entries[
                    (entries[:, : len(place.entry)] == np.frombuffer(place.entry, np.uint8)).all(axis=1)
                ]
                is_filed = (there[:, len(place.entry) :] == np.frombuffer(low, np.uint8)).all(axis=1).any()
                if not is_filed and len(there) < GROUP:
                    yield f"document {number} is missing in the bucket {place.bucket.hex()}"
