"""The checksum of entries is made of SplitMix64, as that in the ledger of each index on disk."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.index.lmdb.layout import Sums

if TYPE_CHECKING:
    from collections.abc import Sequence

entries = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)), max_size=20)


def summed(*parts: Sequence[tuple[int, int]]) -> Sums:
    sums = Sums()
    for part in parts:
        documents = np.array([document for document, _ in part], np.uint32)
        sums = sums.add(documents, np.array([key for _, key in part], np.uint64))
    return sums


def split_mix(state: int) -> int:
    """The next number of SplitMix64 in this *state*."""
    value = (state + 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def test_published_numbers() -> None:
    assert split_mix(1234567) == 6457827717110365317
    assert summed([(1234567, 6457827717110365317 ^ 1234567)]) == Sums(1, 6457827717110365317)


@given(entries=entries, cut=st.integers(0, 20))
def test_neither_order_nor_parts_matter(entries: list[tuple[int, int]], cut: int) -> None:
    expected = sum(split_mix(split_mix(document) ^ key) for document, key in entries) % 2**64
    assert summed(entries[:cut], entries[cut:]) == Sums(len(entries), expected)
    assert summed(random.Random(cut).sample(entries, len(entries))) == Sums(len(entries), expected)
