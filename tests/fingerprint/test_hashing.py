"""Hashes of shingles depend on the order and number of their tokens and on nothing else.

The sets and bags that they make are right.
"""

from __future__ import annotations

from itertools import pairwise

import mmh3
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import distinct, distinct_each, shingle

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=60)


def tokens(*words: str) -> np.ndarray:
    return np.array([mmh3.hash64(word, signed=False)[0] for word in words], np.uint64)


@given(HASHES, st.integers(1, 6))
def test_a_shingle_depends_on_its_tokens_alone(values: list[int], size: int) -> None:
    array = np.array(values, np.uint64)
    together = shingle(array, size)
    if len(values) < size:
        assert len(together) == min(len(values), 1)
    else:
        alone = [shingle(array[i : i + size], size)[0] for i in range(len(values) - size + 1)]
        assert together.tolist() == alone


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=4))
def test_distinct_values_of_several_texts(texts: list[list[int]]) -> None:
    hashes = np.array([value for text in texts for value in text], np.uint64)
    at, bounds = distinct_each(hashes, np.cumsum([0, *map(len, texts)]))
    found = hashes[at].tolist()
    assert [found[a:b] for a, b in pairwise(bounds.tolist())] == [sorted({*text}) for text in texts]


def test_a_shingle_depends_on_the_order_and_number_of_its_tokens() -> None:
    a, b = tokens("a", "b")
    variants = [[a, b], [b, a], [a, a], [b, b], [a, b, a], [a, a, b], [b, a, a], [a], [b]]
    hashes = [int(shingle(np.array(v, np.uint64), len(v))[0]) for v in variants]
    assert len(set(hashes)) == len(variants)


def test_shingles_of_many_tokens_do_not_collide() -> None:
    hashes = tokens(*map(str, range(400)))
    pairs = np.stack(np.meshgrid(hashes, hashes), axis=-1).reshape(-1, 2)
    shingles = np.concatenate([shingle(row, 2) for row in pairs[:2000]])
    assert len(np.unique(shingles)) == 2000


@given(HASHES)
def test_distinct_counts_as_a_set_does(values: list[int]) -> None:
    values = values + values[::3]
    found, counts = distinct(np.array(values, np.uint64))
    assert found.tolist() == sorted(set(values))
    assert counts.tolist() == [values.count(value) for value in sorted(set(values))]
