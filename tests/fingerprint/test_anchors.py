"""Anchors are the least long shingles of a text, so copies share them as often as a formula says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.anchors import anchors
from scrapy_neardup.index.tables import NO_KEY

HASHES = st.lists(st.one_of(st.integers(0, 2**64 - 2), st.integers(0, 2**44)), max_size=80)
RUNS = 2000


@given(HASHES, st.integers(1, 8))
def test_the_least_of_each_part(values: list[int], count: int) -> None:
    found = anchors(np.array(values, np.uint64), count)
    parts: dict[int, list[int]] = {}
    for value in values:
        parts.setdefault((value >> 40) % count, []).append(value)
    assert found.dtype == np.uint64
    assert found.tolist() == [min(parts.get(part, [int(NO_KEY)])) for part in range(count)]


@given(HASHES, HASHES)
def test_texts_that_share_the_least_of_a_part_share_the_key(a: list[int], b: list[int]) -> None:
    one, other = (anchors(np.array(values, np.uint64), 4) for values in (a, b))
    both = anchors(np.array([*a, *b], np.uint64), 4)
    assert (both == np.minimum(one, other)).all()
    shared = set(a) & set(b)
    assert ((one == other) & (one != NO_KEY)).tolist() == [
        int(key) in shared and key == other_key for key, other_key in zip(one, other, strict=True)
    ]


def test_a_text_of_few_words_has_few_keys_and_none_has_none() -> None:
    assert (anchors(np.zeros(0, np.uint64), 4) == NO_KEY).all()
    assert np.count_nonzero(anchors(np.array([7], np.uint64), 4) != NO_KEY) == 1


def test_every_part_has_its_share_of_the_hashes() -> None:
    values = np.random.default_rng(1).integers(0, 2**64, 4000, np.uint64)
    shares = np.bincount(((values >> np.uint64(40)) % np.uint64(4)).astype(int)) / 4000
    assert (np.abs(shares - 0.25) < 0.03).all()


@pytest.mark.parametrize("similarity", [0.1, 0.3, 0.5, 0.8])
def test_copies_share_one_of_four_as_often_as_bands_of_one_row(similarity: float) -> None:
    expected, found = 1 - (1 - similarity) ** 4, 0
    for seed in range(RUNS):
        values = np.random.default_rng(seed).integers(0, 2**64, 400, np.uint64)
        shared = round(400 * similarity)
        half = (400 - shared) // 2
        one = anchors(values[: shared + half], 4)
        other = anchors(np.concatenate((values[:shared], values[shared + half :])), 4)
        found += bool(((one == other) & (one != NO_KEY)).any())
    error = (expected * (1 - expected) / RUNS) ** 0.5
    assert found / RUNS == pytest.approx(expected, abs=4 * error + 0.002)
