"""Partitions that a snapshot remembers: views where LMDB leaves them in place, else copies; not too many."""

from __future__ import annotations

import numpy as np

from scrapy_neardup.index.lmdb.blocks import encode_partition
from scrapy_neardup.index.lmdb.snapshot import LEAF_VALUE_BYTES, PARTITION_BYTES, PartitionCache
from scrapy_neardup.index.sorted_arrays import Entries


def encoded(size: int) -> bytearray:
    keys = np.arange(size, dtype=np.uint64) << np.uint64(32)
    return bytearray(encode_partition(Entries(keys, np.arange(size, dtype=np.uint32)), 0))


def test_a_small_value_is_copied_and_a_large_one_is_read_in_place() -> None:
    cache = PartitionCache(1 << 20)
    small, large = encoded(10), encoded(LEAF_VALUE_BYTES // 8)
    found = [cache.remember((1, 0, number), data, 0) for number, data in enumerate((small, large))]
    assert found == [cache[1, 0, 0], cache[1, 0, 1]]
    small[:8] = large[:8] = b"\xff" * 8
    assert found[0].entries.keys[0] == 0
    assert found[1].entries.keys[0] == 2**64 - 1


def test_all_are_forgotten_before_they_take_too_much() -> None:
    data = encoded(10)
    cache = PartitionCache(3 * (PARTITION_BYTES + len(data)))
    sizes = [len(cache) for number in range(7) if cache.remember((1, 0, number), data, 0)]
    assert sizes == [1, 2, 3, 1, 2, 3, 1]
    assert [*cache] == [(1, 0, 6)]


def test_partitions_of_runs_that_are_gone_are_forgotten() -> None:
    cache = PartitionCache(1 << 20)
    for run in (1, 2, 3):
        cache.remember((run, 0, 0), encoded(1), 0)
    cache.keep({1, 3})
    assert [*cache] == [(1, 0, 0), (3, 0, 0)]
