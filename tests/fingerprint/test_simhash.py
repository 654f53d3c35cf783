"""The vote is that of the definition, exact in any order; Hamming distances are counted bits."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_neardup.fingerprint import Weight, hamming, vote
from scrapy_neardup.fingerprint.hashing import Hashes
from scrapy_neardup.fingerprint.simhash import fingerprints

VALUES = st.lists(st.integers(0, 2**64 - 1), max_size=40)
FEW_VALUES = st.lists(st.sampled_from([1, 3, 0xF0F0, 2**63, 2**64 - 1, 2**40 - 1]), max_size=60)


def by_definition(weights: dict[int, Fraction]) -> int:
    half = sum(weights.values(), Fraction(0)) / 2
    return sum(
        1 << bit
        for bit in range(64)
        if sum((w for h, w in weights.items() if h >> bit & 1), Fraction(0)) > half
    )


def marks(texts: list[list[tuple[int, int]]], weight: Weight) -> list[int]:
    """Return the fingerprints of texts whose words are given as hash and length."""
    hashes = Hashes.of([np.array([value for value, _ in words], np.uint64) for words in texts])
    lengths = np.array([length for words in texts for _, length in words], np.intp)
    return fingerprints(hashes, lengths, weight)


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 10**6), max_size=40))
def test_vote_with_weights(weights: dict[int, int]) -> None:
    hashes = np.array(list(weights), np.uint64)
    expected = by_definition({h: Fraction(w) for h, w in weights.items()})
    assert vote(hashes, np.array(list(weights.values()), np.float64)) == expected


@pytest.mark.parametrize(
    ("weight", "of"),
    [("set", lambda n: 1), ("sqrt", math.sqrt), ("log", lambda n: 1 + math.log(n)), ("tf", lambda n: n)],
)
@given(values=FEW_VALUES)
def test_weights_by_definition(weight: Weight, of: object, values: list[int]) -> None:
    assert callable(of)
    expected = by_definition({h: Fraction(round(of(values.count(h)) * 4096)) for h in values})
    assert marks([[(value, 1) for value in values]], weight) == [expected]


@given(VALUES, st.integers(0, 2**64 - 1))
def test_hamming_counts_differing_bits(values: list[int], other: int) -> None:
    expected = [(value ^ other).bit_count() for value in values]
    array = np.array(values, np.uint64)
    assert hamming(array, other).tolist() == hamming(other, array).tolist() == expected
    assert hamming(array, np.full(len(array), other, np.uint64)).tolist() == expected
    assert [hamming(value, other) for value in values] == expected


WORDS = st.lists(
    st.tuples(
        st.sampled_from([32, 64, 96, 2**63, 2**64 - 1, 2**40 - 1]) | st.integers(0, 2**64 - 1),
        st.integers(0, 70),
    ),
    max_size=50,
)


def keywords_by_definition(words: list[tuple[int, int]]) -> int:
    lengths = [min(length, 64) for _, length in words if length]

    @cache
    def rank(length: int) -> int:
        if not length:
            return 16
        twice = 2 * sum(n < length for n in lengths) + lengths.count(length)
        share = Fraction(twice, 2 * len(lengths))
        return int(min(max((share - Fraction(2, 5)) / Fraction(1, 5), 0), 1) * 16)

    ranked = Counter((h >> 5, rank(min(length, 64))) for h, length in words)
    weights = {key: min(count, 10) ** 2 * key[1] for key, count in ranked.items() if key[1]}
    half = Fraction(sum(weights.values()), 2)
    hashes = {key: key[0] * 0x9E3779B97F4A7C15 for key in weights}
    return sum(
        1 << bit for bit in range(64) if sum(w for k, w in weights.items() if hashes[k] >> bit & 1) > half
    )


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from(get_args(Weight)), st.randoms())
def test_texts_together_are_those_alone_in_any_order(
    texts: list[list[tuple[int, int]]], weight: Weight, dice: random.Random
) -> None:
    alone = [marks([dice.sample(words, len(words))], weight)[0] for words in texts]
    assert marks(texts, weight) == alone


@given(WORDS)
def test_keywords_by_definition(words: list[tuple[int, int]]) -> None:
    assert marks([words], "keywords") == [keywords_by_definition(words)]


def test_a_long_text_stays_exact() -> None:
    numbers = np.random.default_rng(2).integers(0, 30_000, 60_000).tolist()  # more than fit in one step
    words = [(number << 20, number % 12 + 1) for number in numbers]
    assert marks([words], "keywords") == [keywords_by_definition(words)]


# Other implementations' published values come out of this vote, fed with their hashes.
MOZ = json.loads((Path(__file__).parents[1] / "known_answers" / "moz.json").read_text(encoding="utf-8"))


def md5(features: list[str], shift: int = 0) -> NDArray[np.uint64]:
    """Low 64 bits, after *shift*, of the MD5 digest read as a big-endian number."""
    numbers = [
        int(hashlib.md5(feature.encode(), usedforsecurity=False).hexdigest(), 16) for feature in features
    ]
    return np.array([number >> shift & (2**64 - 1) for number in numbers], np.uint64)


@pytest.mark.parametrize("vector", MOZ["compute"], ids=lambda vector: vector["case"])
def test_moz_compute(vector: dict[str, object]) -> None:
    hashes = [int(value, 16) for value in vector["hashes"]] * vector["repeat"]  # type: ignore[attr-defined, operator]
    assert vote(np.array(hashes, np.uint64)) == int(str(vector["fingerprint"]), 16)


def test_moz_differing_bits() -> None:
    known = MOZ["differing_bits"]
    assert hamming(int(known["a"], 16), int(known["b"], 16)) == known["bits"]


# Values retyped. github.com/1e0ng/simhash, commit 78f3b8d (2022), tests/test_simhash.py; the last one
# github.com/internetarchive/wayback-discover-diff, commit 0060bda (2025), tests/test_discover.py, whose 128
# bits are two votes, since every bit is voted on its own.
NUMBERS, WAYBACK = [*map(str, range(500))], 66237222457941138286276456718971054176


@pytest.mark.parametrize(
    ("features", "shift", "weights", "fingerprint"),
    [
        (["aaa", "bbb"], 0, None, 57087923692560392),
        (NUMBERS, 0, None, 7984652473404407437),
        (NUMBERS, 0, [50 * n for n in range(500)], 3372825719632739723),
        (["two", "three", "one"], 0, [2, 3, 1], WAYBACK & (2**64 - 1)),
        (["two", "three", "one"], 64, [2, 3, 1], WAYBACK >> 64),
    ],
)
def test_known_votes(features: list[str], shift: int, weights: list[int] | None, fingerprint: int) -> None:
    assert vote(md5(features, shift), weights and np.array(weights, np.float64)) == fingerprint
