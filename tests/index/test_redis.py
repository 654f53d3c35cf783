"""An index on a server does what the protocol says, for several users, and keeps to what it was made with."""

from __future__ import annotations

import pytest

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address
from tests.index.redis_conformance import RedisConformance

pytestmark = pytest.mark.slow


class TestRedis(RedisConformance):
    @pytest.fixture(autouse=True)
    def name(self, redis_url: str) -> None:
        self.address = Address.parse(redis_url)
