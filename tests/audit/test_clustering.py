"""Clusters are those of a search by hand; of the page to keep each rule decides alone, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scrapy_neardup.audit.clustering import canonical_ranks, components, leader_clusters
from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.sites import site_key


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 30))
    node = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(node, node), max_size=60))


def array(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


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


@given(graphs())
def test_components_are_the_clusters_of_all_that_is_connected(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, pairs = graph
    assert components(count, array(pairs)).tolist() == one_by_one([0] * count, pairs, lambda a, b: True)


@given(graphs(), st.data())
def test_leader_clusters_by_definition_in_any_order_of_pairs_with_two_checks_of_each_at_most(
    graph: tuple[int, list[tuple[int, int]]], data: st.DataObject
) -> None:
    count, pairs = graph
    ranks = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    values = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    shuffled = [data.draw(st.sampled_from([pair, pair[::-1]])) for pair in data.draw(st.permutations(pairs))]
    spots, checked = np.array(values), list[int]()

    def verify(leaders: NDArray[np.int64], pages: NDArray[np.int64]) -> NDArray[np.bool_]:
        checked.append(len(pages))
        return np.abs(spots[leaders] - spots[pages]) <= 3

    expected = one_by_one(ranks, pairs, lambda a, b: abs(values[a] - values[b]) <= 3)
    for each in (pairs, shuffled):
        checked.clear()
        assert leader_clusters(np.array(ranks), array(each), verify).tolist() == expected
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


def ranks_of(
    rows: Sequence[tuple[object, ...]], *preferred: tuple[str, ...], stories: Any = 0
) -> NDArray[Any]:
    """Rank rows of URL, declared URL, length, time, digest, noindex, or the first few; of one story."""
    usual = ("", "", 100, 1000, 0, False)
    full = [(*row, *usual[len(row) :]) for row in rows]
    columns = list(zip(*full, strict=True)) or [()] * 6
    keys = {DIGEST: np.array(columns[4], np.uint64)}
    records = {"site": np.array([site_key(url) for url in columns[0]], np.uint32)}
    records["tokens"] = np.array(columns[2], np.int64)
    crawl: Any = SimpleNamespace(
        urls=columns[0], declared=columns[1], fetched=np.array(columns[3], np.float64),
        noindex=np.array(columns[5], bool), documents=SimpleNamespace(keys=keys, records=records),
    )  # fmt: skip
    return canonical_ranks(crawl, np.zeros(len(full), np.int64) + stories, *preferred)


#: For each preference pages in the order of it, which nothing that comes before it tells apart.
BETTER_AND_WORSE: dict[str, list[tuple[object, ...]]] = {
    "noindex": [("http://c.example/long", "", 9, 2, 1, False), ("https://a.example/", "", 99, 1, 0, True)],
    "urls": [("http://z.example/stable/longer",), ("http://z.example/new/x",), ("http://a.example/x",)],
    "hosts": [("http://www.a.example:8080/longer",), ("http://b.example/x",), ("http://nota.example/",)],
    "site": [
        ("http://z.example/long", "", 10, np.nan), ("http://z.example/longer", "", 9, 998),
        ("https://y.example/", "https://y.example/", 99, 999), ("http://x.example/", "", 9, np.nan),
        ("http://w.example/2", "", 99, 0), ("http://v.example/", "", 99, 5),
        ("http://v.example/?", "http://w.example/2", 99, 5),
    ],
    "https": [("https://z.example/longer",), ("http://z.example/",)],
    "declared": [("http://z.example/longer", "http://z.example/longer#top"), ("http://z.example/",),
    ("http://z.example/x", "http://z.example/?a")],
    "longest": [("http://z.example/longer", "", 101), ("http://z.example/", "", 100)],
    "earliest": [("http://z.example/longer", "", 9, 999), ("http://z.example/", "", 9, 1000),
    ("http://z.example/", "", 9, np.nan)],
    "shortest": [("http://z.example/z%C3%A9",), ("http://z.example/abc",)],
    "alphabetical": [("http://z.example/%61%61%61",), ("http://z.example/abc",)],
}  # fmt: skip


@pytest.mark.parametrize("name", BETTER_AND_WORSE)
def test_each_preference_decides(name: str) -> None:
    rows = BETTER_AND_WORSE[name]
    for turned in (rows, rows[::-1]):
        ranks = ranks_of(turned, ("A.example", "b.example"), ("*/stable/*", "http://?.example/new/*"))
        assert [turned[place] for place in np.argsort(ranks)] == rows


def test_a_copier_is_not_canonical_by_what_it_can_choose() -> None:
    story = ("http://blog.example/2026/11/a-story", "", 300, 1000)
    copy = ("https://a.example/", "https://a.example/", 500, 2000)
    assert ranks_of([copy, story]).tolist() == [1, 0]
    names_it = ("https://a.example/", "http://blog.example/2026/11/a-story", 500, np.nan)
    assert ranks_of([names_it, (*story[:3], np.nan)]).tolist() == [1, 0]
    # Nor does a site come first that has nothing but copies, however short its URLs are.
    rows = [
        ("https://origin.example/2026/a-story",),
        ("https://a.example/1",),
        ("https://origin.example/own",),
    ]
    ranks = ranks_of(rows, stories=np.array([0, 0, 1]))
    assert ranks[0] < ranks[1]


def test_a_page_that_others_name_is_declared_unless_it_names_another() -> None:
    found = [
        ("http://a.example/?page", "http://a.example/"), ("http://a.example/",),
        ("http://a.example/loop", "http://a.example/?page"), ("http://a.example/x",),
    ]  # fmt: skip
    assert {*ranks_of(found)[[1, 3]].tolist()} == {0, 1}


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("[2001:DB8::1]", "http://[2001:db8::1]/long"), (".b.example.", "http://www.b.example/long"),
        ("B\u00fccher.example", "http://www.xn--bcher-kva.example/"),
        ("xn--bcher-kva.example.", "http://b\u00fccher.example/"),
    ],
)  # fmt: skip
def test_a_preferred_host_may_be_spelled_in_several_ways(host: str, url: str) -> None:
    assert ranks_of([("http://a.example/",), (url,)], (host,)).tolist() == [1, 0]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["http://a/", "https://a/", "https://b/%41", "https://b/A", "http://[", ""]),
            st.sampled_from(["", "http://a/", "https://b/A"]),
            st.integers(0, 2),
            st.sampled_from([0.0, 1.0, 2.0, float("nan")]),
            st.integers(0, 2),
        ),
        unique_by=repr,
    ),
    st.randoms(),
)
def test_the_same_order_however_pages_are_numbered(rows: list[tuple[object, ...]], dice: object) -> None:
    # Unknown times are all one, and what a page names counts only by the rule.
    distinct = {(r[0], r[1], r[2], r[3] if r[3] and r[3] > 0 else 0, r[4]): r for r in rows}  # type: ignore[operator]
    rows = list(distinct.values())
    shuffled = list(rows)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]
    orders = []
    for some in (rows, shuffled):
        ranks = ranks_of(some, ("b",))
        assert sorted(ranks.tolist()) == list(range(len(some)))
        orders.append([(some[p][0], some[p][2], some[p][4]) for p in np.argsort(ranks)])
    assert orders[0] == orders[1]
