"""An index on a server does what the protocol says, for several users, and keeps to what it was made with."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.index.conformance import HEADER, SharedIndexConformance
from tests.index.redis_server import running

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.index import Index
    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow

_names = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


class TestRedis(SharedIndexConformance):
    @pytest.fixture(autouse=True)
    def name(self, server: RedisServer) -> None:
        self.address = Address.parse(server.url(f"conformance{next(_names)}"))

    def open(self) -> Index:
        return RedisIndex(self.address, HEADER)

    def reopen(self, index: Index) -> Index:
        index.close()
        return RedisIndex(self.address, HEADER)

    def open_two(self, lease_seconds: float) -> tuple[Index, Index]:
        return (
            RedisIndex(self.address, HEADER, lease_seconds=lease_seconds),
            RedisIndex(self.address, HEADER, lease_seconds=lease_seconds),
        )

    def kill(self, index: Index) -> None:
        assert isinstance(index, RedisIndex)
        index.leases.close()
