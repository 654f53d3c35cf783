"""An index on a server does what the protocol says; what is pending in one process is pending in others."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.index.conformance import (
    FAR,
    HEADER,
    IndexConformance,
    documents,
    outcome,
    pending_of,
    reserve,
    reserve_new,
    urls_near,
)

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.index import Index
    from scrapy_neardup.index.pending import Reservation

pytestmark = pytest.mark.slow

#: A lease that runs out soon, if nobody renews it.
SHORT_SECONDS = 0.5


class RedisConformance(IndexConformance):
    """Subclasses give the *address* of an index that no other test uses."""

    address: Address

    def open(self) -> Index:
        return RedisIndex(self.address, HEADER)

    def reopen(self, index: Index) -> Index:
        index.close()
        return RedisIndex(self.address, HEADER)

    @contextmanager
    def two(self, lease_seconds: float = 60) -> Iterator[list[RedisIndex]]:
        """Yield the index as two processes have it open."""
        both = [RedisIndex(self.address, HEADER, lease_seconds=lease_seconds) for _ in range(2)]
        with closing(both[0]), closing(both[1]):
            yield both

    def lapsed(self, holder: RedisIndex, other: RedisIndex) -> Reservation:
        """Have *holder* reserve a document and not renew it, as if killed, until *other* sees it lapse."""
        reservation = reserve(holder, documents([1]))
        handle = pending_of(other, 1)
        holder.leases.held.clear()
        assert outcome(handle) is False
        return reservation

    def test_another_process_sees_what_is_pending_and_is_told_when_it_is_settled(self) -> None:
        with self.two() as (holder, other):
            kept, gone = reserve(holder, documents([1])), reserve(holder, documents([FAR], 1))
            of_kept, of_gone = pending_of(other, 1), pending_of(other, FAR)
            assert (of_kept.url, of_kept.confirmed) == ("u0", None)
            kept.confirm()
            gone.release()
            assert (outcome(of_kept), outcome(of_gone)) == (True, False)
            assert (urls_near(other, 1), urls_near(other, FAR)) == (["u0"], [])
            assert outcome(of_gone) is False  # at once

    def test_a_lease_is_renewed_while_its_holder_lives(self) -> None:
        with self.two(1) as (holder, other):
            reserve(holder, documents([1]))
            time.sleep(1.5)
            assert pending_of(other, 1).confirmed is None

    def test_a_lease_lapses_when_its_holder_dies_and_another_may_take_its_place(self) -> None:
        with self.two(SHORT_SECONDS) as (holder, other):
            self.lapsed(holder, other)
            assert urls_near(other, 1) == []
            other.flush()
            assert other.server.call("KEYS", other.address.prefix + b"b*") == []
            reservation = reserve_new(other, documents([1], 5))
            assert reservation is not None
            reservation.confirm()
            assert urls_near(other, 1) == ["u5"]

    @pytest.mark.parametrize("confirmed", [True, False])
    def test_what_is_settled_after_its_lease(self, confirmed: bool) -> None:
        with self.two(SHORT_SECONDS) as (holder, other):
            late = self.lapsed(holder, other)
            reserve(other, documents([1], 5)).confirm()
            late.confirm() if confirmed else late.release()
            holder.flush()
            assert urls_near(other, 1) == ["u0", "u5"][not confirmed :]

    def test_what_a_user_that_closes_holds_is_released(self) -> None:
        with self.two() as (holder, other):
            reserve(holder, documents([1]))
            handle = pending_of(other, 1)
            holder.close()
            assert outcome(handle) is False


class TestRedis(RedisConformance):
    @pytest.fixture(autouse=True, params=["", "&parts=3"])
    def name(self, request: pytest.FixtureRequest, redis_url: str) -> None:
        self.address = Address.parse(redis_url + request.param)
