"""The filter of numbers never misses a shared one, and counts those that were substituted nearly exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.filters import (
    FIGURES,
    NUMBERS,
    TITLE,
    WORDS,
    Filter,
    make_all,
    substituted_each,
)
from scrapy_neardup.fingerprint.murmur import mix

HASHES = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1)), max_size=60)


def filter_of(values: list[int]) -> np.ndarray:
    data = NUMBERS.make(np.array(values, np.uint64))
    assert len(data) == NUMBERS.size == 32
    return np.frombuffer(data, np.uint8)


def drawn(shared: int, only_a: int, only_b: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(seed).integers(0, 2**64, shared + only_a + only_b, np.uint64)
    a, b = values[: shared + only_a], np.concatenate((values[:shared], values[shared + only_a :]))
    return filter_of(a.tolist()), filter_of(b.tolist())


@given(HASHES, HASHES)
def test_no_shared_number_is_missed(some: list[int], more: list[int]) -> None:
    part, whole = filter_of(some), filter_of([*more, *some, *some])
    assert (part & whole == part).all()
    assert float(NUMBERS.substituted(part, whole)[0]) == 0  # one that has more has substituted none


@given(st.lists(HASHES, max_size=5))
def test_filters_made_together_are_those_made_alone(texts: list[list[int]]) -> None:
    arrays = [np.array(values, np.uint64) for values in texts]
    arrays.insert(1, np.arange(1000, dtype=np.uint64).repeat(2))
    assert NUMBERS.make_each(arrays) == [NUMBERS.make(array) for array in arrays]


def by_definition(kind: Filter, values: list[int]) -> bytes:
    """Set one bit after another, in plain integers."""
    mixed = sorted({int(mix(np.array([value], np.uint64))[0]) for value in values})
    width, filled = kind.bits.bit_length() - 1, 0
    for number in mixed[: kind.most] if len(values) > kind.most else mixed:
        for part in range(kind.hashes):
            filled |= 1 << (kind.bits - 1 - (number >> part * width) % kind.bits)
    return filled.to_bytes(kind.size, "big")


@given(st.lists(st.tuples(HASHES, HASHES, HASHES), min_size=1, max_size=3))
def test_filters_of_all_kinds_are_made_and_compared_together(texts: list[tuple[list[int], ...]]) -> None:
    kinds = (NUMBERS, TITLE, WORDS)
    columns = [[np.array(values, np.uint64) for values in column] for column in zip(*texts, strict=True)]
    made = make_all([*zip(kinds, columns, strict=True)])
    for kind, column, filters in zip(kinds, columns, made, strict=True):
        assert filters == [by_definition(kind, values.tolist()) for values in column]
    rows = [np.frombuffer(b"".join(row), np.uint8) for row in zip(*made, strict=True)]
    for one, other in zip(rows, reversed(rows), strict=True):
        start = 0
        for kind, found in zip(kinds, substituted_each(kinds, one, other), strict=True):
            part = slice(start, start := start + kind.size)
            assert found[:2] == kind.substituted(one[part], other[part])


@given(HASHES, HASHES)
def test_bounds_and_symmetry(a: list[int], b: list[int]) -> None:
    one, other = filter_of(a), filter_of(b)
    missing, fewer = NUMBERS.substituted(one, other)
    assert (missing, fewer) == NUMBERS.substituted(other, one)
    assert 0 <= missing <= fewer <= min(len(set(a)), len(set(b)))


@given(st.lists(HASHES, min_size=1, max_size=5), HASHES)
def test_many_are_compared_as_one_by_one(texts: list[list[int]], own: list[int]) -> None:
    filters = np.array([filter_of(values) for values in texts])
    expected = [[float(part) for part in NUMBERS.substituted(filter_of(own), each)] for each in filters]
    for pair in ((filter_of(own), filters), (filters, filter_of(own))):
        missing, fewer = NUMBERS.substituted(*pair)
        assert np.stack((missing, fewer), axis=1).tolist() == expected


@pytest.mark.parametrize(
    ("shared", "only_a", "only_b"),
    [(0, 3, 3), (5, 1, 1), (10, 0, 20), (20, 5, 5), (10, 30, 20), (100, 40, 40)],
)
def test_substituted_numbers_are_counted_about_right(shared: int, only_a: int, only_b: int) -> None:
    counted = np.array([NUMBERS.substituted(*drawn(shared, only_a, only_b, seed)) for seed in range(300)])
    exact, fewer = min(only_a, only_b), shared + min(only_a, only_b)
    missing = counted[:, 0]
    # Two numbers of one text share a bit now and then, the more the more there are.
    assert abs(missing.mean() - exact) <= 0.1 + 0.12 * exact * (fewer / 32)
    if fewer <= 10:
        assert np.mean(np.abs(missing - exact) <= 0.5) > 0.6
        assert np.abs(counted[:, 1] - fewer).mean() < 0.5


@pytest.mark.parametrize(("shared", "only_a", "only_b"), [(0, 0, 9), (5, 4, 0), (20, 30, 10), (60, 40, 40)])
def test_values_that_the_other_lacks_are_counted_about_right(shared: int, only_a: int, only_b: int) -> None:
    pairs = [drawn(shared, only_a, only_b, seed) for seed in range(200)]
    counted = [substituted_each([NUMBERS], *pair)[0][2:] for pair in pairs]
    for found, only in zip(np.mean(counted, axis=0), (only_a, only_b), strict=True):
        assert found == pytest.approx(only, abs=0.1 + 0.25 * only)


def test_no_numbers_and_very_many() -> None:
    assert filter_of([]).tolist() == [0] * NUMBERS.size
    assert [float(part) for part in NUMBERS.substituted(filter_of([]), filter_of([1, 2]))] == [0, 0]
    many = [filter_of(list(range(start, start + 5000))) for start in (0, 10_000)]
    for each in many:
        assert (
            150 < np.bitwise_count(each).sum() < 200
        )  # and not all 256, which would seem to have every number
    # Two tables of other numbers do not pass for one.
    assert float(NUMBERS.substituted(*many)[0]) > 100


FILTERS = pytest.mark.parametrize("kind", [NUMBERS, TITLE, FIGURES, WORDS, Filter(64, 9, hashes=2)])


@FILTERS
@given(st.sets(st.integers(0, 2**64 - 1), max_size=9), st.sets(st.integers(0, 2**64 - 1), max_size=40))
def test_filters_of_every_size_never_miss_a_shared_value(
    kind: Filter, some: set[int], more: set[int]
) -> None:
    part = np.frombuffer(kind.make(np.array(sorted(some), np.uint64)), np.uint8)
    whole = np.frombuffer(
        kind.make(np.array(sorted(some | set(list(more)[: kind.most - 9])), np.uint64)), np.uint8
    )
    assert len(part) == kind.size == kind.bits // 8
    assert np.bitwise_count(part).sum() <= kind.hashes * len(some)
    missing, fewer = kind.substituted(part, whole)
    assert missing == 0
    assert fewer <= len(some)


@FILTERS
def test_about_as_many_are_counted_as_were_substituted(kind: Filter) -> None:
    for count, only in ((0, 1), (5, 1), (5, 2), (8, 0)):
        counted = []
        for seed in range(200):
            values = np.random.default_rng(seed).integers(0, 2**64, count + 2 * only, np.uint64)
            filters = [kind.make(values[: count + only]), kind.make(values[only:])]
            counted.append(float(kind.substituted(*(np.frombuffer(each, np.uint8) for each in filters))[0]))
        assert abs(np.mean(counted) - only) <= 0.05 + 0.2 * only


def test_hardly_a_substituted_word_of_a_title_is_missed() -> None:
    missed = 0
    for seed in range(500):
        values = np.random.default_rng(seed).integers(0, 2**64, 10, np.uint64)
        one, other = (np.frombuffer(TITLE.make(part), np.uint8) for part in (values[1:], values[:-1]))
        missed += float(TITLE.substituted(one, other)[0]) == 0
    assert missed <= 20
