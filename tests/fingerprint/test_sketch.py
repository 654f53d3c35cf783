"""The sketch estimates Jaccard and containment without bias and within its standard error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import BINS, similarity
from scrapy_neardup.fingerprint.sketch import sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray


def estimate(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> tuple[float, float]:
    (sketch_a, n), (sketch_b, m) = sketch(a), sketch(b)
    jaccard, containment = similarity(sketch_a, n, np.frombuffer(sketch_b, np.uint8)[None], np.array([m]))
    return float(jaccard[0]), float(containment[0])


def two_sets(
    shared: int, only_a: int, only_b: int, seed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    values = np.random.default_rng(seed).integers(0, 2**64, shared + only_a + only_b, np.uint64)
    return values[: shared + only_a], np.concatenate((values[:shared], values[shared + only_a :]))


@pytest.mark.parametrize("shared", [0, 300, 600, 900, 980])
def test_jaccard_is_within_four_standard_errors(shared: int) -> None:
    exact = shared / (2000 - shared)
    agreeing = exact + (1 - exact) / 256  # counts the bytes that agree by chance
    error = math.sqrt(agreeing * (1 - agreeing) / BINS) * 256 / 255
    estimates = [estimate(*two_sets(shared, 1000 - shared, 1000 - shared, seed))[0] for seed in range(200)]
    assert max(abs(value - exact) for value in estimates) < 4 * error
    if shared:  # at 0 the estimate is cut off on one side
        assert abs(np.mean(estimates) - exact) < 4 * error / math.sqrt(200)


@pytest.mark.parametrize(("shared", "only"), [(10, 10), (20, 5), (50, 20), (100, 60)])
def test_short_texts_are_estimated_without_bias(shared: int, only: int) -> None:
    exact = shared / (shared + 2 * only)
    estimates = [estimate(*two_sets(shared, only, only, seed))[0] for seed in range(1000)]
    assert abs(np.mean(estimates) - exact) < 4 * np.std(estimates) / math.sqrt(1000)


@pytest.mark.parametrize(("shared", "only_a", "only_b"), [(900, 0, 300), (700, 100, 100), (500, 100, 900)])
def test_containment_is_of_the_smaller_set(shared: int, only_a: int, only_b: int) -> None:
    smaller, both = shared + min(only_a, only_b), 2 * shared + only_a + only_b
    exact = shared / smaller
    jaccard = shared / (both - shared)
    error = math.sqrt(jaccard * (1 - jaccard) / BINS) * both / smaller / (1 + jaccard) ** 2
    estimates = [estimate(*two_sets(shared, only_a, only_b, seed))[1] for seed in range(200)]
    assert abs(np.mean(estimates) - exact) < 0.02
    assert max(abs(value - exact) for value in estimates) < 4 * error


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=300), st.randoms(use_true_random=False))
def test_a_set_is_equal_to_itself_in_any_order(values: list[int], dice: object) -> None:
    shingles = np.array(values, np.uint64)
    assert estimate(shingles, np.concatenate((shingles[::-1], shingles[:5]))) == (1, 1)
    assert sketch(shingles)[1] == len(set(values))
    assert len(sketch(shingles)[0]) == BINS


def test_no_estimate_exceeds_what_the_sizes_allow() -> None:
    values = np.random.default_rng(0).integers(0, 2**64, 130, np.uint64)
    jaccard, containment = estimate(values[:65], values)
    assert jaccard <= 0.5
    assert containment <= 1


def test_many_are_compared_as_one_by_one() -> None:
    sets = [two_sets(seed * 20, 50, 50 + seed, seed)[1] for seed in range(20)]
    own, count = sketch(sets[3])
    others = [sketch(values) for values in sets]
    jaccard, containment = similarity(
        own,
        count,
        np.array([np.frombuffer(s, np.uint8) for s, _ in others]),
        np.array([n for _, n in others], np.uint32),
    )
    assert jaccard.dtype == containment.dtype == np.float32
    assert [(j, c) for j, c in zip(jaccard.tolist(), containment.tolist(), strict=True)] == [
        estimate(sets[3], values) for values in sets
    ]


def test_a_text_without_shingles_is_similar_to_none() -> None:
    nothing = np.array([], np.uint64)
    assert sketch(nothing) == (bytes(BINS), 0)
    assert estimate(nothing, nothing) == (0, 0)
    assert estimate(nothing, np.array([5], np.uint64)) == (0, 0)
    jaccard, containment = similarity(bytes(BINS), 3, np.zeros((0, BINS), np.uint8), np.zeros(0, np.int64))
    assert len(jaccard) == len(containment) == 0


def test_stored_sketches_stay_comparable() -> None:
    """The order in which empty bins ask others is part of the format."""
    shingles = np.array([0x0123456789ABCDEF, 0x8F00000000000042, 0xFEDCBA9876543210], np.uint64)
    minima, count = sketch(shingles)
    assert count == 3
    assert minima.hex() == (
        "ef42efef104242ef4210ef4242424210efef4210ef10104210efef424210ef42"
        "1042ef1042ef10ef42ef42efef1042ef1010ef1010ef10efefef4210ef421042"
        "efefefefef42ef421010ef10101042efef101042efefefef42ef421042104242"
        "efefef10ef4242efef421010ef421042efef101042efef104210101042ef1010"
    )
