"""Anchors are the least long shingles of a text."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint.hashing import Hashes
from scrapy_neardup.fingerprint.schemes import anchors
from scrapy_neardup.index.tables import NO_KEY

HASHES = st.lists(st.one_of(st.integers(0, 2**64 - 2), st.integers(0, 2**44)), max_size=80)


@given(st.lists(HASHES, min_size=1, max_size=3), st.sampled_from([1, 2, 8]))
def test_the_least_of_each_part(texts: list[list[int]], count: int) -> None:
    found = anchors(Hashes.of([np.array(values, np.uint64) for values in texts]), count)
    assert found.dtype == np.uint64
    for values, row in zip(texts, found.tolist(), strict=True):
        parts: dict[int, list[int]] = {}
        for value in values:
            parts.setdefault((value >> 40) % count, []).append(value)
        assert row == [min(parts.get(part, [int(NO_KEY)])) for part in range(count)]
