"""The verification asks more of short texts, accepts what contains the other, and judges many as one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.fingerprint import verify

SHARE = st.floats(0, 1, width=32)
TOKENS = st.integers(0, 3000)


def one(jaccard: float, containment: float, tokens: int, stored: int) -> bool:
    verdict = verify(np.array([2]), np.array([jaccard]), np.array([containment]), tokens, np.array([stored]))
    assert verdict.dtype == np.bool_
    assert verdict.shape == (1,)
    return bool(verdict[0])


@pytest.mark.parametrize(
    ("jaccard", "tokens", "near"),
    [
        (0.91, 60, True),
        (0.89, 60, False),
        (0.86, 200, True),
        (0.84, 200, False),
        (0.61, 600, True),
        (0.59, 5000, False),
    ],
)
def test_short_texts_must_be_more_alike(jaccard: float, tokens: int, near: bool) -> None:
    assert one(jaccard, jaccard, tokens, tokens) is near
    assert one(jaccard, jaccard, tokens * 3, tokens) is near
    assert one(jaccard, jaccard, tokens, tokens * 3) is near


def test_a_text_contained_in_one_of_up_to_twice_its_length_is_near() -> None:
    assert one(0.6, 0.97, 300, 500)
    assert not one(0.6, 0.9, 300, 500)
    assert not one(0.4, 1.0, 300, 800)


@given(st.lists(st.tuples(SHARE, SHARE, TOKENS), max_size=20), TOKENS)
def test_many_are_judged_as_one_by_one_and_either_way_round(
    rows: list[tuple[float, float, int]], tokens: int
) -> None:
    jaccard = np.array([row[0] for row in rows], np.float32)
    containment = np.array([row[1] for row in rows], np.float32)
    stored = np.array([row[2] for row in rows], np.uint32)
    distance = np.zeros(len(rows), np.uint8)
    found = verify(distance, jaccard, containment, tokens, stored)
    assert found.tolist() == [
        one(j, c, tokens, n) for j, c, n in zip(jaccard, containment, stored, strict=True)
    ]
    assert found.tolist() == [
        one(j, c, n, tokens) for j, c, n in zip(jaccard, containment, stored, strict=True)
    ]
    more_alike = verify(distance, np.minimum(jaccard + 0.1, 1), containment, tokens, stored)
    assert (more_alike | ~found).all()
