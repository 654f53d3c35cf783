"""Families of several keys a document: what is stored is found by any of them, in memory, log, runs."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.index import Documents, Header, LmdbIndex, MemoryIndex
from scrapy_neardup.index.conformance import reserve
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, NO_KEY, Family
from tests.examples import examples

from .consistency import check
from .small import SMALL

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_neardup.index import Index

NONE = int(NO_KEY)
HEADER = Header((Family(EQUAL, 3), Family(LAYOUTS[4], 2), Family(EQUAL)), (("tag", "<u8"),))

phrases = st.sampled_from((0, 1, 2, 3, NONE - 1, NONE, NONE, 1 << 60, 5 << 60, 9 << 60, 13 << 60))
fingerprints = st.builds(
    lambda center, bits: center ^ sum(1 << bit for bit in bits),
    st.sampled_from((0, NONE)),
    st.sets(st.sampled_from((0, 15, 16, 31, 33, 47, 48, 63)), max_size=4),
)
rows = st.tuples(*[phrases] * 3, fingerprints, fingerprints, phrases)


def brute_force(
    stored: dict[int, tuple[int, ...]], family: int, queries: list[int], distance: int, most: int
) -> list[tuple[int, int, int]]:
    """Query, document and distance of all pairs of which any two keys are close, and not too many others."""
    place, kind = HEADER.rows[family], HEADER.families[family]
    found = []
    for position, query in enumerate(queries):
        if kind.equal and kind.keys > 1 and query == NONE:
            continue
        closest = {
            number: min((key ^ query).bit_count() for key in keys[place]) for number, keys in stored.items()
        }
        near = [(position, number, bits) for number, bits in sorted(closest.items()) if bits <= distance]
        found += near if not most or len(near) <= most else []
    return found


def search(
    index: Index, family: int, queries: list[int], distance: int, most: int = 0
) -> list[tuple[int, int, int]]:
    matches = index.search(family, np.array(queries, np.uint64), distance, most=most)
    return list(zip(*(column.tolist() for column in matches), strict=True))


def documents(new: list[tuple[int, ...]]) -> Documents:
    keys = np.array(new, np.uint64).reshape(len(new), HEADER.keys).T
    filed = np.where((keys == NO_KEY) & ([[True]] * 3 + [[False]] * 3), np.uint64(0), keys)
    tags = np.bitwise_xor.reduce(filed, axis=0)
    return Documents(keys, tags.astype(HEADER.dtype), [""] * len(new), [b""] * len(new))


@given(
    stored=st.lists(st.lists(rows, max_size=25), min_size=1, max_size=5),
    queries=st.lists(phrases | fingerprints, max_size=5),
    removed=st.sets(st.integers(0, 30), max_size=4),
    distance=st.integers(0, 7),
    most=st.integers(0, 6),
    asked_for=rows,
    on_disk=st.booleans(),
)
@examples(60)
def test_any_key_matches(
    stored: list[list[tuple[int, ...]]],
    queries: list[int],
    removed: set[int],
    distance: int,
    most: int,
    asked_for: tuple[int, ...],
    on_disk: bool,
) -> None:
    known: dict[int, tuple[int, ...]] = {}
    with closing(LmdbIndex(None, HEADER, tuning=SMALL) if on_disk else MemoryIndex(HEADER)) as index:

        def compare() -> None:
            for asked in (queries, *([query] for query in queries)):
                for family, reach in ((0, 0), (1, distance), (2, 0)):
                    assert search(index, family, asked, reach, most) == brute_force(
                        known, family, asked, reach, most
                    )
            # A document is looked up by its distinct keys; most of these nobody has, which is told sooner.
            for family in (0, 2):
                keys = documents([asked_for]).keys[HEADER.rows[family], 0].tolist()
                met = Counter(number for _, number, _ in brute_force(known, family, keys, 0, most))
                found = index.find(documents([asked_for]), [Lookup(family, most=most)])
                assert dict(zip(found.documents.tolist(), found.shared[0].tolist(), strict=True)) == met

        for new in stored:
            numbers = index.add(documents(new)).tolist()
            known.update(zip(numbers, new, strict=True))
        compare()
        gone = sorted(removed & set(known))
        index.discard(gone)
        for number in gone:
            del known[number]
        compare()
        if isinstance(index, LmdbIndex):
            check(index)
            index.compact()
            check(index)
            compare()


@given(new=st.lists(rows, max_size=30), queries=st.lists(phrases, max_size=5), most=st.integers(1, 6))
def test_stock_phrases_in_memory(new: list[tuple[int, ...]], queries: list[int], most: int) -> None:
    index = MemoryIndex(HEADER)
    known = dict(zip(index.add(documents(new)).tolist(), new, strict=True))
    for family in (0, 2):
        assert search(index, family, queries, 0, most) == brute_force(known, family, queries, 0, most)


def test_a_pending_document_is_found_by_each_of_its_keys() -> None:
    for index in (LmdbIndex(None, HEADER), MemoryIndex(HEADER)):
        with closing(index):
            new = documents([(1, NONE, 2, 0, 255, NONE)])
            reserve(index, new)
            (number,) = index.search(1, np.array([0], np.uint64)).document.tolist()
            assert search(index, 0, [2, NONE, 1], 0) == [(0, number, 0), (2, number, 0)]
            assert search(index, 1, [1, 254], 3) == [(0, number, 1), (1, number, 1)]
            assert search(index, 0, [NONE], 0) == []
            assert search(index, 2, [NONE], 0) == [(0, number, 0)]  # one key of its own is never missing


@pytest.mark.parametrize(
    "layout",
    [[90], [30] * 3, [1] * 60 + [30], [89, 1], [64], [65]],
    ids=["90", "3 of 30", "60 of 1, 30", "89, 1", "64", "65"],
)
def test_how_many_share_a_key_does_not_depend_on_runs(layout: list[int], tmp_path: Path) -> None:
    """More than 64 share a phrase, or fewer: the same before and after removal, merge and reopening."""
    new = documents([(7, 8, number << 8, 0, 0, number) for number in range(sum(layout))])
    starts = np.cumsum([0, *layout])
    with closing(MemoryIndex(HEADER)) as memory:
        memory.add(new)
        with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
            for start, size in zip(starts.tolist(), layout, strict=False):
                index.add(new.take(slice(start, start + size)))

            def rows(index: Index, asked: list[int]) -> list[tuple[int, int, int]]:
                return search(index, 0, asked, 0, 64)

            expected = rows(memory, [7, 8])
            assert len(expected) == (2 * 64 if sum(layout) == 64 else 0)
            assert rows(index, [7, 8]) == expected
            assert rows(index, [7, *[9] * 50, 8])[::2] == rows(memory, [7, *[9] * 50, 8])[::2]
            gone = list(range(len(new.urls) - 60))
            for each in (index, memory):
                each.discard(gone)
            assert len(rows(memory, [7, 8])) == 2 * 60
            assert rows(index, [7, 8]) == rows(memory, [7, 8])
            index.compact()
            assert rows(index, [7, 8]) == rows(memory, [7, 8])
        with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
            assert rows(index, [7, 8]) == rows(memory, [7, 8])
            pending = [reserve(index, new.take(slice(0, 1))) for _ in range(5)]
            assert rows(index, [7, 8]) == []
            pending[0].release()
            assert len(rows(index, [7, 8])) == 2 * 64


def test_a_header_keeps_its_families() -> None:
    assert Header.from_json(HEADER.to_json()) == HEADER
    assert HEADER.keys == 6
    assert HEADER.rows == (slice(0, 3), slice(3, 5), slice(5, 6))
    assert HEADER.first_table == (0, 1, 5, 6)


def test_a_family_without_keys_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Family(EQUAL, 0)
