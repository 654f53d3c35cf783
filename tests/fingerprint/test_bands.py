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
        found += np.count_nonzero(keys[:, 0] == keys[:, 1]) >= layout.agree
    return found / RUNS


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
    error = (probability * (1 - probability) / RUNS) ** 0.5
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
    assert choose_bands(threshold) == Bands(bands, rows)


@pytest.mark.parametrize(("bands", "rows", "agree"), [(0, 1, 1), (1, 0, 1), (2, 2, 3), (2, 2, 0)])
def test_impossible_layouts_are_refused(bands: int, rows: int, agree: int) -> None:
    with pytest.raises(ConfigurationError, match="cannot agree"):
        Bands(bands, rows, agree)


def test_signatures_that_are_too_short_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="need 100 components: a signature has 60"):
        Bands(10, 10).keys(np.zeros((10, 60), np.uint64))
