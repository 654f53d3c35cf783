"""Clusters: components are those of a search by hand, and no member of a cluster differs from its leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.clustering import components, leader_clusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 30))
    node = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(node, node), max_size=60))


def array(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


def search(count: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The least element that each is connected to, by a search from every one."""
    labels = []
    for element in range(count):
        seen = [element]
        for found in seen:
            near = {a + b - found for a, b in pairs if found in (a, b)}
            seen += sorted(near - set(seen))
        labels.append(min(seen))
    return labels


@given(graphs())
def test_components_by_search(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = graph
    expected = search(count, pairs)
    assert components(count, array(pairs)).tolist() == expected


def one_by_one(
    ranks: list[int], pairs: list[tuple[int, int]], match: Callable[[int, int], bool]
) -> list[int]:
    """The same clusters by the words of the docstring."""
    leaders = [-1] * len(ranks)
    for leader in sorted(range(len(ranks)), key=lambda page: (ranks[page], page)):
        if leaders[leader] >= 0:
            continue
        leaders[leader], members = leader, [leader]
        for member in members:
            for pair in pairs:
                for a, b in (pair, pair[::-1]):
                    if a == member and leaders[b] < 0 and match(leader, b):
                        leaders[b] = leader
                        members.append(b)
    return leaders


@given(graphs(), st.data())
def test_leader_clusters_by_definition_in_any_order_of_pairs(
    graph: tuple[int, list[tuple[int, int]]], data: st.DataObject
) -> None:
    count, pairs = graph
    ranks = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    values = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    shuffled = [data.draw(st.sampled_from([pair, pair[::-1]])) for pair in data.draw(st.permutations(pairs))]
    spots = np.array(values)

    def verify(leaders: NDArray[np.int64], pages: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.abs(spots[leaders] - spots[pages]) <= 3

    expected = one_by_one(ranks, pairs, lambda a, b: abs(values[a] - values[b]) <= 3)
    assert leader_clusters(np.array(ranks), array(pairs), verify).tolist() == expected
    assert leader_clusters(np.array(ranks), array(shuffled), verify).tolist() == expected


@given(graphs())
def test_no_pair_is_checked_more_than_twice(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = graph
    checked: list[int] = []

    def verify(leaders: NDArray[np.int64], pages: NDArray[np.int64]) -> NDArray[np.bool_]:
        checked.append(len(pages))
        return (leaders + pages) % 3 > 0

    leader_clusters(np.zeros(count), array(pairs), verify)
    assert all(checked)
    assert sum(checked) <= 2 * len(pairs)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_chain_of_twenty_thousand_steps(ordered: bool) -> None:
    """One component: what is left of it is divided again and again, so leaders far apart work at once."""
    count, calls = 20_000, []
    ranks = np.arange(count) if ordered else np.random.default_rng(4).permutation(count)
    pairs = np.stack((np.arange(count - 1), np.arange(1, count)), axis=1)

    def verify(leaders: NDArray[np.int64], pages: NDArray[np.int64]) -> NDArray[np.bool_]:
        calls.append(len(pages))
        return np.abs(leaders - pages) <= 3

    found = leader_clusters(ranks, pairs, verify)
    assert (np.abs(found - np.arange(count)) <= 3).all()
    if ordered:
        assert np.array_equal(found, np.arange(count) // 4 * 4)
    else:
        assert len(calls) < 500
