"""An index whose every size is small: few documents make many commits, flushes, merges and partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.lmdb.environment import Tuning
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, Family

if TYPE_CHECKING:
    from collections.abc import Sequence


HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL)), (("time", "<u4"), ("tag", "<u8")))
SMALL = Tuning(
    closing_seconds=0.0,
    group_documents=4,
    flush_documents=16,
    transaction_values=2,
    block_documents=8,
    partition_entries=16,
    partition_bytes=1 << 14,
    few_keys=1,
    candidates_at_once=16,
)


def note_of(url: str) -> bytes:
    """Return a note that only the document of *url* has, of no bytes to some hundred."""
    return url.encode() * (int(url[1:]) % 40)


def documents(fingerprints: Sequence[int], urls: Sequence[str], time: int = 0) -> Documents:
    """Documents with a fingerprint, a key made of the URL, which is ``u`` and a number, and a note of it."""
    keys = np.array([fingerprints, [int(url[1:]) for url in urls]], np.uint64).reshape(2, len(urls))
    records = np.zeros(len(urls), HEADER.dtype)
    records["time"] = time
    records["tag"] = keys[0] ^ keys[1]
    return Documents(keys, records, list(urls), [note_of(url) for url in urls])
