"""What any index on a server does, whichever server it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.index.conformance import HEADER, SharedIndexConformance
from scrapy_neardup.index.redis import RedisIndex

if TYPE_CHECKING:
    from scrapy_neardup.index import Index
    from scrapy_neardup.index.redis import Address


class RedisConformance(SharedIndexConformance):
    """Subclasses give the *address* of an index that no other test uses."""

    address: Address

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
