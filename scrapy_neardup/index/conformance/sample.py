"""What the conformance suite makes indexes of, and the documents that it files."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index.header import Header
from scrapy_neardup.index.protocol import Documents, Filing, Lookup
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, NO_KEY, Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.index.protocol import Index
    from scrapy_neardup.index.reservation import Reservation

#: How the indexes under test are made: a fingerprint, a hash of the URL, and three further keys a document.
HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL), Family(EQUAL, 3)), (("time", "<u4"), ("tag", "<u8")))
FINGERPRINT, URL, FURTHER = range(3)
#: Looked up by the fingerprint and the URL.
LOOKUPS = (Lookup(FINGERPRINT, 3), Lookup(URL))


def documents(fingerprints: Sequence[int], first: int = 0) -> Documents:
    """Make documents with these fingerprints, whose URLs are ``u`` and a number from *first* on."""
    numbers = range(first, first + len(fingerprints))
    none = [int(NO_KEY)] * len(fingerprints)
    further = [number // 2 for number in numbers]
    keys = np.array([fingerprints, list(numbers), further, none, none], np.uint64).reshape(
        5, len(fingerprints)
    )
    records = np.zeros(len(fingerprints), HEADER.dtype)
    records["tag"] = keys[0] ^ keys[1]
    return Documents(keys, records, [f"u{number}" for number in numbers], [b""] * len(keys[0]))


def reserve(index: Index, document: Documents, replaces: Sequence[int] = ()) -> Reservation:
    """File *document*, one row, as pending, whatever it meets."""
    reservation = index.reserve_if(document, (), lambda found: Filing(document, replaces))
    assert reservation is not None
    return reservation


def urls_of(index: Index, number: int) -> list[str]:
    """Return the URLs of the documents filed under ``u`` and *number*."""
    return index.retrieve(URL, np.array([number], np.uint64))[1].urls


class Conformance:
    """Tests of an index that `open` makes, empty and of `HEADER`."""

    @abstractmethod
    def open(self) -> Index:
        """Return a new and empty index."""

    def reopen(self, index: Index) -> Index:
        """Close *index* and open it again, if it outlives that; else return it as it is."""
        return index
