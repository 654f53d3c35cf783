"""Finding the node of a Redis Cluster that an index is on.

All keys of an index have one hash tag, so they are in one of the 16,384 slots of a cluster, and one node at a
time has them all. Which one that is may change: a replica takes over, or the slot is moved.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import redis
from redis.crc import key_slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .address import Address


#: So many nodes are asked before one gives up: each may take seconds to say nothing.
MOST_ASKED = 3


class Place(NamedTuple):
    """Where a node is."""

    host: str
    port: int


class Refusal(Enum):
    """Why a node of a cluster has done nothing; the value is how it says so."""

    MOVED = "MOVED"
    CUT_OFF = "CLUSTERDOWN"
    BEING_MOVED = "TRYAGAIN"

    @classmethod
    def of(cls, answer: object) -> Refusal | None:
        """Return which refusal *answer* is, None if it is none. Older clients give each the same class."""
        if not isinstance(answer, redis.exceptions.RedisError):
            return None
        for kind, refusal in _KINDS.items():
            if isinstance(answer, kind) or str(answer).startswith(refusal.value):
                return refusal
        return None


_KINDS = {
    redis.exceptions.MovedError: Refusal.MOVED,
    redis.exceptions.ClusterError: Refusal.CUT_OFF,
    redis.exceptions.TryAgainError: Refusal.BEING_MOVED,
}


class ClusterPool:
    """Makes connections to the node of a cluster that the index of *address* is on.

    *options* are those of `redis.Connection`; asking takes at most *seconds* a node. `make_connection` may be
    called from any thread.
    """

    def __init__(self, address: Address, options: Mapping[str, Any], seconds: float) -> None:
        self._options = dict(options)
        self._kind: Any = self._options.pop("connection_class", redis.Connection)
        self._seconds = seconds
        self._slot = key_slot(address.prefix)
        self._named = tuple(Place(*node) for node in address.nodes)
        #: The nodes of which one has spoken last.
        self._heard: tuple[Place, ...] = ()
        self._turn = 0

    def make_connection(self) -> Any:
        """Return a connection, not yet made, to the node that has the index, as another one says.

        Raises the error of the last node that was asked if none knows.
        """
        nodes = list(dict.fromkeys(self._named + self._heard))
        # Each time another one is asked first: one that is cut off from the others says what was yesterday.
        first = self._turn % len(nodes)
        self._turn += 1
        error: Exception = redis.exceptions.ClusterDownError(
            "no node of the cluster has the slot of the index"
        )
        for node in (nodes[first:] + nodes[:first])[:MOST_ASKED]:
            owner = self._ask(node)
            if isinstance(owner, Place):
                return self._kind(host=owner.host, port=owner.port, **self._options)
            error = owner or error
        raise error

    def _ask(self, node: Place) -> Place | Exception | None:
        """Return which node *node* names as the one that has the slot of the index.

        Returns None if it names none, and an error if it does not answer.
        """
        options = self._options | {"socket_timeout": self._seconds}
        connection = self._kind(host=node.host, port=node.port, **options)
        try:
            connection.connect()
            connection.send_command("CLUSTER", "SLOTS")
            ranges = connection.read_response()
        except (redis.exceptions.RedisError, OSError) as error:
            return error
        finally:
            connection.disconnect()
        owner, heard = None, []
        for first, last, *servers in ranges:
            # A node that does not know a name of its own gives none.
            places = [Place(host.decode() if host else node.host, port) for host, port, *_ in servers]
            heard += places
            if first <= self._slot <= last:
                owner = places[0]  # its replicas follow
        self._heard = tuple(heard)
        return owner
