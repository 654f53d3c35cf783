"""Bottom-k sketches are uniform samples: exact while they hold everything, unbiased beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.bottomk import bottom_k, containment, jaccard, size
from scrapy_neardup.fingerprint.minhash import EMPTY, MinHash, agreement

K = 128
RUNS = 300
values = st.lists(st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 2)), max_size=40)


def sample(elements: list[int], k: int) -> np.ndarray:
    return bottom_k(np.array(elements, np.uint64), k)


def two_sets(shared: int, only_a: int, only_b: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(seed).integers(0, 2**64, shared + only_a + only_b, np.uint64)
    return drawn[: shared + only_a], np.concatenate((drawn[:shared], drawn[shared + only_a :]))


@given(values, st.integers(1, 50))
def test_the_least_distinct_values(elements: list[int], k: int) -> None:
    sketch = sample(elements, k)
    assert len(sketch) == k
    assert sketch[sketch != EMPTY].tolist() == sorted(set(elements))[:k]


@given(values, st.lists(values, max_size=4), st.integers(1, 50))
def test_estimates_by_definition(own: list[int], others: list[list[int]], k: int) -> None:
    sketches = np.array([sample(other, k) for other in others], np.uint64).reshape(-1, k)
    jaccards, containments = jaccard(sample(own, k), sketches), containment(sample(own, k), sketches)
    a = sorted(set(own))[:k]
    for other, estimate, contained in zip(others, jaccards, containments, strict=True):
        b = sorted(set(other))[:k]
        complete = len(a) < k and len(b) < k
        union = sorted(set(own) | set(other))[: None if complete else k]
        assert estimate == (len(set(union) & set(a) & set(b)) / len(union) if union else 0)
        bound = min((s[-1] for s in (a, b) if len(s) == k), default=EMPTY)
        known = [value for value in a if value <= bound]
        assert contained == (len(set(known) & set(other)) / len(known) if known else 0)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=6), st.integers(1, 50))
def test_pairs_are_compared_as_one_with_many(pairs: list[tuple[list[int], list[int]]], k: int) -> None:
    a, b = (np.array([sample(pair[side], k) for pair in pairs]) for side in (0, 1))
    expected = [float(jaccard(one, other[np.newaxis])[0]) for one, other in zip(a, b, strict=True)]
    assert jaccard(a, b).tolist() == expected


@given(values, values)
def test_exact_while_sketches_are_whole_sets(a: list[int], b: list[int]) -> None:
    x, y = sample(a, 50), sample(b, 50)
    both, either = set(a) & set(b), set(a) | set(b)
    assert jaccard(x, y[np.newaxis])[0] == (len(both) / len(either) if either else 0)
    assert containment(x, y[np.newaxis])[0] == (len(both) / len(set(a)) if a else 0)
    assert size(x) == len(set(a))


@pytest.mark.parametrize(("shared", "only"), [(0, 500), (300, 700), (700, 300), (950, 50)])
def test_jaccard_is_unbiased_with_the_stated_error(shared: int, only: int) -> None:
    exact = shared / (shared + 2 * only)
    error = math.sqrt(exact * (1 - exact) / K)
    estimates = []
    for seed in range(RUNS):
        a, b = two_sets(shared, only, only, seed)
        estimates.append(jaccard(bottom_k(a, K), bottom_k(b, K)[np.newaxis])[0])
    assert abs(np.mean(estimates) - exact) <= 4 * error / math.sqrt(RUNS)
    assert np.std(estimates) <= error * (1 + 4 / math.sqrt(2 * RUNS))


@pytest.mark.parametrize(("shared", "only_a", "only_b"), [(900, 100, 1000), (500, 0, 500), (400, 1600, 100)])
def test_containment_is_unbiased(shared: int, only_a: int, only_b: int) -> None:
    estimates = []
    for seed in range(RUNS):
        a, b = two_sets(shared, only_a, only_b, seed)
        estimates.append(containment(bottom_k(a, K), bottom_k(b, K)[np.newaxis])[0])
    exact = shared / (shared + only_a)
    # The value that is the bound belongs to one of the two for certain, which shifts the mean by less than 1
    # / k.
    assert abs(np.mean(estimates) - exact) <= 4 * np.std(estimates) / math.sqrt(RUNS) + 1 / K


@pytest.mark.parametrize("count", [5, 10, 1000, 20_000])
def test_size_is_unbiased(count: int) -> None:
    random, k, runs = np.random.default_rng(count), 10, 2000
    estimates = [size(bottom_k(random.integers(0, 2**64, count, np.uint64), k)) for _ in range(runs)]
    error = count / math.sqrt(k - 2) if count >= k else 0
    assert abs(np.mean(estimates) - count) <= 4 * error / math.sqrt(runs)
    assert np.std(estimates) <= error * 1.2


@pytest.mark.parametrize("shared", [500, 900])
def test_a_minhash_of_the_sketch_is_nearly_one_of_the_text(shared: int) -> None:
    """So bands can be made of a bottom-k sketch, from k hashes however long the text.

    They read a little low: a value that both texts have may be among the k least of one of them only.
    """
    exact, estimates = shared / (2000 - shared), []
    for seed in range(RUNS):
        a, b = (bottom_k(values, K) for values in two_sets(shared, 1000 - shared, 1000 - shared, seed))
        family = MinHash(100, seed)
        estimates.append(agreement(family.signature(a), family.signature(b)[np.newaxis])[0])
    assert exact - 0.04 < np.mean(estimates) < exact + 0.01
