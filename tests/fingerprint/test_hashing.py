"""Hashes of tokens and shingles: seeded, in order, bounded in memory, free of loops that change the result."""

from __future__ import annotations

import mmh3
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import distinct, hash_tokens, mix, shingle

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=60)


def test_a_token_hash_is_murmur3_with_the_seed() -> None:
    for seed in (0, 7, 2**32 - 1):
        expected = [mmh3.hash64(word.encode(), seed, signed=False)[0] for word in ("a", "мир", "a")]
        assert hash_tokens(["a", "мир", "a"], seed).tolist() == expected
    assert hash_tokens([]).tolist() == []


@given(HASHES, st.integers(1, 6))
def test_a_shingle_depends_on_its_tokens_alone(values: list[int], size: int) -> None:
    array = np.array(values, np.uint64)
    together = shingle(array, size)
    if len(values) < size:
        assert len(together) == min(len(values), 1)
    else:
        alone = [shingle(array[i : i + size], size)[0] for i in range(len(values) - size + 1)]
        assert together.tolist() == alone


def test_a_shingle_depends_on_the_order_and_number_of_its_tokens() -> None:
    a, b = hash_tokens(["a", "b"])
    variants = [[a, b], [b, a], [a, a], [b, b], [a, b, a], [a, a, b], [b, a, a], [a], [b]]
    hashes = [int(shingle(np.array(v, np.uint64), len(v))[0]) for v in variants]
    assert len(set(hashes)) == len(variants)


def test_shingles_of_many_tokens_do_not_collide() -> None:
    hashes = hash_tokens([str(i) for i in range(400)])
    pairs = np.stack(np.meshgrid(hashes, hashes), axis=-1).reshape(-1, 2)
    shingles = np.concatenate([shingle(row, 2) for row in pairs[:2000]])
    assert len(np.unique(shingles)) == 2000


@given(HASHES)
def test_distinct_counts_as_a_set_does(values: list[int]) -> None:
    values = values + values[::3]
    found, counts = distinct(np.array(values, np.uint64))
    assert found.tolist() == sorted(set(values))
    assert counts.tolist() == [values.count(value) for value in sorted(set(values))]


def test_mix_is_the_finaliser_of_murmur3() -> None:
    def reference(h: int) -> int:
        for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            h = ((h ^ h >> 33) * multiplier) % 2**64
        return h ^ h >> 33

    values = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    assert mix(values).tolist() == [reference(int(value)) for value in values]
