"""A pending document of another process is waited for no longer than its holder lives.

The store may be out of reach.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import MemoryIndex
from scrapy_neardup.index.leases import Lease, LeasedDocument, Leases
from scrapy_neardup.index.reservation import Reservation
from tests.index.conformance import HEADER, documents, reserve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_neardup.index.protocol import Pending


def settled(handle: Pending) -> bool | None:
    done = threading.Event()
    handle.add_done_callback(lambda each: done.set())
    assert done.wait(30)
    return handle.confirmed


def unanswering(numbers: Sequence[int]) -> list[Lease]:
    raise ConnectionError("refused")


def of_store(
    ask: Callable[[Sequence[int]], Sequence[Lease]], seconds: float
) -> tuple[Leases, LeasedDocument]:
    leases = Leases(1.0, lambda numbers: None, ask, poll_seconds=0.01)
    return leases, leases.watch("u0", 0, Lease(None, seconds))


def test_a_lease_ends_by_the_clock_here_while_the_store_does_not_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leases, handle = of_store(unanswering, 0.3)
    with closing(leases):
        assert handle.poll() is None
        assert settled(handle) is False
    (message,) = [record.getMessage() for record in caplog.records]  # once, however often it was tried
    assert "does not answer for pending documents (refused)" in message


def test_a_store_that_answers_again_has_the_last_word() -> None:
    answers = iter([ConnectionError("refused"), ConnectionError("refused"), Lease(None, 60.0), Lease(True)])

    def ask(numbers: Sequence[int]) -> list[Lease]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return [answer for _ in numbers]

    leases, handle = of_store(ask, 60.0)
    with closing(leases):
        assert settled(handle) is True


def test_the_store_is_asked_once_for_what_many_wait_for() -> None:
    asked: list[list[int]] = []

    def ask(numbers: Sequence[int]) -> list[Lease]:
        asked.append([*numbers])
        return [Lease(True) if number else Lease(None, 60.0) for number in numbers]

    leases = Leases(60.0, lambda numbers: None, ask, poll_seconds=60.0)
    with closing(leases):
        handles = [leases.watch(f"u{number}", number, Lease(None, 60.0)) for number in (5, 0, 5, 0, 7)]
        leases.ask(handles)
    assert asked == [[5, 0, 7]]
    assert [handle.confirmed for handle in handles] == [True, None, True, None, True]


def test_renewing_goes_on_after_it_has_failed_and_ends_with_the_last_document() -> None:
    renewed: list[list[int]] = []
    often = threading.Event()

    def renew(numbers: Sequence[int]) -> None:
        renewed.append(sorted(numbers))
        if len(renewed) == 1:
            raise ConnectionError("refused")
        if len(renewed) == 3:
            often.set()

    leases = Leases(0.1, renew, unanswering)
    with closing(leases):
        leases.hold(1)
        leases.hold(2)
        assert often.wait(30)
        leases.drop(1)
        leases.drop(2)
        time.sleep(0.1)
        before = len(renewed)
        time.sleep(0.2)
        assert len(renewed) == before
    assert renewed[0] == [1, 2]


def test_who_holds_a_document_in_this_process_holds_it_while_the_process_lives() -> None:
    reservation = reserve(MemoryIndex(HEADER), documents([1]))
    assert reservation.holds_until == math.inf
    assert reservation.poll() is None
    reservation.release()
    assert reservation.poll() is False


def test_without_anything_to_do_there_is_no_thread() -> None:
    before = threading.active_count()
    with closing(Leases(1.0, unanswering, unanswering)):
        assert threading.active_count() == before


def test_who_waits_is_told_even_if_the_index_fails() -> None:
    def fail(reservation: Reservation) -> None:
        raise IndexUnavailable("The index is closed: open it again.")

    told: list[bool | None] = []
    reservation = Reservation("https://a-site.com/", fail)
    reservation.add_done_callback(lambda each: told.append(each.confirmed))
    with pytest.raises(IndexUnavailable):
        reservation.confirm()
    assert told == [True]
