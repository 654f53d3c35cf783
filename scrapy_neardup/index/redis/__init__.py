"""The back-end on a server of the Redis protocol; redis-py is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .index import RedisIndex
from .server import Address

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy_neardup.index.header import Header

__all__ = ["Address", "RedisIndex"]


def open_url(
    url: str, wanted: Header | None, *, ignore: Collection[str], window: float, reset: bool
) -> RedisIndex:
    """Open the index of *url*. The other arguments are those of `stores.open_index`."""
    return RedisIndex(Address.parse(url), wanted, ignore=ignore, window=window, reset=reset)
