"""A partition gives back what was put into it, and its directory leads to every key, whatever the keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.lmdb.blocks import decode_partition, encode_partition, is_whole
from scrapy_neardup.index.sorted_arrays import sort_entries

#: Keys that crowd at the ends of the range, or anywhere.
low_bits = st.one_of(st.integers(0, 3), st.integers(2**40 - 3, 2**40 - 1), st.integers(0, 2**40 - 1))


@example(low=list(range(0, 2**40, 2**34)), cut=4, number=3)
@given(low=st.lists(low_bits, max_size=300), cut=st.integers(0, 24), number=st.integers(0, 2**24 - 1))
def test_the_directory_leads_to_each_key(low: list[int], cut: int, number: int) -> None:
    """All keys of a partition share the first *cut* bits."""
    keys = np.array([(number % (1 << cut)) << (64 - cut) | each << (24 - cut) for each in low], np.uint64)
    entries = sort_entries(keys, np.arange(len(keys), dtype=np.uint32))
    data = encode_partition(entries, cut)
    assert is_whole(data)
    partition = decode_partition(data, cut)
    assert np.array_equal(partition.entries.keys, entries.keys)
    assert np.array_equal(partition.entries.documents, entries.documents)
    assert len(partition.starts) == partition.mask + 2
    for row, key in enumerate(entries.keys.tolist()):
        place = (key >> partition.shift) & partition.mask
        assert partition.starts[place] <= row < partition.starts[place + 1]


def test_a_partition_that_is_cut_short_is_refused() -> None:
    data = encode_partition(sort_entries(np.arange(50, dtype=np.uint64), np.arange(50, dtype=np.uint32)), 0)
    for size in (0, 7, len(data) - 1):
        assert not is_whole(data[:size])
        with pytest.raises(IndexCorrupted, match="cut short or missing"):
            decode_partition(data[:size], 0)
