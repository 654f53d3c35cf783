"""Joins: near pairs and pairs with common keys are those of brute force, in linear time if many are equal."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.pairs import compare
from scrapy_neardup.audit.pairs.compare import equal_keys
from scrapy_neardup.audit.pairs.joins import MAX_DISTANCE, Sizes, choose_layout, near_pairs
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index.tables import NO_KEY, PermutedTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOZ = json.loads((Path(__file__).parents[2] / "known_answers" / "moz.json").read_text(encoding="utf-8"))


def found(values: NDArray[np.uint64], distance: int, **options: object) -> list[tuple[int, int]]:
    chunks = list(near_pairs(values, distance, **options))  # type: ignore[arg-type]
    assert all(chunk.dtype == np.int64 and chunk.ndim == 2 and len(chunk) for chunk in chunks)
    return [(a, b) for chunk in chunks for a, b in chunk.tolist()]


def brute_force(values: NDArray[np.uint64], distance: int) -> list[tuple[int, int]]:
    """All pairs of first ones of their kind within *distance*, and each other one with its first."""
    first = np.array([int(np.flatnonzero(values == value)[0]) for value in values], np.int64)
    only = np.unique(first)
    near = np.triu(np.bitwise_count(values[only, None] ^ values[only]) <= distance, 1)
    pairs = [(int(only[a]), int(only[b])) for a, b in np.argwhere(near)]
    return sorted(pairs + [(int(f), place) for place, f in enumerate(first) if f != place])


def crowded(count: int, dice: np.random.Generator, bits: int = 8) -> NDArray[np.uint64]:
    """Fingerprints up to *bits* bits from one of a few, some of them equal."""
    values = dice.choice(dice.integers(0, 2**64, max(1, count // 8), np.uint64), count)
    for _ in range(bits):
        values ^= (dice.random(count) < 0.5).astype(np.uint64) << dice.integers(0, 64, count, np.uint64)
    copies = count // 10
    values[dice.permutation(count)[:copies]] = values[dice.integers(0, count, copies)]
    return values


@pytest.mark.parametrize("distance", range(MAX_DISTANCE + 1))
def test_pairs_are_those_of_brute_force(distance: int) -> None:
    values = crowded(1500, np.random.default_rng(distance))
    pairs = found(values, distance)
    assert len(pairs) > 100
    assert sorted(pairs) == brute_force(values, distance)


@pytest.mark.parametrize("blocks", [*range(4, 13), 16, 33, 64])
def test_every_layout_finds_the_same(blocks: int) -> None:
    """With groups and pairs that are cut between slices and chunks, too."""
    distance = 3 if blocks <= 12 else 1
    values = crowded(300, np.random.default_rng(blocks))
    pairs = found(values, distance, layout=PermutedTables(blocks, distance), sizes=Sizes(13, 7))
    assert sorted(pairs) == brute_force(values, distance)


@given(
    st.lists(
        st.integers(0, 2**64 - 1)
        | st.sets(st.integers(0, 63), max_size=5).map(lambda s: sum(1 << b for b in s))
    ),
    st.integers(0, MAX_DISTANCE),
)
def test_pairs_of_any_fingerprints(fingerprints: list[int], distance: int) -> None:
    values = np.array(fingerprints, np.uint64)
    assert sorted(found(values, distance)) == brute_force(values, distance)


@pytest.mark.parametrize("name", ["find_all", "find_all_diverse"])
def test_moz_pairs(name: str) -> None:
    known = MOZ[name]
    values = np.array([int(value, 16) for value in known["hashes"]], np.uint64)
    expected = {frozenset(int(value, 16) for value in pair) for pair in known["pairs"]}
    for blocks in known["blocks"]:
        pairs = found(values, known["distance"], layout=PermutedTables(blocks, known["distance"]))
        assert len(pairs) == len(expected)
        assert {frozenset((int(values[a]), int(values[b]))) for a, b in pairs} == expected


def test_permuted_input_gives_the_same_pairs_of_values() -> None:
    dice = np.random.default_rng(5)
    values = np.unique(crowded(2000, dice))
    places = dice.permutation(len(values))
    pairs = {frozenset(places[[a, b]].tolist()) for a, b in found(values[places], 5)}
    assert pairs == {frozenset(pair) for pair in found(values, 5)}


def test_threads_do_not_change_the_result() -> None:
    values = crowded(5000, np.random.default_rng(6))
    layout = PermutedTables(6, 3)
    assert found(values, 3, layout=layout, workers=1) == found(values, 3, layout=layout, workers=4)


def test_a_million_equal_fingerprints_are_a_star() -> None:
    values = np.full(10**6, 77, np.uint64)
    values[3] = 78
    started = time.process_time()
    pairs = np.concatenate(list(near_pairs(values, 3)))
    assert time.process_time() - started < 10  # takes 0.1
    expected = np.stack((np.zeros(10**6 - 1, np.int64), np.arange(1, 10**6)), axis=1)
    assert np.array_equal(pairs[np.argsort(pairs[:, 1])], expected)


def test_a_prefix_that_all_share_is_no_trap() -> None:
    """Half of the bits are equal everywhere: with 4 or 5 blocks all pairs would be compared, 2 × 10**10."""
    values = np.random.default_rng(7).integers(0, 2**32, 200_000, np.uint64)
    values[:100] = values[100:200] ^ np.uint64(7)
    assert choose_layout(np.unique(values), 3).blocks > 6
    started = time.process_time()
    pairs = set(found(values, 3))
    assert time.process_time() - started < 40  # takes 3
    assert {(place, place + 100) for place in range(100)} <= pairs


def test_the_layout_grows_with_the_fingerprints() -> None:
    dice = np.random.default_rng(8)
    layouts = [
        len(choose_layout(dice.integers(0, 2**64, count, np.uint64), 3)) for count in (10, 10**5, 8 * 10**6)
    ]
    assert layouts == [4, 4, 10]


def test_pairs_come_in_chunks_and_the_rest_may_be_left() -> None:
    sizes = Sizes(1000, 1000)
    values = np.arange(4096, dtype=np.uint64)
    chunks = near_pairs(values, 3, sizes=sizes)
    assert 0 < len(next(chunks)) <= 2000
    assert max(map(len, chunks)) <= 2000
    chunks = near_pairs(values, 3, sizes=sizes)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("distance", [-1, MAX_DISTANCE + 1])
def test_distances_that_cannot_be_searched(distance: int) -> None:
    with pytest.raises(ConfigurationError, match="use 0 to 7 bits"):
        near_pairs(np.zeros(2, np.uint64), distance)


def test_a_layout_that_cannot_find_the_distance() -> None:
    with pytest.raises(ConfigurationError, match="do not find all pairs within 4"):
        near_pairs(np.zeros(2, np.uint64), 4, layout=PermutedTables(4, 3))


# -- equal keys ----------------------------------------------------------------------------------------------


def in_common(entries: Sequence[tuple[int, int]], most: int) -> dict[tuple[int, int], int]:
    """The pairs by the words of the docstring, and how many keys they share."""
    holders: dict[int, set[int]] = {}
    for key, document in entries:
        if key != int(NO_KEY):
            holders.setdefault(key, set()).add(document)
    shared = Counter(pair for group in holders.values() for pair in combinations(sorted(group), 2))
    wanted: set[tuple[int, int]] = set()
    for group in holders.values():
        pairs = combinations(sorted(group), 2)
        wanted |= {pair for pair in pairs if len(group) <= most or pair[0] == min(group)}
    return {pair: shared[pair] for pair in wanted}


def shared_by(entries: Sequence[tuple[int, int]], most: int) -> dict[tuple[int, int], int]:
    keys = np.array([key for key, _ in entries], np.uint64)
    documents = np.array([document for _, document in entries], np.int64)
    counted: dict[tuple[int, int], int] = {}
    for pairs, shared in equal_keys(keys, documents, most):
        assert pairs.dtype == shared.dtype == np.int64
        for (a, b), count in zip(pairs.tolist(), shared.tolist(), strict=True):
            assert (a, b) not in counted
            counted[a, b] = count
    return counted


@given(
    st.lists(st.tuples(st.integers(0, 6) | st.just(int(NO_KEY)), st.integers(0, 12)), max_size=80),
    st.integers(1, 8),
    st.sampled_from([1, 5, 1 << 20]),
)
def test_shared_keys_are_counted(entries: list[tuple[int, int]], most: int, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "_PAIRS", chunk)
        assert shared_by(entries, most) == in_common(entries, most)
        assert shared_by(entries[::-1], most) == in_common(entries, most)


def test_two_of_six_super_shingles() -> None:
    keys = {
        0: [1, 2, 3, 4, 5, 6],
        1: [1, 2, 13, 14, 15, 16],
        2: [21, 2, 23, 24, 25, 26],
        3: [31, 32, 33, 34, 35, 36],
    }
    entries = [(key, document) for document, own in keys.items() for key in own]
    assert shared_by(entries, 64) == {(0, 1): 2, (0, 2): 1, (1, 2): 1}


def test_a_key_that_all_share_costs_one_pair_a_document() -> None:
    count = 300_000
    keys = np.concatenate((np.full(count, 5, np.uint64), np.arange(count).astype(np.uint64) // 2 + 10))
    documents = np.tile(np.arange(count), 2)
    started = time.process_time()
    chunks = list(equal_keys(keys, documents))
    assert time.process_time() - started < 15  # takes 0.3
    pairs = np.concatenate([pairs for pairs, _ in chunks])
    shared = np.concatenate([shared for _, shared in chunks])
    assert len(pairs) == count - 1 + count // 2 - 1
    couples = pairs[:, 0] // 2 == pairs[:, 1] // 2
    assert (shared[couples] == 2).all()
    assert (shared[~couples] == 1).all()
