"""Ranges of sorted tables are compared and narrowed as brute force does it."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import search
from scrapy_neardup.index.lmdb.search import LONG, Range, compare, narrowed, size_of
from scrapy_neardup.index.matches import Matches
from scrapy_neardup.index.sorted_arrays import Entries

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Keys that share long prefixes with each other, and many that are equal.
keys = st.one_of(st.sampled_from((0, 2**63, 2**64 - 1)), st.integers(0, 63).map(lambda bit: 1 << bit))


def sharing(table: list[int], probe: int, bits: int) -> Range:
    """The entries of a *table* that share so many *bits* with *probe*; documents count from 0."""
    entries = Entries(np.array(sorted(table), np.uint64), np.arange(len(table), dtype=np.uint32))
    rows = [row for row, key in enumerate(sorted(table)) if key >> (64 - bits) == probe >> (64 - bits)]
    start, stop = (rows[0], rows[-1] + 1) if rows else (0, 0)
    return 0, probe, entries, start, stop, probe, bits


def held(ranges: list[Range]) -> list[tuple[int, list[int]]]:
    """The probe and the rows of each range that has any."""
    return [(probe, [*range(start, stop)]) for *_, start, stop, probe, _ in ranges if start < stop]


def brute_force(ranges: list[Range], most: int) -> list[tuple[int, list[int]]]:
    for more in range(65):
        part = []
        for _, _, entries, start, stop, probe, bits in ranges:
            left = max(0, 64 - bits - more)
            rows = [row for row in range(start, stop) if int(entries.keys[row]) >> left == probe >> left]
            part.append((probe, rows))
        part = [(probe, rows) for probe, rows in part if rows]
        if sum(len(rows) for _, rows in part) <= most:
            return part
    share = most // len({probe for probe, _ in part})
    taken: Counter[int] = Counter()
    first = []
    for probe, rows in part:
        rows = rows[: share - taken[probe]]
        taken[probe] += len(rows)
        first.append((probe, rows))
    return [(probe, rows) for probe, rows in first if rows]


@given(
    tables=st.lists(st.lists(keys, min_size=1, max_size=12), min_size=1, max_size=5),
    probes=st.lists(keys, min_size=1, max_size=3),
    bits=st.integers(1, 20),
    most=st.integers(1, 20),
)
@example(
    tables=[[0] * 5, [0] * 9, [1, 1]], probes=[0, 2**63, 1], bits=16, most=6
)  # nothing is like one of them
@example(tables=[[0] * 9], probes=[0, 1], bits=16, most=4)  # one has none in the end
@example(tables=[[0, 0, 1, 1, 1, 1]], probes=[1], bits=16, most=3)  # the equal ones are not the first
@example(tables=[[0] * 7], probes=[0], bits=16, most=7)
@example(tables=[[0, 1 << 14, 1 << 15]], probes=[0], bits=16, most=2)  # one more bit is just enough
def test_those_that_share_the_longest_prefixes_are_left(
    tables: list[list[int]], probes: list[int], bits: int, most: int
) -> None:
    ranges = [sharing(table, probe, bits) for probe in probes for table in tables]
    ranges = [each for each in ranges if each[3] < each[4]]
    left = narrowed(ranges, most)
    assert held(left) == brute_force(ranges, most)
    assert size_of(left) <= most


def test_a_batch_is_compared_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few at a time where each finds many, so that memory is bounded by what one of them finds."""
    together: list[int] = []

    def counted(ranges: list[Range], distance: int) -> Iterator[Matches]:
        together.append(size_of(ranges))
        return compare(ranges, distance)

    monkeypatch.setattr(search, "compare", counted)
    tuning = replace(SMALL, probes_at_once=1 << 20, dense_probes=1 << 20, candidates_at_once=200)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        index.add(documents([7] * 100, [f"u{number}" for number in range(100)]))
        index.compact()
        found = index.search(0, np.array([7] * 10, np.uint64), 3)
    assert len(found.document) == 1000
    assert max(together) == 400  # in each of the four tables 100


@pytest.mark.parametrize("distance", [0, 3])
@pytest.mark.parametrize("first", [None, 0b101, 0])
def test_short_and_long_ranges_are_compared_alike(distance: int, first: int | None) -> None:
    """With the key of the *first* table, equal entries of other tables need not be found, and only they."""
    dice = np.random.default_rng(1)
    ranges: list[Range] = []
    expected: Counter[tuple[int, int, int]] = Counter()
    surplus: Counter[tuple[int, int, int]] = Counter()
    for position, size in enumerate((7, LONG - 1, LONG, 2 * LONG + 5)):
        stored = np.sort(dice.integers(0, 1 << 9, size + 20, np.uint64))
        documents = np.arange(len(stored), dtype=np.uint32) + 1000 * position
        for key in (0, 0b101):
            ranges.append((position, key, Entries(stored, documents), 10, 10 + size, key, 16))
            for row in range(10, 10 + size):
                bits = (int(stored[row]) ^ key).bit_count()
                if bits <= distance:
                    of = surplus if bits == 0 and first not in (None, key) else expected
                    of[position, int(documents[row]), bits] += 1
    found: Counter[tuple[int, int, int]] = Counter()
    for matches in compare(ranges, distance, first):
        assert isinstance(matches, Matches)
        found.update(zip(*(column.tolist() for column in matches), strict=True))
    assert expected <= found <= expected + surplus
    assert (found == expected + surplus) == (first is None)
