"""Families of several keys a document: what is stored is found by any of them, in memory, log, runs."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.index import Documents, Header, LmdbIndex, MemoryIndex
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, NO_KEY, Family
from tests.examples import examples

from .consistency import check
from .small import SMALL

if TYPE_CHECKING:
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
