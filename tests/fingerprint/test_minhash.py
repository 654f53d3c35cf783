"""MinHash is as good as theory says, and bottom-k sketches are fair samples of shingles."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import mix
from scrapy_neardup.fingerprint.minhash import (
    EMPTY,
    MinHash,
    bottom_k,
    bottom_k_jaccard,
)

hashes = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=300)
PAIRS = 200


def two_sets(shared: int, only_a: int, only_b: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(seed).integers(0, 2**64, shared + only_a + only_b, np.uint64)
    return drawn[: shared + only_a], np.concatenate((drawn[:shared], drawn[shared + only_a :]))


@pytest.mark.parametrize("shared", [0, 250, 500, 800, 950])
@pytest.mark.parametrize("consecutive", [False, True])
def test_the_estimate_is_unbiased_with_the_stated_error(shared: int, consecutive: bool) -> None:
    """Of random hashes and of consecutive numbers, which a poor family of functions would not tell apart."""
    exact = shared / (2000 - shared)
    error = math.sqrt(exact * (1 - exact) / 128)
    estimates = []
    for seed in range(PAIRS):
        a, b = two_sets(shared, 1000 - shared, 1000 - shared, seed)
        if consecutive:
            a = np.arange(1000, dtype=np.uint64)
            b = a + np.uint64(1000 - shared)
        family = MinHash(128, seed)
        estimates.append(np.mean(family.signature(a) == family.signature(b)))
    assert abs(np.mean(estimates) - exact) <= 4 * error / math.sqrt(PAIRS)
    assert abs(np.std(estimates) - error) <= 4 * error / math.sqrt(2 * PAIRS)


@given(hashes, st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_components_are_the_least_of_each_function(values: list[int], count: int, seed: int) -> None:
    family = MinHash(count, seed)
    each = np.array([family.signature(np.array([value], np.uint64)) for value in values])
    assert (family.signature(np.array(values, np.uint64)) == each.min(axis=0)).all()


@given(hashes, hashes, st.integers(0, 2**32 - 1))
def test_a_union_has_the_least_of_both(a: list[int], b: list[int], seed: int) -> None:
    family = MinHash(16, seed)
    x, y, both = (family.signature(np.array(values, np.uint64)) for values in (a, b, b + a + b))
    assert (both == np.minimum(x, y)).all()


def test_functions_are_distinct_across_neighbouring_seeds() -> None:
    one = np.array([42], np.uint64)
    values = np.concatenate([MinHash(128, seed).signature(one) for seed in range(100)])
    assert len(set(values.tolist())) == 128 * 100
    assert (MinHash(20, 5).signature(one) == MinHash(10**4, 5).signature(one)[:20]).all()


def test_an_empty_text_has_no_component() -> None:
    family = MinHash(8)
    assert (family.signature(np.zeros(0, np.uint64)) == EMPTY).all()


def test_memory_is_bounded() -> None:
    family, values = MinHash(128), mix(np.arange(10**5, dtype=np.uint64))
    tracemalloc.start()
    family.signature(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20  # at once it would be 100 MB, and several times so


K = 128
RUNS = 300
values = st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 2)), max_size=40)


def sample(elements: list[int], k: int) -> np.ndarray:
    return bottom_k(np.array(elements, np.uint64), k)


@given(values, st.integers(1, 50))
def test_the_least_distinct_values(elements: list[int], k: int) -> None:
    sketch = sample(elements, k)
    assert len(sketch) == k
    assert sketch[sketch != EMPTY].tolist() == sorted(set(elements))[:k]


@given(values, st.lists(values, max_size=4), st.integers(1, 50))
def test_estimates_by_definition(own: list[int], others: list[list[int]], k: int) -> None:
    sketches = np.array([sample(other, k) for other in others], np.uint64).reshape(-1, k)
    jaccards = bottom_k_jaccard(sample(own, k), sketches).tolist()
    a = sorted(set(own))[:k]
    for other, estimate in zip(others, jaccards, strict=True):
        b = sorted(set(other))[:k]
        complete = len(a) < k and len(b) < k  # such sketches are whole sets
        union = sorted(set(own) | set(other))[: None if complete else k]
        assert estimate == (len(set(union) & set(a) & set(b)) / len(union) if union else 0)
    pairs = bottom_k_jaccard(np.repeat(sample(own, k)[np.newaxis], len(others), axis=0), sketches)
    assert pairs.tolist() == jaccards


@pytest.mark.parametrize(("shared", "only"), [(0, 500), (300, 700), (700, 300), (950, 50)])
def test_jaccard_is_unbiased_with_the_stated_error(shared: int, only: int) -> None:
    exact = shared / (shared + 2 * only)
    error = math.sqrt(exact * (1 - exact) / K)
    estimates = []
    for seed in range(RUNS):
        a, b = two_sets(shared, only, only, seed)
        estimates.append(bottom_k_jaccard(bottom_k(a, K), bottom_k(b, K)[np.newaxis])[0])
    assert abs(np.mean(estimates) - exact) <= 4 * error / math.sqrt(RUNS)
    assert np.std(estimates) <= error * (1 + 4 / math.sqrt(2 * RUNS))
