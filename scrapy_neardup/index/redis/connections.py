"""Connections to a server, which is named by its address or found by asking Sentinels."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .address import Address

#: Seconds until a connection is made, and until an answer comes.
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 5.0
#: A connection that was not used for so long is not used again.
IDLE_SECONDS = 20.0


class Connections:
    """Connections to the server at *address*, which may take so many seconds for an answer.

    Its methods may be called from any thread, and raise `redis.exceptions.RedisError` or OSError.
    """

    def __init__(self, address: Address, answer_seconds: float = ANSWER_SECONDS) -> None:
        #: Makes connections and keeps none: those at rest are here, each with when it was used.
        self._pool = _pool(address, answer_seconds)
        self._resting: deque[tuple[float, Any]] = deque()

    def send(self, commands: Sequence[Sequence[bytes | str | int]]) -> list[Any]:
        """Send *commands* over one connection; return their answers, some of which may be errors."""
        connection = self._connection()
        try:
            connection.connect()  # nothing, if it is
            # One piece, since each is sent on its own, and wakes the server.
            packed = b"".join(hiredis.pack_command(tuple(each)) for each in commands)  # type: ignore[arg-type]
            connection.send_packed_command([packed])
            answers = [_read(connection) for _ in commands]
        except BaseException:
            connection.disconnect()
            self.close()  # the others were cut, too, as a rule
            raise
        self._resting.append((time.monotonic(), connection))
        return answers

    def close(self) -> None:
        """Close the connections that are at rest."""
        while self._resting:
            with suppress(IndexError):  # another thread has taken the last one
                self._resting.pop()[1].disconnect()

    def _connection(self) -> Any:
        """Return a connection that was used lately, or else a new one: servers cut those that are idle."""
        with suppress(IndexError):
            used, connection = self._resting.pop()
            if time.monotonic() - used < IDLE_SECONDS:
                return connection
            connection.disconnect()
        return self._pool.make_connection()


def _pool(address: Address, answer_seconds: float) -> redis.ConnectionPool:
    """Return what makes connections to the server at *address*; with Sentinels, each asks where that is."""
    options: dict[str, Any] = {
        "socket_timeout": answer_seconds,
        "socket_connect_timeout": CONNECT_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "client_name": "scrapy-neardup",
        "protocol": 2,
    }
    if address.sentinels is None:
        return redis.ConnectionPool.from_url(address.server, **options)
    options |= parse_url(address.server)  # type: ignore[no-untyped-call]
    tls = {name: value for name, value in options.items() if name.startswith("ssl_")}
    tls["ssl"] = options.pop("connection_class", None) is not None
    asking = {
        "socket_timeout": CONNECT_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "retry": options["retry"],
        **tls,
        **address.sentinels.login,
    }
    service, hosts = address.sentinels.service, address.sentinels.hosts
    sentinel = Sentinel(hosts, sentinel_kwargs=asking)  # type: ignore[no-untyped-call]
    return SentinelConnectionPool(service, sentinel, ssl=tls["ssl"], **options)  # type: ignore[no-untyped-call]


def _read(connection: Any) -> Any:
    """Return the next answer, or the error that the server has answered with."""
    try:
        return connection.read_response()
    except redis.exceptions.ResponseError as error:
        return error
