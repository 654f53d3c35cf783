"""What this process knows of the buckets of fingerprints.

Long ones are kept, so that only what is new of them is read again. Real texts crowd: some buckets hold many
more documents than others, and those are the ones that lookups meet. They would be most of what goes over the
network.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .layout import NEAR_BYTES, NO_KEYS, unpack_keys, unpack_numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Buckets of more bytes are kept, of so many bytes together.
KEPT_FROM, KEPT_BYTES = 1024, 64 << 20
#: Of longer buckets a crawl reads only the newest entries: a flood must not make every lookup dear.
MOST_BYTES = (1 << 20) // NEAR_BYTES * NEAR_BYTES
#: No value of a server is longer.
MAX_BYTES = 1 << 29


class Bucket(NamedTuple):
    """What is known of a bucket."""

    #: The epoch of its documents.
    epoch: int
    #: Its length in bytes.
    length: int = 0
    #: Its entries as far as they are known, and their keys.
    data: bytes = b""
    keys: NDArray[np.uint64] = NO_KEYS

    def followed(self, start: int, data: bytes, anew: int = 0) -> Bucket:
        """Return the bucket after an answer of the script LOOK, which has its *data* from byte *start* on.

        The data continues what is known, or with *anew* replaces it.
        """
        if not data and not anew:
            return self
        keys = unpack_keys(data)
        if anew:
            return Bucket(self.epoch, start + len(data), data, keys)
        return Bucket(self.epoch, start + len(data), self.data + data, np.concatenate((self.keys, keys)))

    @property
    def last(self) -> bytes:
        """Its last entry."""
        return self.data[-NEAR_BYTES:]

    def numbers(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the numbers of the entries at *rows*."""
        return unpack_numbers_of(self.data, rows, self.epoch)

    @property
    def is_cut(self) -> bool:
        """Whether only the newest of its entries are known."""
        return self.length > len(self.data)


class BucketMemory:
    """Long buckets, the ones used last first. Its methods may be called from any thread."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._bytes = 0
        self._age = 0
        self._buckets: OrderedDict[bytes, Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, names: Sequence[bytes], age: int) -> list[Bucket | None]:
        """Return what is known of buckets; nothing of an earlier *age* is."""
        with self._lock:
            if age != self._age:
                self._buckets.clear()
                self._bytes, self._age = 0, age
            return [self._get(name) for name in names]

    def keep(self, names: Sequence[bytes], buckets: Sequence[Bucket], age: int) -> None:
        """Remember long ones, unless another *age* has begun."""
        with self._lock:
            if age != self._age:
                return
            for name, bucket in zip(names, buckets, strict=True):
                if bucket.length >= KEPT_FROM and self._buckets.get(name) is not bucket:
                    self._drop(name)
                    self._buckets[name] = bucket
                    self._bytes += _bytes(bucket)
            while self._bytes > self._kept_bytes:
                self._drop(next(iter(self._buckets)))

    def _get(self, name: bytes) -> Bucket | None:
        bucket = self._buckets.get(name)
        if bucket is not None:
            self._buckets.move_to_end(name)
        return bucket

    def _drop(self, name: bytes) -> None:
        bucket = self._buckets.pop(name, None)
        if bucket is not None:
            self._bytes -= _bytes(bucket)


def _bytes(bucket: Bucket) -> int:
    return len(bucket.data) + bucket.keys.nbytes
