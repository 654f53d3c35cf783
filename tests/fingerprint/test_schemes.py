"""Anchors are the least long shingles of a text, so copies share them as often as a formula says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import Hashes
from scrapy_neardup.fingerprint.schemes import anchors
from scrapy_neardup.index.tables import NO_KEY

HASHES = st.lists(st.one_of(st.integers(0, 2**64 - 2), st.integers(0, 2**44)), max_size=80)
RUNS = 2000


@given(st.lists(HASHES, min_size=1, max_size=3), st.sampled_from([1, 2, 8]))
def test_the_least_of_each_part(texts: list[list[int]], count: int) -> None:
    found = anchors(Hashes.of([np.array(values, np.uint64) for values in texts]), count)
    assert found.dtype == np.uint64
    for values, row in zip(texts, found.tolist(), strict=True):
        parts: dict[int, list[int]] = {}
        for value in values:
            parts.setdefault((value >> 40) % count, []).append(value)
        assert row == [min(parts.get(part, [int(NO_KEY)])) for part in range(count)]


@pytest.mark.parametrize("similarity", [0.1, 0.3, 0.5, 0.8])
def test_copies_share_one_of_four_as_often_as_bands_of_one_row(similarity: float) -> None:
    expected, found = 1 - (1 - similarity) ** 4, 0
    for seed in range(RUNS):
        values = np.random.default_rng(seed).integers(0, 2**64, 400, np.uint64)
        shared = round(400 * similarity)
        half = (400 - shared) // 2
        pair = (values[: shared + half], np.concatenate((values[:shared], values[shared + half :])))
        one, other = anchors(Hashes.of(pair), 4)
        found += bool(((one == other) & (one != NO_KEY)).any())
    error = (expected * (1 - expected) / RUNS) ** 0.5
    assert found / RUNS == pytest.approx(expected, abs=4 * error + 0.002)
