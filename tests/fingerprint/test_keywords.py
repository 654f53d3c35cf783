"""Keywords weigh what the definition says, exactly, alone and together; fingerprints of them spread."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import Features, Fingerprinter, Weight, hamming, vote
from scrapy_neardup.fingerprint.murmur import mix
from scrapy_neardup.fingerprint.simhash import fingerprint_keywords
from scrapy_neardup.fingerprint.terms import Votes

WORDS = st.lists(
    st.tuples(
        st.sampled_from([32, 64, 96, 2**63, 2**64 - 1, 2**40 - 1]) | st.integers(0, 2**64 - 1),
        st.integers(0, 70),
    ),
    max_size=50,
)


def votes(words: list[tuple[int, int]]) -> Votes:
    return Votes(np.array([h for h, _ in words], np.uint64), np.array([n for _, n in words], np.intp))


def by_definition(words: list[tuple[int, int]]) -> int:
    lengths = [min(length, 64) for _, length in words if length]

    @cache
    def rank(length: int) -> int:
        if not length:
            return 16
        twice = 2 * sum(n < length for n in lengths) + lengths.count(length)
        share = twice / (2 * len(lengths))
        return int(min(max((share - 0.4) / (0.6 - 0.4), 0), 1) * 16)

    ranked = Counter((h >> 5, rank(min(length, 64))) for h, length in words)
    weights = {key: min(count, 127) ** 2 * key[1] for key, count in ranked.items() if key[1]}
    # The greatest limit that is at most half of the norm of what is cut to it.
    too_much = bisect_left(
        range(1, 10**7),
        True,
        key=lambda limit: sum(min(w, limit) ** 2 for w in weights.values()) < 4 * limit**2,
    )
    limit = max(too_much, 1)
    weights = {key: min(w, limit) for key, w in weights.items()}
    half = Fraction(sum(weights.values()), 2)
    hashes = {key: int(mix(np.array([key[0]], np.uint64))[0]) for key in weights}
    return sum(
        1 << bit for bit in range(64) if sum(w for k, w in weights.items() if hashes[k] >> bit & 1) > half
    )


@given(WORDS)
def test_weights_by_definition(words: list[tuple[int, int]]) -> None:
    assert fingerprint_keywords([votes(words)]) == [by_definition(words)]


@given(st.lists(WORDS, max_size=6))
def test_texts_together_are_those_alone(texts: list[list[tuple[int, int]]]) -> None:
    alone = [fingerprint_keywords([votes(words)])[0] for words in texts]
    assert fingerprint_keywords([votes(words) for words in texts]) == alone


@given(WORDS, st.randoms(use_true_random=False))
def test_order_does_not_matter(words: list[tuple[int, int]], dice: random.Random) -> None:
    shuffled = dice.sample(words, len(words))
    assert fingerprint_keywords([votes(words)]) == fingerprint_keywords([votes(shuffled)])


@given(st.sets(st.integers(0, 2**59 - 1), min_size=1, max_size=9), st.integers(0, 70))
def test_different_words_of_one_length_weigh_the_same(numbers: set[int], length: int) -> None:
    words = [(number << 5, length) for number in numbers]
    assert fingerprint_keywords([votes(words)]) == [vote(mix(np.array([*numbers], np.uint64)))]


def test_a_long_text_stays_exact() -> None:
    numbers = np.random.default_rng(2).integers(0, 3000, 40_000).tolist()
    words = [(number << 20, number % 12 + 1) for number in numbers]
    assert fingerprint_keywords([votes(words)]) == [by_definition(words)]


SHORT = [
    "the",
    "of",
    "to",
    "and",
    "in",
    "that",
    "is",
    "was",
    "for",
    "it",
    "with",
    "as",
    "on",
    "be",
    "at",
    "by",
]


def story(number: int, length: int = 400) -> list[str]:
    """As in most languages many of the words are few short ones; the others are those of this story."""
    dice = random.Random(number)
    own = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(5, 10))) for _ in range(60)]
    rare = [own[int(60 * dice.random() ** 2)] for _ in range(length)]
    return [dice.choice(SHORT) if dice.random() < 0.38 else word for word in rare]


def mark(words: list[str], weight: Weight = "keywords") -> int:
    return Fingerprinter(Features(weight=weight)).signature(" ".join(words)).fingerprint


def test_short_words_decide_nothing() -> None:
    words = story(1)
    other = [
        random.Random(number).choice(SHORT) if word in SHORT else word for number, word in enumerate(words)
    ]
    assert other != words
    assert hamming(mark(words), mark(other)) == 0


def test_stories_that_share_short_words_are_as_unlike_as_any() -> None:
    def mean_distance(weight: Weight) -> float:
        marks = [mark(story(number), weight) for number in range(30)]
        return float(np.mean([hamming(a, b) for a, b in combinations(marks, 2)]))

    assert mean_distance("keywords") > 31
    assert mean_distance("tf") < 26


def test_no_word_decides_alone() -> None:
    """A word that is said again and again has less than half of the votes."""
    words = ["senator"] * 300
    assert hamming(mark([*words, *story(2)]), mark([*words, *story(3)])) > 8
    assert hamming(mark([*words, *story(2)], "tf"), mark([*words, *story(3)], "tf")) < 8
