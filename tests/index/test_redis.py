"""An index on a server does what the protocol says, for several users, and keeps to what it was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.index.conformance import HEADER, SharedIndexConformance

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex

if TYPE_CHECKING:
    from scrapy_neardup.index import Index

pytestmark = pytest.mark.slow


class RedisConformance(SharedIndexConformance):
    """Subclasses give the *address* of an index that no other test uses."""

    address: Address

    def open(self) -> Index:
        return RedisIndex(self.address, HEADER)

    def reopen(self, index: Index) -> Index:
        index.close()
        return RedisIndex(self.address, HEADER)

    def open_two(self, lease_seconds: float) -> tuple[Index, Index]:
        one, two = (RedisIndex(self.address, HEADER, lease_seconds=lease_seconds) for _ in range(2))
        return one, two

    def kill(self, index: Index) -> None:
        assert isinstance(index, RedisIndex)
        index.leases.close()


class TestRedis(RedisConformance):
    @pytest.fixture(autouse=True)
    def name(self, redis_url: str) -> None:
        self.address = Address.parse(redis_url)
