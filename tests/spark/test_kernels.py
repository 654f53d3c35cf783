"""What executors do with Arrow batches, without Spark: pairs are those of one machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'scrapy-neardup[spark]'")

from scrapy_neardup.audit.pairs import equal_keys, near_pairs
from scrapy_neardup.fingerprint import load_scheme
from scrapy_neardup.index.tables import NO_KEY, PermutedTables
from scrapy_neardup.spark.frames import signed
from scrapy_neardup.spark.pairs import keys_held, near_pairs_of_tables, pairs_of_keys, permuted


def pairs_in(batch: pa.RecordBatch) -> list[tuple[int, int]]:
    return [*zip(*(batch.column(name).to_pylist() for name in "ab"), strict=True)]


def shuffled(rows: pa.RecordBatch) -> pa.Table:
    """Return the rows of a group as Spark hands them to the next step: in any order."""
    order = np.random.default_rng(1).permutation(rows.num_rows)
    return pa.Table.from_batches([rows.take(order)])


def test_pairs_of_keys() -> None:
    dice = np.random.default_rng(4)
    count, scheme = 200, load_scheme("simhash+anchors")
    fingerprints = dice.integers(0, 60, count).astype(np.uint64)
    own = dice.integers(0, 150, (count, 8)).astype(np.uint64)
    own[:100, 0] = 5  # a stock phrase
    own[dice.random((count, 8)) < 0.3] = NO_KEY
    rows = np.sort(dice.choice(1 << 40, count, replace=False))
    columns = {"row": rows, "fingerprint": signed(fingerprints), "own": [each.tobytes() for each in own]}
    pages = pa.RecordBatch.from_pydict(columns)
    found = {*pairs_in(pairs_of_keys(shuffled(keys_held(pages, scheme)), scheme))}
    numbers = np.arange(count)
    expected = [*equal_keys(fingerprints, numbers, 8), *equal_keys(own.T.ravel(), np.tile(numbers, 8), 64)]
    assert found == {tuple(pair) for pair in rows[np.concatenate(expected)].tolist()}


@pytest.mark.parametrize("blocks", [4, 5, 6])
def test_near_fingerprints(blocks: int) -> None:
    dice = np.random.default_rng(blocks)
    base = dice.integers(0, 1 << 63, 40, dtype=np.uint64)
    flips = np.uint64(1) << dice.integers(0, 64, (40, 5)).astype(np.uint64)
    values = np.concatenate([base, base, *(base ^ flips[:, place] for place in range(5))])
    rows = dice.permutation(len(values)) + (1 << 35)
    pages = pa.RecordBatch.from_pydict({"fingerprint": signed(values), "row": rows})
    layout = PermutedTables(blocks, 3)
    found = pairs_in(near_pairs_of_tables(shuffled(permuted(pages, layout)), layout, 3))
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
