"""Bands: texts share keys as often as the S-curve says, and the layouts chosen are the best there are."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.fingerprint.minhash import SUPER_SHINGLES, Bands, MinHash, choose_bands

RUNS = 1000


def candidate_share(layout: Bands, similarity: float) -> float:
    """Make signatures of `RUNS` pairs of sets that are so similar and count those that become candidates."""
    union, found = 200, 0
    for seed in range(RUNS):
        values = np.random.default_rng(seed).integers(0, 2**64, union, np.uint64)
        shared = round(similarity * union)
        only = (union - shared) // 2
        family = MinHash(layout.bands * layout.rows, seed)
        pair = np.stack(
            [
                family.signature(values[: shared + only]),
                family.signature(np.delete(values, slice(shared, shared + only))),
            ]
        )
        keys = layout.keys(pair)
        found += int(layout.candidates(keys[:, 0], keys[:, 1:])[0])
    return found / RUNS


TEN_BY_TEN = zip((0.5, 0.7, 0.8, 0.85, 0.9), (0.010, 0.249, 0.679, 0.888, 0.986), strict=True)
# Fetterly, Manasse and Najork 2003: 84 min-hashes, 6 super-shingles of 14, a near-duplicate if 2 agree
TWO_OF_SIX = zip((0.8, 0.85, 0.9, 0.95, 0.97), (0.026, 0.12, 0.415, 0.879, 0.978), strict=True)


@pytest.mark.parametrize(
    ("layout", "similarity", "probability"),
    [*((Bands(10, 10), *row) for row in TEN_BY_TEN), *((SUPER_SHINGLES, *row) for row in TWO_OF_SIX)],
)
def test_candidates_are_as_frequent_as_the_formula_says(
    layout: Bands, similarity: float, probability: float
) -> None:
    assert layout.probability(similarity) == pytest.approx(probability, abs=5e-4)
    error = (probability * (1 - probability) / RUNS) ** 0.5
    assert candidate_share(layout, similarity) == pytest.approx(probability, abs=4 * error + 5e-4)


# "Mining of Massive Datasets", figure 3.8: 20 bands of 5 rows; values retyped
def test_the_s_curve_of_the_text_book() -> None:
    known = {0.2: 0.006, 0.3: 0.047, 0.4: 0.186, 0.5: 0.470, 0.6: 0.802, 0.7: 0.975, 0.8: 0.9996}
    for similarity, probability in known.items():
        assert Bands(20, 5).probability(similarity) == pytest.approx(probability, abs=6e-4)


@given(st.integers(1, 30), st.integers(1, 20), st.data())
def test_probability_by_definition(bands: int, rows: int, data: st.DataObject) -> None:
    agree = data.draw(st.integers(1, bands))
    s = Fraction(data.draw(st.integers(0, 100)), 100)
    equal = s**rows
    tail = sum(comb(bands, i) * equal**i * (1 - equal) ** (bands - i) for i in range(agree, bands + 1))
    assert Bands(bands, rows, agree).probability(float(s)) == pytest.approx(float(tail), abs=1e-9)


@given(st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=2, max_size=6), st.data())
def test_keys_are_equal_where_bands_are(rows: list[list[int]], data: st.DataObject) -> None:
    bands, height = data.draw(st.sampled_from([(1, 6), (2, 3), (3, 2), (6, 1), (2, 2)]))
    agree = data.draw(st.integers(1, bands))
    layout = Bands(bands, height, agree)
    keys = layout.keys(np.array(rows, np.uint64))
    assert keys.shape == (bands, len(rows))
    own, others = rows[0], rows[1:]
    equal = [
        [own[b * height : (b + 1) * height] == other[b * height : (b + 1) * height] for b in range(bands)]
        for other in others
    ]
    assert (keys[:, 1:] == keys[:, :1]).T.tolist() == equal
    assert layout.candidates(keys[:, 0], keys[:, 1:]).tolist() == [sum(row) >= agree for row in equal]


def buckets(layout: Bands, signatures: list[list[int]]) -> list[list[int]]:
    """Numbers, from 1, of the texts that share a key, by band."""
    keys = layout.keys(np.array(signatures, np.uint64))
    filed: dict[tuple[int, int], list[int]] = {}
    for (band, text), key in np.ndenumerate(keys):
        filed.setdefault((band, int(key)), []).append(text + 1)
    return [texts for texts in filed.values() if len(texts) > 1]


# https://github.com/NVIDIA/NeMo-Curator, commit ecd5c57 (2025), tests/test_fuzzy_dedup.py, TestLSH; values
# retyped


def test_nemo_buckets() -> None:
    signatures = [
        [1, 2, 1, 2, 1, 2],
        [1, 2, 3, 4, 5, 6],
        [3, 2, 1, 4, 5, 6],
        [9, 8, 7, 6, 5, 4],
        [3, 1, 2, 4, 5, 4],
    ]
    assert buckets(Bands(3, 2), signatures) == [[1, 2], [2, 3], [4, 5]]


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
    assert choose_bands(threshold) == Bands(bands, rows)


@pytest.mark.parametrize(("bands", "rows", "agree"), [(0, 1, 1), (1, 0, 1), (2, 2, 3), (2, 2, 0)])
def test_impossible_layouts_are_refused(bands: int, rows: int, agree: int) -> None:
    with pytest.raises(ConfigurationError, match="cannot agree"):
        Bands(bands, rows, agree)


def test_signatures_that_are_too_short_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="need 100 components: a signature has 60"):
        Bands(10, 10).keys(np.zeros((10, 60), np.uint64))
