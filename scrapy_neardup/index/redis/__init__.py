"""The back-end on a server of the Redis protocol; redis-py is needed."""

from .index import RedisIndex
from .server import Address

__all__ = ["Address", "RedisIndex"]
