"""Going through all documents of an index on a server, for commands."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from .address import Address
from .finding import MAX_BYTES
from .index import RedisIndex
from .layout import EPOCH_BITS, epoch_of
from .server import documents_added
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
    for group in index.server.call("ZRANGE", index.address.prefix + b"t", 0, -1):
        numbers, documents, leases = index.store.fetch(range(int(group) * GROUP, (int(group) + 1) * GROUP))
        rows = np.flatnonzero(np.array([lease.confirmed for lease in leases], bool))
        yield np.array(numbers, np.int64)[rows], documents.take(rows)


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
    store, low_bits = index.store, (1 << EPOCH_BITS) - 1
    for numbers, documents in all_documents(index):
        places = [
            (number, place)
            for row, number in enumerate(numbers.tolist())
            for place in store.layout.places(documents.take(slice(row, row + 1)), epoch_of(number))
        ]
        for start in range(0, len(places), BATCH):
            some = places[start : start + BATCH]
            widths = {place.bucket: len(place.entry) + 3 for _, place in some}
            looking = store.looking((), widths, [(0, b"")] * len(widths), MAX_BYTES)
            _, *parts = store.calls.run(looking)
            buckets = {
                name: {data[at : at + width] for at in range(0, len(data), width)}
                for (name, width), (_, data, *_) in zip(widths.items(), parts, strict=True)
            }
            for number, (name, entry) in some:
                if any(len(each) != widths[name] for each in buckets[name]):
                    yield f"the bucket {name.hex()} was cut"
                elif entry + (number & low_bits).to_bytes(3, "little") not in buckets[name] and (
                    sum(each.startswith(entry) for each in buckets[name]) < GROUP
                ):
                    yield f"document {number} is missing in the bucket {name.hex()}"
