"""Tombstones: the numbers of removed documents that runs or the log still hold.

They are stored as sorted arrays of their low bits, one for each value of the high bits: so a million of them
are read in a few milliseconds.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.index.decoding import decoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lmdb
    from numpy.typing import NDArray

#: So many low bits of a number are in the value, the others are its key. Part of the format.
LOW_BITS = 14


def read_removed(transaction: lmdb.Transaction, database: Any) -> NDArray[np.int64]:
    """Return all numbers, ascending: int64[n]. Raises `IndexCorrupted`."""
    parts = [np.empty(0, np.int64)]
    with transaction.cursor(database) as cursor:
        for key, value in cursor.iternext():
            with decoding("The list of removed documents"):
                low = np.frombuffer(value, "<u2").astype(np.int64)
                parts.append(low + (int.from_bytes(key, "big") << LOW_BITS))
    return np.concatenate(parts)


def add_removed(
    transaction: lmdb.Transaction, database: Any, numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add *numbers* (int64[n], ascending); returns those that were not there before."""
    parts = [np.empty(0, np.int64)]
    for key, low in _split(numbers):
        with decoding("The list of removed documents"):
            old = np.frombuffer(transaction.get(key, b"", db=database), "<u2")
        parts.append(np.setdiff1d(low, old).astype(np.int64) + (int.from_bytes(key, "big") << LOW_BITS))
        transaction.put(key, np.union1d(old, low).tobytes(), db=database)
    return np.concatenate(parts)


def drop_removed(transaction: lmdb.Transaction, database: Any, numbers: NDArray[np.int64]) -> None:
    """Delete *numbers* (int64[n], ascending)."""
    for key, low in _split(numbers):
        old = np.frombuffer(transaction.get(key, b"", db=database), "<u2")
        new = np.setdiff1d(old, low)
        if len(new):
            transaction.put(key, new.tobytes(), db=database)
        else:
            transaction.delete(key, db=database)


def _split(numbers: NDArray[np.int64]) -> Iterator[tuple[bytes, NDArray[np.uint16]]]:
    """Yield the key and the low bits of *numbers*, for each value of the high bits."""
    high = numbers >> LOW_BITS
    start = np.flatnonzero(np.append(True, high[1:] != high[:-1])[: len(high)])
    high = high[start]
    low = (numbers & ((1 << LOW_BITS) - 1)).astype("<u2")
    for key, (begin, end) in zip(high.tolist(), pairwise([*start.tolist(), len(low)]), strict=True):
        yield key.to_bytes(3, "big"), low[begin:end]
