"""The partitions that a snapshot has read, so that it need not decode them again for each search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .partition import Partition, decode_partition

if TYPE_CHECKING:
    from collections.abc import Collection

#: LMDB may move a value of fewer bytes when a neighbour changes, because it lies inside a leaf page. A larger
#: one has pages of its own, and a view of it stays valid as long as its run exists.
LEAF_VALUE_BYTES = 1 << 16
#: What it takes to remember a partition that is read in place.
PARTITION_BYTES = 1 << 11


class PartitionCache(dict[tuple[int, int, int], Partition]):
    """Partitions by run, table and number. Once they take more than *most* bytes, all are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        #: About what the partitions take since all were forgotten.
        self._bytes = 0

    def remember(self, key: tuple[int, int, int], data: bytes | memoryview, cut: int) -> Partition:
        """Decode and keep the partition *key*, whose table is cut by *cut* bits.

        It consists of views of *data*, or of a copy if LMDB may move that. Raises `IndexCorrupted`.
        """
        copied = len(data) < LEAF_VALUE_BYTES
        partition = decode_partition(bytes(data) if copied else data, cut)
        size = PARTITION_BYTES + len(data) * copied
        if self._bytes + size > self._most:
            self.clear()
            self._bytes = 0
        self._bytes += size
        self[key] = partition
        return partition

    def keep(self, runs: Collection[int]) -> None:
        """Forget the partitions of all but these *runs*."""
        for key in [key for key in self if key[0] not in runs]:
            del self[key]
