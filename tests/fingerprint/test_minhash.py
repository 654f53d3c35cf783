"""MinHash is as good as theory says and can make datasketch's; bottom-k sketches are fair samples."""

from __future__ import annotations

import hashlib
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.hashing import mix
from scrapy_neardup.fingerprint.jaccard import character_jaccard, character_shingles
from scrapy_neardup.fingerprint.minhash import (
    EMPTY,
    MinHash,
    agreement,
    bottom_k,
    bottom_k_containment,
    bottom_k_jaccard,
    datasketch,
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
        estimates.append(agreement(family.signature(a), family.signature(b)[np.newaxis])[0])
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


def test_an_empty_text_resembles_none() -> None:
    family = MinHash(8)
    empty, some = family.signature(np.zeros(0, np.uint64)), family.signature(np.ones(1, np.uint64))
    assert (empty == EMPTY).all()
    assert agreement(empty, np.stack((empty, some))).tolist() == [0, 0]
    assert agreement(some, np.stack((empty, some))).tolist() == [0, 1]
    assert len(agreement(some, np.zeros((0, 8), np.uint64))) == 0


def test_memory_is_bounded() -> None:
    family, values = MinHash(128), mix(np.arange(10**5, dtype=np.uint64))
    tracemalloc.start()
    family.signature(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20  # at once it would be 100 MB, and several times so


def test_no_functions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        MinHash(0)


def sha1(*elements: bytes) -> np.ndarray:
    return np.array([int.from_bytes(hashlib.sha1(e).digest()[:4], "little") for e in elements], np.uint32)


# https://github.com/ekzhu/datasketch, commit 8d4bda1 (2026), test/test_minhash.py; values retyped


def test_datasketch_hello() -> None:
    """Of 2.0 with scheme="legacy"; by default it says 3231258861, 1388533999, 831950533, 1845606703."""
    assert datasketch(sha1(b"Hello"), 4).tolist() == [734825475, 960773806, 359816889, 342714745]


def test_datasketch_of_several_releases() -> None:
    """What 1.1.3, 1.10.0 and, with scheme="legacy", 2.0.0 answer for three elements and a seed of 7."""
    known = [301388869, 266539363, 71021925, 1663507226]
    assert datasketch(sha1(b"Hello", b"a", b"b"), 4, 7).tolist() == known


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50), st.integers(0, 2**32 - 1))
def test_datasketch_in_python_integers(values: list[int], seed: int) -> None:
    mersenne = 2**61 - 1
    random = np.random.RandomState(seed)
    expected = []
    for _ in range(20):
        a = int(random.randint(1, mersenne, dtype=np.uint64))
        b = int(random.randint(0, mersenne, dtype=np.uint64))
        expected.append(min((a * x + b) % 2**64 % mersenne % 2**32 for x in values))
    assert datasketch(np.array(values, np.uint32), 20, seed).tolist() == expected


def test_datasketch_empty() -> None:
    assert datasketch(sha1(), 3).tolist() == [2**32 - 1] * 3


# https://github.com/NVIDIA/NeMo-Curator, commit ecd5c57 (2025), tests/test_fuzzy_dedup.py; values retyped


@pytest.mark.parametrize("characters", [3, 5, 10])
def test_nemo_estimates_are_within_its_tolerance(characters: int) -> None:
    texts = [
        "A test string",
        "A different test string",
        "A different object",
        "The quick brown fox jumps over the lazy dog",
        "The quick black cat jumps over the lazy dog",
    ]
    family = MinHash(260, 128)
    signatures = np.array([family.signature(character_shingles(text, characters)) for text in texts])
    for text, signature in zip(texts, signatures, strict=True):
        exact = [character_jaccard(text, other, characters=characters) for other in texts]
        assert agreement(signature, signatures) == pytest.approx(exact, abs=0.15)


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
    jaccards, containments = (
        bottom_k_jaccard(sample(own, k), sketches),
        bottom_k_containment(sample(own, k), sketches),
    )
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
    expected = [float(bottom_k_jaccard(one, other[np.newaxis])[0]) for one, other in zip(a, b, strict=True)]
    assert bottom_k_jaccard(a, b).tolist() == expected


@given(values, values)
def test_exact_while_sketches_are_whole_sets(a: list[int], b: list[int]) -> None:
    x, y = sample(a, 50), sample(b, 50)
    both, either = set(a) & set(b), set(a) | set(b)
    assert bottom_k_jaccard(x, y[np.newaxis])[0] == (len(both) / len(either) if either else 0)
    assert bottom_k_containment(x, y[np.newaxis])[0] == (len(both) / len(set(a)) if a else 0)


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


@pytest.mark.parametrize(("shared", "only_a", "only_b"), [(900, 100, 1000), (500, 0, 500), (400, 1600, 100)])
def test_containment_is_unbiased(shared: int, only_a: int, only_b: int) -> None:
    estimates = []
    for seed in range(RUNS):
        a, b = two_sets(shared, only_a, only_b, seed)
        estimates.append(bottom_k_containment(bottom_k(a, K), bottom_k(b, K)[np.newaxis])[0])
    exact = shared / (shared + only_a)
    # The value that is the bound belongs to one of the two for certain, which shifts the mean by less than 1
    # / k.
    assert abs(np.mean(estimates) - exact) <= 4 * np.std(estimates) / math.sqrt(RUNS) + 1 / K


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
