"""A pending document of another process is waited for no longer than its holder lives."""

from __future__ import annotations

import time
from collections.abc import Sequence
from unittest import mock

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index.pending import Lease, LeasedDocument, Leases, Pending, Reservation


class Store:
    """Has a *lease* for each document, and does not answer while it has none."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.lease: Lease | None = None
        self.asked: list[list[int]] = []
        self.leases = Leases(seconds, lambda numbers, _: self.ask(numbers), self.ask)

    def ask(self, numbers: Sequence[int]) -> list[Lease]:
        self.asked.append([*numbers])
        if self.lease is None:
            raise ConnectionError("refused")
        return [self.lease for _ in numbers]

    def awaited(self, number: int, seconds: float) -> tuple[LeasedDocument, list[bool | None]]:
        """Return the handle of a document, and what who waits for it is told."""
        handle = LeasedDocument("u0", number, Lease(None, seconds), self.leases)
        told: list[bool | None] = []
        handle.add_done_callback(lambda each: told.append(each.confirmed))
        return handle, told


def test_a_lease_ends_by_the_clock_here_while_the_store_does_not_answer() -> None:
    store = Store()
    handle, told = store.awaited(1, 0.3)
    store.leases.tick()
    assert (handle.confirmed, told) == (None, [])
    time.sleep(0.3)
    store.leases.tick()
    assert (handle.confirmed, told, store.leases.waited) == (False, [False], {})


def test_a_store_that_answers_again_has_the_last_word_and_is_asked_once_for_each_document() -> None:
    store = Store()
    handles = [store.awaited(number, 60.0) for number in (5, 0, 5)]
    for lease in (None, Lease(None, 60.0), Lease(True)):
        assert [told for _, told in handles] == [[], [], []]
        store.lease = lease
        store.leases.tick()
    assert [told for _, told in handles] == [[True]] * 3
    store.leases.tick()
    assert [sorted(numbers) for numbers in store.asked] == [[0, 5]] * 3


def test_renewing_that_fails_is_soon_tried_again_and_ends_with_the_last_document() -> None:
    tried = list[int]()
    with mock.patch("time.monotonic", return_value=0) as clock:
        store = Store(60)
        store.leases.held.update({number: Reservation("u0") for number in (1, 2)})
        for clock.return_value in range(60):
            store.lease = Lease(None, 60) if clock() == 20 else store.lease
            if clock() == 40:
                store.leases.held.clear()
            store.leases.tick()
            tried += [clock()] * (len(store.asked) - len(tried))
    assert (tried, store.asked) == ([15, 16, 17, 18, 19, 20, 35], [[1, 2]] * 7)


def test_who_waits_is_told_even_if_the_index_fails() -> None:
    def fail(reservation: Pending) -> None:
        raise IndexUnavailable("The index is closed: open it again.")

    told: list[bool | None] = []
    reservation = Reservation("https://a-site.com/", fail)
    reservation.add_done_callback(lambda each: told.append(each.confirmed))
    with pytest.raises(IndexUnavailable):
        reservation.confirm()
    assert told == [True]
