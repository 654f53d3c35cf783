"""The sketch is what its definition says, and estimates Jaccard and containment within its standard error."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_neardup.fingerprint.hashing import Hashes
from scrapy_neardup.fingerprint.sketch import BINS, SIZE, similarity, sketch_each
from tests.examples import examples

HASH = st.integers(0, 2**64 - 1)


def sketch(shingles: NDArray[np.uint64]) -> tuple[bytes, int]:
    return sketch_each(Hashes.of([shingles.copy()]))[0]


def estimate(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> tuple[float, ...]:
    (sketch_a, n), (sketch_b, m) = sketch(a), sketch(b)
    found = similarity(array(sketch_a), n, array(sketch_b)[None], np.array([m]))
    return tuple(each[0].item() for each in found)


def array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def two_sets(
    shared: int, only_a: int, only_b: int, seed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    values = np.random.default_rng(seed).integers(0, 2**64, shared + only_a + only_b, np.uint64)
    return values[: shared + only_a], np.concatenate((values[:shared], values[shared + only_a :]))


def mixed(value: int) -> int:
    """The finaliser of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor % 2**64
    return value ^ value >> 33


def sketch_by_definition(hashes: Iterable[int]) -> bytes:
    """One bin after another, in plain integers.

    A bin is one of 768 equal parts of the hashes and keeps the lowest bit of its least hash. An empty bin
    asks up to 64 others, drawn by a hash of its number, and takes a bit of the least hash of the first that
    has one: which bit depends on the asker. Where none has, it is that of the first bin that has one.
    """
    ordered = sorted(set(hashes))
    if not ordered:
        return bytes(96)
    least: dict[int, int] = {}
    for value in reversed(ordered):
        least[(value >> 32) * 768 >> 32] = value
    bits = ""
    for number in range(768):
        if number in least:
            bits += str(least[number] & 1)
            continue
        asked = [mixed(number * 64 + turn + 1) % 768 for turn in range(64)]
        lender = next((other for other in asked if other in least), min(least))
        bits += str(least[lender] >> (number % 31 + 1) & 1)
    return int(bits, 2).to_bytes(96, "big")


@examples(40)
@given(st.lists(st.one_of(HASH, st.integers(0, 2**56)), max_size=150))
def test_sketch_by_definition(values: list[int]) -> None:
    assert sketch(np.array(values, np.uint64)) == (sketch_by_definition(values), len(set(values)))


def test_hashes_at_the_borders_of_bins() -> None:
    borders = [(-(-(bin_ << 32) // 768) << 32) + offset for bin_ in range(1, 768) for offset in (-1, 0)]
    values = [0, 2**64 - 1, *borders]
    assert sketch(np.array(values, np.uint64))[0] == sketch_by_definition(values)
    long = np.random.default_rng(3).integers(0, 2**64, 3000, np.uint64)
    assert sketch(long)[0] == sketch_by_definition(long.tolist())


@pytest.mark.parametrize("shared", [0, 300, 600, 900, 980])
def test_jaccard_is_within_four_standard_errors(shared: int) -> None:
    exact = shared / (2000 - shared)
    error = math.sqrt((1 - exact**2) / BINS)
    # An empty bin repeats what another one says, so a text of 1000 shingles has some fewer than 768 bins.
    found = [estimate(*two_sets(shared, 1000 - shared, 1000 - shared, seed)) for seed in range(300)]
    estimates, _, added = zip(*found, strict=True)
    assert sum(value > 1000 - shared for value in added) < 20  # two standard errors: a fortieth of them
    assert max(abs(value - exact) for value in estimates) < 4.5 * error
    if shared:  # at 0 the estimate is cut off on one side
        assert abs(np.mean(estimates) - exact) < 4 * error / math.sqrt(300)
        assert np.std(estimates) < 1.25 * error
        assert max(added) > 1000 - shared - 1000 * error


def test_many_are_compared_as_one_by_one_on_either_side() -> None:
    sets = [two_sets(seed * 20, 50, 50 + seed, seed)[1] for seed in range(20)]
    sketches = np.array([array(sketch(values)[0]) for values in sets])
    counts = np.array([sketch(values)[1] for values in sets], np.uint32)
    expected = [estimate(sets[3], values) for values in sets]
    single = sketches[3], counts[3]
    for pair in ((*single, sketches, counts), (sketches, counts, *single)):
        found = similarity(*pair)
        assert {each.dtype for each in found} == {np.dtype(np.float32)}
        assert found[0].tolist() == [each[0] for each in expected]
    found = similarity(sketches, counts, sketches[::-1], counts[::-1])
    expected = [estimate(a, b) for a, b in zip(sets, reversed(sets), strict=True)]
    assert [*zip(*(each.tolist() for each in found), strict=True)] == expected


def test_a_text_without_shingles_is_similar_to_none() -> None:
    nothing = np.array([], np.uint64)
    assert sketch(nothing) == (bytes(SIZE), 0)
    assert estimate(nothing, nothing) == (0, 0, 0)
    assert estimate(nothing, np.array([5], np.uint64)) == (0, 0, 0)
    none = np.zeros((0, SIZE), np.uint8), np.zeros(0, np.int64)
    assert [len(each) for each in similarity(array(bytes(SIZE)), np.array(3), *none)] == [0, 0, 0]
