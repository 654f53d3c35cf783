"""Every pair within the distance is found and nothing else, from runs on disk, at every size and layout."""

from __future__ import annotations

from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from scrapy_neardup.errors import ConfigurationError, IndexUnavailable
from scrapy_neardup.index import Documents, FingerprintIndex, Header, LmdbIndex, Matches
from scrapy_neardup.index.lmdb.commands import check
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import State, write_state
from scrapy_neardup.index.lmdb.snapshot import search_near
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.index.search import search_all
from scrapy_neardup.index.tables import LAYOUTS, Family, PermutedTables
from tests.index.conformance import HEADER, documents

from .small import SMALL, reading_of

if TYPE_CHECKING:
    Million = tuple[NDArray[np.uint64], NDArray[np.uint64], list[tuple[int, ...]]]

MASKS = np.array(
    [sum(1 << bit for bit in bits) for size in range(4) for bits in combinations(range(64), size)], np.uint64
)


def neighbours(
    rng: np.random.Generator, keys: NDArray[np.uint64], bits: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Flip as many bits of each key as *bits* says."""
    order = rng.permuted(np.tile(np.arange(64, dtype=np.uint64), (len(keys), 1)), axis=1)
    flips = np.where(np.arange(64) < bits[:, np.newaxis], np.uint64(1) << order, np.uint64(0))
    return keys ^ np.bitwise_or.reduce(flips, axis=1)


def brute_force(
    stored: NDArray[np.uint64], queries: NDArray[np.uint64], distance: int
) -> list[tuple[int, ...]]:
    rows = []
    for number, query in enumerate(queries):
        bits = np.bitwise_count(stored ^ query)
        near = np.flatnonzero(bits <= distance)
        rows.extend((number, int(document), int(bits[document])) for document in near)
    return rows


def found(matches: Matches) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in matches), strict=True))


@pytest.mark.parametrize("tables", LAYOUTS)
def test_all_masks_of_at_most_three_bits_are_found(tables: int, tmp_path: Path) -> None:
    center = np.uint64(0x0123_4567_89AB_CDEF)
    noise = np.random.default_rng(1).integers(0, 2**64, 20_000, np.uint64)
    with FingerprintIndex.open(tmp_path, tables=tables) as index:
        index.add(center ^ MASKS)
        index.add(noise)
        assert index.gauges()["runs"] > 0
        matches = index.search(center, 3)
        assert matches.document.tolist() == list(range(len(MASKS)))
        assert np.array_equal(matches.distance, np.bitwise_count(MASKS))
        assert len(index.search(center, 2).document) == 1 + 64 + 2016
    # and the other way round: one is stored, each of the others asks for it
    with FingerprintIndex.open(tmp_path / "other", tables=tables) as index:
        index.add(np.concatenate(([center], noise)))
        matches = index.search(center ^ MASKS, 3)
        assert matches.query[matches.document == 0].tolist() == list(range(len(MASKS)))


@pytest.fixture(scope="module")
def million() -> Million:
    """Stored fingerprints, queries of which most have a neighbour at distance 0 to 5, and the true pairs."""
    rng = np.random.default_rng(2)
    stored = rng.integers(0, 2**64, 1_000_000, np.uint64)
    planted = rng.choice(len(stored), 1800, replace=False)
    queries = neighbours(rng, stored[planted], np.arange(1800) % 6)
    queries = np.concatenate((queries, rng.integers(0, 2**64, 200, np.uint64)))
    return stored, queries, brute_force(stored, queries, 3)


@pytest.mark.slow
@pytest.mark.parametrize("tables", LAYOUTS)
def test_a_million_equals_brute_force(tables: int, million: Million, tmp_path: Path) -> None:
    stored, queries, expected = million
    with FingerprintIndex.open(tmp_path, tables=tables) as index:
        index.add(stored)
    with FingerprintIndex.open(tmp_path, tables=tables) as index:
        batch = found(index.search(queries, 3))
        one_by_one = [
            (number, *row[1:])
            for number, query in enumerate(queries[:300])
            for row in found(index.search(query, 3))
        ]
    assert len(expected) >= 1200
    assert batch == expected
    assert one_by_one == [row for row in expected if row[0] < 300]


@pytest.mark.parametrize(
    ("layout", "distance"),
    [
        *(((1, 0), 0), ((2, 1), 1), ((3, 2), 2), ((4, 3), 3), ((5, 3), 3), ((6, 3), 3)),
        # Beyond the distance of the tables, prefixes that differ in one bit are looked up, too.
        *(((4, 3), 4), ((4, 3), 5), ((4, 3), 6), ((4, 3), 7), ((5, 3), 4), ((6, 3), 4)),
    ],
)
def test_all_within_a_distance_are_found(layout: tuple[int, int], distance: int) -> None:
    rng = np.random.default_rng(distance)
    edges = np.array([0, 1, 2**63, 2**64 - 2, 2**64 - 1, 2**63 - 1], np.uint64)
    stored = np.concatenate((edges, rng.integers(0, 2**64, 30_000, np.uint64), edges, edges))
    queries = np.concatenate((edges, neighbours(rng, stored[:500], np.arange(500) % 9)))
    with FingerprintIndex.open(None, tables=PermutedTables(*layout)) as index:
        index.add(stored[:20_000])
        index.add(stored[20_000:])  # in the log, beside a run
        assert found(index.search(queries, distance)) == brute_force(stored, queries, distance)
        for query in queries[:20]:
            assert found(index.search(query, distance)) == brute_force(stored, query[np.newaxis], distance)
        with pytest.raises(ConfigurationError, match="distance is"):
            index.search(queries, index._index.header.families[0].tables.max_distance + 1)


@pytest.mark.parametrize("rows", [1, 50, 1000])
@pytest.mark.parametrize("distance", [0, 5])
def test_slices_of_a_batch_make_no_difference(rows: int, distance: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    stored = np.where(rng.random(400) < 0.5, np.uint64(77), rng.integers(0, 2**64, 400, np.uint64))
    queries = np.where(rng.random(60) < 0.3, np.uint64(77), neighbours(rng, stored[:60], np.arange(60) % 5))
    header = Header((Family(LAYOUTS[4]),))
    with closing(LmdbIndex(tmp_path, header)) as index:
        index.add(Documents(stored[np.newaxis], np.zeros(400, header.dtype), [""] * 400, [b""] * 400))
        index.compact()
        with reading_of(index) as reader:
            matches = search_all(lambda some: search_near(reader, 0, some, distance), queries, rows)
    assert found(matches) == brute_force(stored, queries, distance)


@pytest.mark.parametrize("compared", [1, 5, 60, 300])
def test_fewer_are_compared_by_longer_prefixes_whatever_the_runs_are(compared: int, tmp_path: Path) -> None:
    """All within the distance that are found share a prefix; more never are, and merges change nothing."""
    dice = np.random.default_rng(3)
    crowd = [int(each) & ~0xFFFF for each in dice.integers(0, 2**64, 150, np.uint64)]
    near = [1 << bit for bit in range(16, 64)]
    new = [*crowd[:80], *near[:30], *crowd[80:], *near[30:], *[0] * 20]
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start in range(0, len(new), 40):
            index.add(documents(new[start : start + 40], start))
        lookups = [Lookup(0, 3, nearest=1000, compared=compared)]
        before = index.find(documents([0]), lookups)
        whole = index.find(documents([0]), [Lookup(0, 3)])
        assert index.gauges()["runs"] > 1
        index.compact()
        after = index.find(documents([0]), lookups)
    assert len(whole.documents) == len(near) + 20
    assert set(before.stored.urls) <= set(whole.stored.urls)
    assert before.narrowed
    assert after.narrowed
    assert set(before.stored.urls) == set(after.stored.urls)
    if compared >= 80:  # the equal ones are in four tables
        assert {f"u{number}" for number in range(len(new) - 20, len(new))} <= set(before.stored.urls)


def test_the_last_number_of_a_document_is_refused(tmp_path: Path) -> None:
    """Numbers have 32 bits, and so has that of the next document."""
    FingerprintIndex.open(tmp_path).close()
    with closing(Environment(tmp_path)) as environment:
        state = State(next=2**32 - 3, flushed=2**32 - 3)
        environment.write(lambda transaction: write_state(environment, transaction, state))
    for number in (2**32 - 3, 2**32 - 2):
        with FingerprintIndex.open(tmp_path) as index:
            assert index.add([number]).tolist() == [number]
    with FingerprintIndex.open(tmp_path) as index:
        with pytest.raises(IndexUnavailable, match=r"full \(2\*\*32 - 1 documents\): start another one"):
            index.add([7])
        assert index.search([2**32 - 2]).document.tolist() == [2**32 - 3, 2**32 - 2]
        index._index.compact()  # type: ignore[attr-defined]
        assert index.fingerprints([2**32 - 2]).tolist() == [2**32 - 2]
        assert not list(check(index._index))  # type: ignore[arg-type]
        index.forget([2**32 - 2])
    with FingerprintIndex.open(tmp_path) as index:
        assert index.search([2**32 - 2]).document.tolist() == [2**32 - 3]
