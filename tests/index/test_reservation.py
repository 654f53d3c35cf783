"""Whoever waits for a pending document is told what became of it."""

from __future__ import annotations

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.reservation import Reservation


def test_who_waits_is_told_even_if_the_index_fails() -> None:
    def fail(reservation: Reservation) -> None:
        raise IndexUnavailable("The index is closed: open it again.")

    told: list[bool | None] = []
    reservation = Reservation("https://a-site.com/", fail)
    reservation.add_done_callback(lambda each: told.append(each.confirmed))
    with pytest.raises(IndexUnavailable):
        reservation.confirm()
    assert told == [True]
