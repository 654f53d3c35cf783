"""MinHash and bottom-k are as good as theory says; texts share bands as often as the S-curve says."""

import math
import tracemalloc
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import mix
from scrapy_neardup.fingerprint.minhash import (
    EMPTY,
    SUPER_SHINGLES,
    Bands,
    bottom_k,
    bottom_k_jaccard,
    choose_bands,
    min_hashes,
)

from .test_sketch import two_sets

hashes = st.lists(st.integers(0, 2**64 - 1), max_size=300)
PAIRS = 200


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
        estimates.append(np.mean(min_hashes(a, 128, seed) == min_hashes(b, 128, seed)))
    assert abs(np.mean(estimates) - exact) <= 4 * error / math.sqrt(PAIRS)
    assert abs(np.std(estimates) - error) <= 4 * error / math.sqrt(2 * PAIRS)


@given(hashes, st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_components_are_the_least_of_each_function(values: list[int], count: int, seed: int) -> None:
    each = [min_hashes(np.array([value], np.uint64), count, seed) for value in values]
    least = np.min([np.full(count, EMPTY), *each], axis=0)
    assert (min_hashes(np.array(values, np.uint64), count, seed) == least).all()


def test_functions_are_distinct_across_neighbouring_seeds() -> None:
    one = np.array([42], np.uint64)
    values = np.concatenate([min_hashes(one, 128, seed) for seed in range(100)])
    assert len(set(values.tolist())) == 128 * 100
    assert (min_hashes(one, 20, 5) == min_hashes(one, 10**4, 5)[:20]).all()


def test_memory_is_bounded() -> None:
    values = mix(np.arange(10**5, dtype=np.uint64))
    tracemalloc.start()
    min_hashes(values, 128, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20  # at once it would be 100 MB, and several times so


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


TRIALS = 1000


def candidate_share(layout: Bands, similarity: float) -> float:
    """Return how many of `TRIALS` pairs of sets that are so similar become candidates, as a share."""
    union, found = 200, 0
    for seed in range(TRIALS):
        shared = round(similarity * union)
        only = (union - shared) // 2
        pair, count = two_sets(shared, only, only, seed), layout.bands * layout.rows
        keys = layout.keys(np.array([min_hashes(each, count, seed) for each in pair]))
        found += np.count_nonzero(keys[:, 0] == keys[:, 1]) >= layout.agree
    return found / TRIALS


TEN_BY_TEN = zip((0.5, 0.7, 0.8, 0.85, 0.9), (0.010, 0.249, 0.679, 0.888, 0.986), strict=True)
# Fetterly, Manasse and Najork 2003: 84 min-hashes, 6 super-shingles of 14, a near-duplicate if 2 agree
TWO_OF_SIX = zip((0.8, 0.85, 0.9, 0.95, 0.97), (0.026, 0.12, 0.415, 0.879, 0.978), strict=True)


@pytest.mark.parametrize(
    ("layout", "similarity", "probability"),
    [*((Bands(10, 10), *row) for row in TEN_BY_TEN), *((SUPER_SHINGLES, *row) for row in TWO_OF_SIX)],
)
def test_candidates_are_as_frequent_as_published(
    layout: Bands, similarity: float, probability: float
) -> None:
    error = (probability * (1 - probability) / TRIALS) ** 0.5
    assert candidate_share(layout, similarity) == pytest.approx(probability, abs=4 * error + 5e-4)


@given(st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=2, max_size=6), st.data())
def test_keys_are_equal_where_bands_are(rows: list[list[int]], data: st.DataObject) -> None:
    bands, height = data.draw(st.sampled_from([(1, 6), (2, 3), (3, 2), (6, 1), (2, 2)]))
    layout = Bands(bands, height)
    keys = layout.keys(np.array(rows, np.uint64))
    assert keys.shape == (bands, len(rows))
    own, others = rows[0], rows[1:]
    equal = [
        [own[b * height : (b + 1) * height] == other[b * height : (b + 1) * height] for b in range(bands)]
        for other in others
    ]
    assert (keys[:, 1:] == keys[:, :1]).T.tolist() == equal


def errors(layout: Bands, threshold: Fraction) -> tuple[Fraction, Fraction]:
    """Areas of misses and of false candidates, by the binomial theorem and without rounding."""

    def candidates_below(s: Fraction) -> Fraction:
        r, b = layout.rows, layout.bands
        missed = sum(comb(b, i) * (-1) ** i * s ** (r * i + 1) / (r * i + 1) for i in range(b + 1))
        return s - missed

    below, everywhere = candidates_below(threshold), candidates_below(Fraction(1))
    return (1 - threshold) - (everywhere - below), below


@pytest.mark.parametrize("threshold", [Fraction(3, 10), Fraction(1, 2), Fraction(4, 5), Fraction(9, 10)])
@pytest.mark.parametrize("miss_weight", [Fraction(1, 2), Fraction(9, 10)])
def test_the_layout_chosen_is_the_best(threshold: Fraction, miss_weight: Fraction) -> None:
    components = 20

    def error(layout: Bands) -> Fraction:
        missed, false = errors(layout, threshold)
        return miss_weight * missed + (1 - miss_weight) * false

    layouts = [Bands(b, r) for b in range(1, components + 1) for r in range(1, components // b + 1)]
    assert choose_bands(float(threshold), components, float(miss_weight)) == min(layouts, key=error)


# MinHashLSH(threshold, num_perm=128) of datasketch 2.0; .9 is also in its documentation


@pytest.mark.parametrize(
    ("threshold", "bands", "rows"), [(0.5, 25, 5), (0.7, 14, 9), (0.8, 9, 13), (0.9, 5, 25)]
)
def test_datasketch_layouts(threshold: float, bands: int, rows: int) -> None:
    assert choose_bands(threshold, 128, 0.5) == Bands(bands, rows)
