"""Connections to a server, which is named by its address, or found by asking Sentinels or a cluster."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from .cluster import ClusterPool, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .address import Address

#: Seconds until a connection is made, and until an answer comes.
CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 5.0
#: A connection that was not used for so long is not used again.
IDLE_SECONDS = 20.0
#: Pools count the connections that they have ever made, and refuse to make more than 100 unless told.
ANY_NUMBER = 2**31


class Pool(Protocol):
    """Makes connections."""

    def make_connection(self) -> Any:
        """Return a connection, not yet made, to the server that is written to."""


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
        answers = self._answers(commands)
        refusals = [Refusal.of(answer) for answer in answers]
        if any(refusals):
            self.close()  # another node may have the index
        moved = [row for row, refusal in enumerate(refusals) if refusal is Refusal.MOVED]
        if moved:
            again = self._answers([commands[row] for row in moved])
            for row, answer in zip(moved, again, strict=True):
                answers[row] = answer
        return answers

    def _answers(self, commands: Sequence[Sequence[bytes | str | int]]) -> list[Any]:
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


def _pool(address: Address, answer_seconds: float) -> Pool:
    """Return what makes connections to the server at *address*.

    With Sentinels or a cluster, each connection begins by asking where that is.
    """
    options: dict[str, Any] = {
        "socket_timeout": answer_seconds,
        "socket_connect_timeout": CONNECT_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "client_name": "scrapy-neardup",
        "protocol": 2,
    }
    if address.nodes:
        return ClusterPool(address, options | parse_url(address.server), CONNECT_SECONDS)  # type: ignore[no-untyped-call]
    options["max_connections"] = ANY_NUMBER
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
