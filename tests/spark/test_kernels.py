"""What executors do with Arrow batches, without Spark: groups stay whole, pairs are those of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.components import components
from scrapy_neardup.audit.pairs import equal_keys, near_pairs
from scrapy_neardup.fingerprint import load_scheme
from scrapy_neardup.index.tables import NO_KEY, PermutedTables
from scrapy_neardup.spark.clusters import solve
from scrapy_neardup.spark.frames import signed, texts, whole_groups
from scrapy_neardup.spark.pairs import keys_held, near_pairs_of_tables, pairs_of_keys, permuted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def cut(table: pa.Table, sizes: Sequence[int]) -> list[pa.RecordBatch]:
    """Return *table* in batches of these sizes, over and over."""
    found, start = [], 0
    while start < table.num_rows:
        size = sizes[len(found) % len(sizes)]
        found += table.slice(start, size).combine_chunks().to_batches()
        start += size
    return found


def ordered(batches: Iterable[pa.RecordBatch], *keys: str) -> pa.Table:
    """Return the rows as Spark hands them to the next step."""
    return pa.Table.from_batches(batches).sort_by([(key, "ascending") for key in keys])


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 20),
)
def test_groups_stay_whole(rows: list[tuple[int, int]], sizes: list[int], least: int) -> None:
    rows.sort()
    a, b = (pa.array([row[place] for row in rows], pa.int64()) for place in (0, 1))
    tables = list(whole_groups(cut(pa.table({"a": a, "b": b}), sizes), ["a", "b"], least))
    parts = [[*zip(*(part.column(name).to_pylist() for name in "ab"), strict=True)] for part in tables]
    assert [row for part in parts for row in part] == rows
    groups = [group for part in parts for group in {*part}]
    assert len(groups) == len({*groups})


@given(
    st.lists(st.tuples(st.none() | st.text(max_size=3), st.binary(max_size=3)), max_size=20),
    st.integers(0, 20),
)
def test_columns_of_slices(rows: list[tuple[str | None, bytes]], cut_at: int) -> None:
    """Tables come in parts, each with an offset of its own into the buffers of Arrow."""
    words, data = ([row[place] for row in rows] for place in (0, 1))
    table = pa.table({"words": pa.array(words, pa.string()), "data": pa.array(data, pa.binary())})
    parts = [table.slice(0, cut_at), table.slice(cut_at)]
    for each in (pa.concat_tables(parts), *(batch for part in parts for batch in part.to_batches())):
        assert texts(each, "words") == each.column("words").to_pylist()
        assert texts(each, "data") == each.column("data").to_pylist()


@pytest.mark.parametrize("sizes", [[1], [7, 3], [1000]])
def test_pairs_of_keys(sizes: list[int]) -> None:
    dice = np.random.default_rng(4)
    count, scheme = 200, load_scheme("simhash+anchors")
    fingerprints = dice.integers(0, 60, count).astype(np.uint64)
    own = dice.integers(0, 150, (count, 8)).astype(np.uint64)
    own[:100, 0] = 5  # a stock phrase
    own[dice.random((count, 8)) < 0.3] = NO_KEY
    rows = np.sort(dice.choice(1 << 40, count, replace=False))
    pages = pa.table(
        {
            "row": pa.array(rows),
            "fingerprint": pa.array(signed(fingerprints)),
            "own": pa.array([each.tobytes() for each in own], pa.binary()),
        }
    )
    keys = ordered(keys_held(cut(pages, sizes), scheme), "kind", "key", "row")
    found = {
        pair
        for batch in pairs_of_keys(cut(keys, sizes), scheme)
        for pair in zip(*(batch.column(name).to_pylist() for name in "ab"), strict=True)
    }
    numbers = np.arange(count)
    expected = [*equal_keys(fingerprints, numbers, 8), *equal_keys(own.T.ravel(), np.tile(numbers, 8), 64)]
    assert found == {tuple(pair) for pair in rows[np.concatenate(expected)].tolist()}


@pytest.mark.parametrize(("blocks", "sizes"), [(4, [5]), (5, [1000]), (6, [64, 1])])
def test_near_fingerprints(blocks: int, sizes: list[int]) -> None:
    dice = np.random.default_rng(blocks)
    base = dice.integers(0, 1 << 63, 40, dtype=np.uint64)
    flips = np.uint64(1) << dice.integers(0, 64, (40, 5)).astype(np.uint64)
    values = np.concatenate([base, base, *(base ^ flips[:, place] for place in range(5))])
    rows = dice.permutation(len(values)) + (1 << 35)
    pages = ordered(
        pa.table({"fingerprint": pa.array(signed(values)), "row": pa.array(rows)}).to_batches(),
        "fingerprint",
        "row",
    )
    layout = PermutedTables(blocks, 3)
    filed = ordered(permuted(cut(pages, sizes), layout), "name", "prefix", "key", "row")
    found = [
        pair
        for batch in near_pairs_of_tables(cut(filed, sizes), layout, 3)
        for pair in zip(*(batch.column(name).to_pylist() for name in "ab"), strict=True)
    ]
    different = np.unique(values)
    members = {value: rows[values == value].tolist() for value in different.tolist()}
    expected = {
        (min(a, b), max(a, b))
        for chunk in near_pairs(different, 3)
        for one, other in different[chunk].tolist()
        for a in members[one]
        for b in members[other]
    }
    assert len(found) == len({*found})
    assert {*found} == expected


def test_components_of_all_edges() -> None:
    edges = np.random.default_rng(6).integers(0, 60, (40, 2))
    labels = components(60, edges)
    (whole,) = solve(cut(pa.table({"a": edges[:, 0], "b": edges[:, 1]}), [3, 8]))
    found = zip(whole.column("row").to_pylist(), whole.column("component").to_pylist(), strict=True)
    assert dict(found) == {page: int(labels[page]) for page in np.unique(edges).tolist()}
