"""What is pending in one process is pending in others, until it is settled or its holder has died."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from contextlib import closing
from typing import TYPE_CHECKING

from scrapy_neardup.index.protocol import Filing

from .sample import LOOKUPS, Conformance, documents, reserve

if TYPE_CHECKING:
    from scrapy_neardup.index.protocol import Found, Index, Pending
    from scrapy_neardup.index.reservation import Reservation

#: A lease that does not run out during a test, one that has to be renewed during it, and one that runs out
#: soon.
LONG_SECONDS, RENEWED_SECONDS, SHORT_SECONDS = 60.0, 4.0, 0.5
#: A test waits at most so long for what has to happen.
PATIENCE_SECONDS = 30.0
#: A fingerprint that is not near 1.
FAR = 0xFFFF << 40


def pending_of(index: Index, fingerprint: int) -> Pending:
    """Return the handle of the one document near *fingerprint*, which has to be pending."""
    (handle,) = index.find(documents([fingerprint], 9), LOOKUPS).pending
    assert handle is not None
    return handle


def urls_near(index: Index, fingerprint: int) -> list[str]:
    """Return the URLs of all documents near *fingerprint*."""
    return index.find(documents([fingerprint], 9), LOOKUPS).stored.urls


def outcome(handle: Pending) -> bool | None:
    """Wait until the document is settled, and return how."""
    done = threading.Event()
    handle.add_done_callback(lambda each: done.set())
    assert done.wait(PATIENCE_SECONDS)
    return handle.confirmed


class LeasesConformance(Conformance):
    """Tests of two users of one store, as two processes are."""

    @abstractmethod
    def open_two(self, lease_seconds: float) -> tuple[Index, Index]:
        """Return a new, empty index twice, as two processes have it open, with leases of *lease_seconds*."""

    @abstractmethod
    def kill(self, index: Index) -> None:
        """Have *index* renew nothing any more, as if its process were stopped or killed."""

    def lapsed(self, holder: Index, other: Index) -> Reservation:
        """Have *holder* reserve a document and be killed; return its place once *other* sees it lapse."""
        reservation = reserve(holder, documents([1]))
        handle = pending_of(other, 1)
        self.kill(holder)
        assert outcome(handle) is False
        return reservation

    def test_another_process_sees_what_is_pending_and_is_told_when_it_is_settled(self) -> None:
        holder, other = self.open_two(LONG_SECONDS)
        with closing(holder), closing(other):
            kept, gone = reserve(holder, documents([1])), reserve(holder, documents([FAR], 1))
            of_kept, of_gone = pending_of(other, 1), pending_of(other, FAR)
            assert (of_kept.url, of_kept.confirmed, of_kept.poll()) == ("u0", None, None)
            assert time.monotonic() < of_kept.holds_until <= time.monotonic() + LONG_SECONDS
            kept.confirm()
            gone.release()
            assert (outcome(of_kept), outcome(of_gone)) == (True, False)
            assert (urls_near(other, 1), urls_near(other, FAR)) == (["u0"], [])
            assert outcome(of_gone) is False  # at once

    def test_who_only_polls_learns_it_too(self) -> None:
        holder, other = self.open_two(LONG_SECONDS)
        with closing(holder), closing(other):
            reservation = reserve(holder, documents([1]))
            handle = pending_of(other, 1)
            reservation.confirm()
            deadline = time.monotonic() + PATIENCE_SECONDS
            while handle.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            assert handle.confirmed is True

    def test_a_lease_is_renewed_while_its_holder_lives(self) -> None:
        holder, other = self.open_two(RENEWED_SECONDS)
        with closing(holder), closing(other):
            reserve(holder, documents([1]))
            first, deadline = pending_of(other, 1).holds_until, time.monotonic() + PATIENCE_SECONDS
            while (
                pending_of(other, 1).holds_until < first + RENEWED_SECONDS / 8 and time.monotonic() < deadline
            ):
                time.sleep(0.05)
            assert pending_of(other, 1).holds_until >= first + RENEWED_SECONDS / 8

    def test_a_lease_lapses_when_its_holder_dies_and_another_may_take_its_place(self) -> None:
        holder, other = self.open_two(SHORT_SECONDS)
        with closing(holder), closing(other):
            self.lapsed(holder, other)
            assert urls_near(other, 1) == []

            def decide(found: Found) -> Filing | None:
                return None if len(found.documents) else Filing(documents([1], 5))

            reservation = other.reserve_if(documents([1], 5), LOOKUPS, decide)
            assert reservation is not None
            reservation.confirm()
            assert urls_near(other, 1) == ["u5"]

    def test_what_is_confirmed_after_its_lease_is_kept_beside_what_came_meanwhile(self) -> None:
        holder, other = self.open_two(SHORT_SECONDS)
        with closing(holder), closing(other):
            late = self.lapsed(holder, other)
            reserve(other, documents([1], 5)).confirm()
            late.confirm()
            holder.flush()
            assert late.confirmed is True
            assert sorted(urls_near(other, 1)) == ["u0", "u5"]

    def test_what_is_released_after_its_lease_stays_gone(self) -> None:
        holder, other = self.open_two(SHORT_SECONDS)
        with closing(holder), closing(other):
            late = self.lapsed(holder, other)
            late.release()
            holder.flush()
            assert urls_near(other, 1) == []

    def test_what_a_user_that_closes_holds_is_released(self) -> None:
        holder, other = self.open_two(LONG_SECONDS)
        with closing(other):
            reserve(holder, documents([1]))
            handle = pending_of(other, 1)
            holder.close()
            assert outcome(handle) is False
