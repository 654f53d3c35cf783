"""Super-shingles: two of six groups of min-hashes agree as often as the formula says, and for real texts."""

from __future__ import annotations

import numpy as np
import pytest

from scrapy_neardup.fingerprint.bands import SUPER_SHINGLES
from scrapy_neardup.fingerprint.jaccard import text_jaccard, word_shingles
from scrapy_neardup.fingerprint.minhash import MinHash

RUNS = 1000


# Fetterly, Manasse and Najork 2003: 84 min-hashes, 6 super-shingles of 14, a near-duplicate if 2 agree
@pytest.mark.parametrize(
    ("similarity", "probability"), [(0.8, 0.026), (0.85, 0.12), (0.9, 0.415), (0.95, 0.879), (0.97, 0.978)]
)
def test_two_of_six_agree(similarity: float, probability: float) -> None:
    assert SUPER_SHINGLES.probability(similarity) == pytest.approx(probability, abs=5e-4)
    union, found = 200, 0
    for seed in range(RUNS):
        values = np.random.default_rng(seed).integers(0, 2**64, union, np.uint64)
        shared = round(similarity * union)
        only = (union - shared) // 2
        family = MinHash(84, seed)
        a = family.signature(values[: shared + only])
        b = family.signature(np.concatenate((values[:shared], values[shared + only :])))
        keys = SUPER_SHINGLES.keys(np.stack((a, b)))
        found += int(SUPER_SHINGLES.candidates(keys[:, 0], keys[:, 1:])[0])
    error = (probability * (1 - probability) / RUNS) ** 0.5
    assert found / RUNS == pytest.approx(probability, abs=4 * error + 5e-4)


def test_six_keys_that_find_copies_and_nothing_else() -> None:
    dice = np.random.default_rng(5)
    words = [f"w{number}" for number in dice.zipf(1.3, 4000) % 3000]
    article, other = " ".join(words[:2000]), " ".join(words[2000:])
    copy = article.replace(f" {words[1000]} ", " another ", 1)
    assert text_jaccard(article, copy) > 0.99
    assert text_jaccard(article, other) < 0.1
    family = MinHash(84)
    keys = SUPER_SHINGLES.keys(
        np.stack([family.signature(word_shingles(text, 3)) for text in (article, copy, other)])
    )
    assert keys.shape == (6, 3)
    assert SUPER_SHINGLES.candidates(keys[:, 0], keys).tolist() == [True, True, False]
