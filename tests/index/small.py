"""An index whose every size is small: few documents make many commits, flushes, merges and partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from scrapy_neardup.index import Documents, Header, LmdbIndex
from scrapy_neardup.index.lmdb.environment import Tuning
from scrapy_neardup.index.lmdb.snapshot import Snapshot, reading
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, Family
from tests.index.conformance import reserve

HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL)), (("time", "<u4"), ("tag", "<u8")))
SMALL = Tuning(
    closing_seconds=0.0,
    group_documents=4,
    flush_documents=16,
    rows=4,
    transaction_values=2,
    block_documents=8,
    partition_entries=16,
    partitions=8,
    few_keys=1,
    candidates_at_once=16,
)


def note_of(url: str) -> bytes:
    """Return a note that only the document of *url* has, of no bytes to some hundred."""
    return url.encode() * (int(url[1:]) % 40)


def documents(fingerprints: Sequence[int], urls: Sequence[str], written: int = 0) -> Documents:
    """Documents with a fingerprint, a key made of the URL, which is ``u`` and a number, and a note of it."""
    keys = np.array([fingerprints, [int(url[1:]) for url in urls]], np.uint64).reshape(2, len(urls))
    records = np.zeros(len(urls), HEADER.dtype)
    records["time"] = written
    records["tag"] = keys[0] ^ keys[1]
    return Documents(keys, records, list(urls), [note_of(url) for url in urls])


def numbered(numbers: Sequence[int], written: int = 0) -> Documents:
    """Documents of the URLs ``u`` and each of *numbers*, whose fingerprints are not near each other."""
    return documents([number * 7919 for number in numbers], [f"u{number}" for number in numbers], written)


def store(index: LmdbIndex, *numbers: int) -> None:
    """Reserve and confirm documents u1, u2 ..."""
    for number in numbers:
        reserve(index, documents([number], [f"u{number}"])).confirm()


def has(index: LmdbIndex, number: int) -> bool:
    matches = index.search(1, np.array([number], np.uint64))
    return index.fetch(matches.document).urls == [f"u{number}"]


def reading_of(index: LmdbIndex) -> AbstractContextManager[Snapshot]:
    """Return a snapshot of its own of what is committed."""
    return reading(index._environment, index.header)


def wait(until: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
