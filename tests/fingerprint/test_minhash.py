"""MinHash has the least value of each function, is as good as theory says, and can make datasketch's."""

from __future__ import annotations

import hashlib
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.jaccard import character_jaccard, character_shingles
from scrapy_neardup.fingerprint.minhash import EMPTY, MinHash, agreement, datasketch, standard_error
from scrapy_neardup.fingerprint.murmur import mix

hashes = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=300)
PAIRS = 200


def two_sets(shared: int, only: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(seed).integers(0, 2**64, shared + 2 * only, np.uint64)
    return values[: shared + only], np.concatenate((values[:shared], values[shared + only :]))


@pytest.mark.parametrize("shared", [0, 250, 500, 800, 950])
@pytest.mark.parametrize("consecutive", [False, True])
def test_the_estimate_is_unbiased_with_the_stated_error(shared: int, consecutive: bool) -> None:
    """Of random hashes and of consecutive numbers, which a poor family of functions would not tell apart."""
    exact = shared / (2000 - shared)
    error = standard_error(exact, 128)
    estimates = []
    for seed in range(PAIRS):
        a, b = two_sets(shared, 1000 - shared, seed)
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
