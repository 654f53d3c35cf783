"""A clock that is wrong costs no page and no place in the index.

The clock that waits are measured by may say anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_neardup import Detector, clock
from scrapy_neardup.clock import SECONDS_PER_DAY

if TYPE_CHECKING:
    from scrapy_neardup.index import Index

pytestmark = pytest.mark.slow

IN_1960, IN_2110 = -315_619_200.5, 4_417_977_600.5
TODAY = 1_790_000_000


def text(number: int = 0) -> str:
    return " ".join(f"word{number}x{each}" for each in range(100))


def at(index: Index, seconds: float, window: float | None = None) -> Detector:
    """A detector whose clock stands at *seconds*; closing it is up to the index."""
    return Detector(index, window=window, clock=lambda: seconds)


@pytest.mark.parametrize(
    ("said", "kept"), [(IN_1960, 0), (-0.5, 0), (IN_2110, 2**32 - 1), (TODAY + 0.9, TODAY)]
)
def test_the_time_has_four_bytes(said: float, kept: int) -> None:
    assert clock.now(lambda: said) == kept


def test_a_window_counts_from_the_time_that_was_kept() -> None:
    with Detector.open() as opened:
        at(opened.index, IN_1960).add(text(1), "https://a.example/1")
        at(opened.index, TODAY).add(text(2), "https://a.example/2")
        later = at(opened.index, TODAY + SECONDS_PER_DAY, 30)
        assert later.check(text(1), "https://b.example/").kind == "unique"
        assert later.check(text(2), "https://b.example/").kind == "exact"
        # Whoever has gone back to 1960 finds what was stored later.
        assert at(opened.index, IN_1960, 30).check(text(2), "https://b.example/").kind == "exact"
