"""Lookups with bounds find what brute force does: in memory, log and runs, and in other processes."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index import Documents, Header, Index, LmdbIndex, MemoryIndex
from scrapy_neardup.index.protocol import Lookup
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, Family
from tests.examples import examples
from tests.index.conformance import reserve

from .consistency import check
from .small import SMALL

HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL), Family(EQUAL, 2)), (("tag", "<u8"),))
FINGERPRINT, URL, FURTHER = range(3)

fingerprints = st.builds(
    lambda center, bits: center ^ sum(1 << bit for bit in bits),
    st.sampled_from((0, 2**64 - 1)),
    st.sets(st.sampled_from((0, 15, 16, 31, 33, 47, 48, 63)), max_size=4),
)
rows = st.tuples(fingerprints, st.integers(0, 2), st.integers(0, 3), st.integers(2, 5))


def documents(new: Sequence[tuple[int, ...]], first: int = 0) -> Documents:
    keys = np.array(new, np.uint64).reshape(len(new), HEADER.keys).T
    tags = np.bitwise_xor.reduce(keys, axis=0)
    return Documents(
        keys, tags.astype(HEADER.dtype), [f"u{first + place}" for place in range(len(new))], [b""] * len(new)
    )


def expected(stored: dict[str, tuple[int, ...]], asked: tuple[int, ...], lookup: Lookup) -> set[str]:
    """Return the URLs that a lookup finds among those *stored*, which are in order of age."""
    place = HEADER.rows[lookup.family]
    met = {}
    for url, keys in stored.items():
        if lookup.family == FINGERPRINT:
            distance = (keys[0] ^ asked[0]).bit_count()
            if distance <= lookup.distance:
                met[url] = distance
        else:
            shared = [
                key
                for key in set(keys[place]) & set(asked[place])
                if not lookup.most or sum(key in other[place] for other in stored.values()) <= lookup.most
            ]
            if shared:
                met[url] = -len(shared)
    order = sorted(met, key=lambda url: met[url])  # a stable sort: of equal ones the oldest first
    return set(order[: lookup.nearest or None])


def urls(index: Index, asked: tuple[int, ...], *lookups: Lookup) -> set[str]:
    return set(index.find(documents([asked]), lookups).stored.urls)


@given(
    stored=st.lists(st.lists(rows, max_size=25), min_size=1, max_size=4),
    removed=st.sets(st.integers(0, 40), max_size=8),
    pending=st.lists(rows, max_size=4),
    asked=st.lists(rows, min_size=1, max_size=3),
    nearest=st.integers(1, 8),
    most=st.integers(0, 6),
)
@example(stored=[[(0, 0, 0, 2)] * 20], removed={1}, pending=[], asked=[(0, 0, 0, 2)], nearest=3, most=0)
@examples(25)
def test_the_nearest_are_found_before_and_after_flushes_merges_and_reopening(
    stored: list[list[tuple[int, ...]]],
    removed: set[int],
    pending: list[tuple[int, ...]],
    asked: list[tuple[int, ...]],
    nearest: int,
    most: int,
) -> None:
    lookups = [
        Lookup(FINGERPRINT, 3, nearest=nearest),
        Lookup(URL, nearest=nearest),
        Lookup(FURTHER, most=most or 1000, nearest=nearest),
    ]
    known: dict[str, tuple[int, ...]] = {}
    with tempfile.TemporaryDirectory() as directory, closing(MemoryIndex(HEADER)) as memory:
        numbers = []
        with closing(LmdbIndex(Path(directory), HEADER, tuning=SMALL)) as index:

            def compare(*indexes: Index) -> None:
                for each, lookup, one in itertools.product(indexes, lookups, asked):
                    assert urls(each, one, lookup) == expected(known, one, lookup)
                    # A bound above what is stored is none.
                    wide = lookup._replace(nearest=1000, compared=10_000)
                    unbounded = lookup._replace(nearest=0, compared=0)
                    got = each.find(documents([one]), [wide])
                    want = each.find(documents([one]), [unbounded])
                    assert got.documents.tolist() == want.documents.tolist()
                    assert got.shared.tolist() == want.shared.tolist()
                    assert not got.crowded
                    assert not got.narrowed

            for new in stored:
                some = documents(new, len(known))
                known.update(zip(some.urls, new, strict=True))
                memory.add(some)
                numbers += index.add(some).tolist()
            compare(memory, index)
            gone = sorted(number for number in removed if number < len(numbers))
            memory.discard(gone)
            index.discard([numbers[number] for number in gone])
            for number in gone:
                del known[f"u{number}"]
            compare(memory, index)
            index.compact()
            compare(index)
            later = documents(pending, 100)
            for place, one in enumerate(pending):
                reserve(index, later.take(slice(place, place + 1)))
                reserve(memory, later.take(slice(place, place + 1)))
                known[f"u{100 + place}"] = one
            compare(memory, index)
            check(index)
        for place in range(len(pending)):
            del known[f"u{100 + place}"]
        with closing(LmdbIndex(Path(directory), HEADER)) as index:
            compare(index)


@pytest.mark.parametrize("compared", [1, 5, 60, 300])
def test_fewer_are_compared_by_longer_prefixes_whatever_the_runs_are(compared: int, tmp_path: Path) -> None:
    """All within the distance that are found share a prefix; more never are, and merges change nothing."""
    dice = np.random.default_rng(3)
    crowd = [(int(each) & ~0xFFFF, 0, 0, 1) for each in dice.integers(0, 2**64, 150, np.uint64)]
    near = [(1 << bit, 0, 0, 1) for bit in range(16, 64)]
    new = [*crowd[:80], *near[:30], *crowd[80:], *near[30:], *[(0, 0, 0, 1)] * 20]
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start in range(0, len(new), 40):
            index.add(documents(new[start : start + 40], start))
        index.flush()
        lookups = [Lookup(FINGERPRINT, 3, nearest=1000, compared=compared)]
        before = index.find(documents([(0, 0, 0, 1)]), lookups)
        whole = index.find(documents([(0, 0, 0, 1)]), [Lookup(FINGERPRINT, 3)])
        assert index.gauges()["runs"] > 1
        index.compact()
        after = index.find(documents([(0, 0, 0, 1)]), lookups)
    assert len(whole.documents) == len(near) + 20
    assert set(before.stored.urls) <= set(whole.stored.urls)
    assert before.narrowed == after.narrowed
    assert before.narrowed
    assert set(before.stored.urls) == set(after.stored.urls)
    if compared >= 80:  # the equal ones are in four tables
        assert {f"u{number}" for number in range(len(new) - 20, len(new))} <= set(before.stored.urls)
