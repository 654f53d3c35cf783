"""The vote is that of the definition, exact in any order; Hamming distances are counted bits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Weight, hamming, vote
from scrapy_neardup.fingerprint.simhash import fingerprint, fingerprint_each, vote_each, weighted_votes

if TYPE_CHECKING:
    import random

VALUES = st.lists(st.integers(0, 2**64 - 1), max_size=40)
FEW_VALUES = st.lists(st.sampled_from([1, 3, 0xF0F0, 2**63, 2**64 - 1, 2**40 - 1]), max_size=60)


def by_definition(weights: dict[int, Fraction]) -> int:
    half = sum(weights.values(), Fraction(0)) / 2
    return sum(
        1 << bit
        for bit in range(64)
        if sum((w for h, w in weights.items() if h >> bit & 1), Fraction(0)) > half
    )


@given(VALUES | FEW_VALUES)
def test_vote_without_weights(values: list[int]) -> None:
    expected = by_definition({h: Fraction(values.count(h)) for h in values})
    assert vote(np.array(values, np.uint64)) == expected


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 10**6), max_size=40))
def test_vote_with_weights(weights: dict[int, int]) -> None:
    hashes = np.array(list(weights), np.uint64)
    expected = by_definition({h: Fraction(w) for h, w in weights.items()})
    assert vote(hashes, np.array(list(weights.values()), np.float64)) == expected


def test_vote_of_more_features_than_fit_in_one_step() -> None:
    hashes = np.random.default_rng(3).integers(0, 2**64, 20_000, np.uint64)
    ayes = [int((hashes >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
    assert vote(hashes) == sum(1 << bit for bit, count in enumerate(ayes) if count * 2 > 20_000)


@given(st.lists(VALUES | FEW_VALUES, max_size=5), st.sampled_from(["set", "sqrt", "log", "tf"]))
def test_texts_together_are_those_alone(texts: list[list[int]], weight: Weight) -> None:
    arrays = [np.array(values, np.uint64) for values in texts]
    assert fingerprint_each(arrays, weight) == [fingerprint(array, weight) for array in arrays]
    assert vote_each(arrays) == [vote(array) for array in arrays]


def test_long_and_short_texts_together() -> None:
    dice = np.random.default_rng(5)
    sizes = [0, 1, 254, 255, 256, 0, 8160, 8161, 3, 20_000, 0, 1, 1, 1, 510, 0]
    texts = [dice.integers(0, 2**64, size, np.uint64) for size in sizes]
    texts.append(np.full(70_000, 2**64 - 1, np.uint64))  # counters would overflow
    texts += [np.array([number], np.uint64) for number in range(300)]
    assert vote_each(texts) == [vote(text) for text in texts]


def test_weighted_texts_together_are_those_alone() -> None:
    dice = np.random.default_rng(7)
    for sizes in ([0, 1, 2, 0, 300, 20_000, 5, 0], [3] * 200, [0, 0], [9000, 0, 9000], [1]):
        bounds = np.cumsum([0, *sizes])
        hashes = dice.integers(0, 2**64, bounds[-1], np.uint64)
        weights = dice.integers(1, 258_064, bounds[-1]).astype(np.float64)
        each = [slice(*pair) for pair in pairwise(bounds)]
        assert weighted_votes(hashes, weights, bounds) == [vote(hashes[own], weights[own]) for own in each]


@given(VALUES | FEW_VALUES, st.sampled_from(["set", "sqrt", "log", "tf"]), st.randoms(use_true_random=False))
def test_order_does_not_matter(values: list[int], weight: Weight, dice: random.Random) -> None:
    shuffled = dice.sample(values, len(values))
    assert fingerprint(np.array(values, np.uint64), weight) == fingerprint(
        np.array(shuffled, np.uint64), weight
    )


@pytest.mark.parametrize(
    ("weight", "of"),
    [("set", lambda n: 1), ("sqrt", math.sqrt), ("log", lambda n: 1 + math.log(n)), ("tf", lambda n: n)],
)
@given(values=FEW_VALUES)
def test_weights_by_definition(weight: Weight, of: object, values: list[int]) -> None:
    assert callable(of)
    expected = by_definition({h: Fraction(round(of(values.count(h)) * 4096)) for h in values})
    assert fingerprint(np.array(values, np.uint64), weight) == expected


@given(VALUES, st.integers(0, 2**64 - 1))
def test_hamming_counts_differing_bits(values: list[int], other: int) -> None:
    expected = [(value ^ other).bit_count() for value in values]
    array = np.array(values, np.uint64)
    assert hamming(array, other).tolist() == hamming(other, array).tolist() == expected
    assert hamming(array, np.full(len(array), other, np.uint64)).tolist() == expected
    assert [hamming(value, other) for value in values] == expected


def test_hamming_broadcasts() -> None:
    a = np.array([0, 1, 3], np.uint64)
    assert hamming(a[:, None], a).tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
