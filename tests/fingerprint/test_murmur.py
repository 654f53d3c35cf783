"""Hashing many slices at once gives what mmh3 gives for each, whatever their lengths and places."""

from __future__ import annotations

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.murmur import FEW, LONGEST, hash_slices, mix


def expected(data: bytes, slices: list[tuple[int, int]], seed: int) -> list[int]:
    return [mmh3.hash64(data[start:end], seed, signed=False)[0] for start, end in slices]


def hashed(data: bytes, slices: list[tuple[int, int]], seed: int = 0, few: int = FEW) -> list[int]:
    starts, ends = np.array(slices, np.intp).reshape(-1, 2).T
    return hash_slices(data, starts, ends, seed, few).tolist()


@given(st.binary(max_size=300), st.lists(st.tuples(*[st.integers(0, 300)] * 2)), st.integers(0, 2**32 - 1))
def test_any_slices(data: bytes, places: list[tuple[int, int]], seed: int) -> None:
    slices = [(min(start, len(data)), min(end, len(data))) for start, end in map(sorted, places)]
    assert hashed(data, slices, seed) == expected(data, slices, seed)


@pytest.mark.parametrize("offset", range(9))
def test_every_length_alone_and_among_others(offset: int) -> None:
    data = np.random.default_rng(offset).bytes(4 * LONGEST)
    lengths = [*range(2 * LONGEST + 2), *range(16), 1]
    slices = [(offset, offset + length) for length in lengths]
    assert hashed(data, slices, 7) == expected(data, slices, 7)
    for each in slices[:: LONGEST // 8]:
        assert hashed(data, [each], 7) == expected(data, [each], 7)


@pytest.mark.parametrize("few", [0, FEW])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33])
def test_the_end_of_the_data_is_not_read_over(size: int, few: int) -> None:
    data = bytes(range(1, size + 1))
    slices = [(start, size) for start in range(size + 1)]
    assert hashed(data, slices, few=few) == expected(data, slices, 0)


def test_no_slices() -> None:
    assert hashed(b"", []) == hashed(b"some text", []) == []


def test_one_very_long_slice_among_many() -> None:
    data = b"ab" * 500_000
    slices = [(0, len(data)), (0, 2), (1, LONGEST + 1), (1, LONGEST + 2), (5, 5)]
    assert hashed(data, slices, 3) == expected(data, slices, 3)


def test_mix_is_the_finaliser_of_murmur3() -> None:
    def reference(h: int) -> int:
        for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            h = ((h ^ h >> 33) * multiplier) % 2**64
        return h ^ h >> 33

    values = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    assert mix(values).tolist() == [reference(int(value)) for value in values]
