"""Members move to the leader that they are most like: as trying every leader within reach would have it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.pairs.components import closest_leaders, components, leader_clusters


@given(st.integers(1, 25), st.integers(0, 2**32 - 1), st.floats(0.05, 0.6))
def test_as_brute_force_where_all_that_match_are_pairs(count: int, seed: int, share: float) -> None:
    dice = np.random.default_rng(seed)
    alike = np.where(dice.random((count, count)) < share, dice.random((count, count)), np.nan)
    ranks = dice.permutation(count)
    pairs = np.argwhere(~np.isnan(alike))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    leaders = leader_clusters(ranks, pairs, lambda kept, pages: ~np.isnan(alike[pages, kept]))
    found = closest_leaders(leaders, ranks, pairs, lambda kept, pages: alike[pages, kept])
    own = np.arange(count)
    assert (found[leaders == own] == own[leaders == own]).all()
    for page in np.flatnonzero(leaders != own).tolist():
        fits = [
            leader
            for leader in np.flatnonzero(leaders == own).tolist()
            if ranks[leader] < ranks[page] and not np.isnan(alike[page, leader])
        ]
        assert found[page] == max(fits, key=lambda leader: alike[page, leader])
    assert (components(count, pairs)[found] == components(count, pairs)).all()


def test_the_copies_of_a_page_follow_it() -> None:
    """Of equal texts only the first has pairs with others: 2 joins 1, not 0, and so do its copies 3 and 4."""
    texts = np.array([0, 1, 2, 2, 2])
    alike = np.array([[1, np.nan, 0.7], [np.nan, 1, 0.9], [0.7, 0.9, 1]])
    pairs = np.array([[0, 2], [1, 2], [2, 3], [2, 4]])
    found = closest_leaders(
        np.array([0, 1, 0, 0, 0]), np.arange(5), pairs, lambda kept, pages: alike[texts[pages], texts[kept]]
    )
    assert found.tolist() == [0, 1, 1, 1, 1]


def test_without_pairs_all_stay() -> None:
    assert closest_leaders(
        np.arange(3), np.arange(3), np.empty((0, 2), np.int64), lambda kept, pages: np.zeros(len(pages))
    ).tolist() == [0, 1, 2]
