"""Going through all documents of an index on a server, for commands."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from .address import Address
from .index import RedisIndex
from .layout import unpack
from .scripts import LOOK
from .store import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_neardup.index.protocol import Documents

#: Documents of a group, see scripts.py.
GROUP = 1024


def opened(url: str) -> closing[RedisIndex]:
    """Open the index of *url*, which has to be there, beside its other users."""
    return closing(RedisIndex(Address.parse(url), None))


def all_documents(index: RedisIndex) -> Iterator[tuple[NDArray[np.int64], Documents]]:
    """Yield the numbers (int64[n]) and the contents of all documents that are confirmed, some at a time."""
    prefix = index.address.prefix
    for group in index.server.call("ZRANGE", prefix + b"t", 0, -1):
        stored = index.server.call("HGETALL", prefix + b"d" + group)
        # As pairs of lists, whatever the client library makes of it.
        pairs = dict(zip(stored[::2], stored[1::2], strict=True))
        numbers = sorted(int(group) * GROUP + int.from_bytes(field, "little") for field in pairs)
        leases = index.states(numbers)
        kept = [number for number, lease in zip(numbers, leases, strict=True) if lease.confirmed]
        values = [pairs[(number % GROUP).to_bytes(2, "little")] for number in kept]
        yield np.array(kept, np.int64), index.layout.documents(values)


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
        "added": int(index.server.call("GET", index.address.prefix + b"n") or 0),
    }


def find_problems(index: RedisIndex) -> Iterator[str]:
    """Yield what is wrong: documents that are not in a bucket where they should be.

    A key that more than a thousand documents have need not be filed.
    """
    for numbers, documents in all_documents(index):
        places = [
            (number, place)
            for row, number in enumerate(numbers.tolist())
            for place in index.layout.places(documents.take(slice(row, row + 1)))
        ]
        for start in range(0, len(places), BATCH):
            some = places[start : start + BATCH]
            names = [place.bucket for _, place in some]
            arguments = [each for _ in some for each in (0, b"", 1 << 30)]
            parts = index.run(LOOK, names, arguments)
            for (number, place), part in zip(some, parts, strict=True):
                keys, filed = unpack(part[1], place.size)
                there = filed[keys == np.uint64(int.from_bytes(place.entry, "little"))]
                if number not in there and len(there) < GROUP:
                    yield f"document {number} is missing in the bucket {place.bucket.hex()}"
