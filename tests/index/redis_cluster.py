"""A Redis Cluster of the tests' own on free ports of this machine: three nodes that vote, and a replica."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import redis
from redis.crc import key_slot

from tests.index.redis_server import RedisServer, running, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: What a node that is not yet ready raises.
AWAY = (redis.exceptions.RedisError, OSError)
START_SECONDS = 60.0
#: Milliseconds until a node that does not answer is taken for dead.
PATIENCE = 1500


class Cluster(NamedTuple):
    """Nodes that have a third of the slots each; another one copies the first."""

    nodes: list[RedisServer]

    def url(self, name: str, user: str = "") -> str:
        """Return the URL of an index; the node that is named first is the last."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in reversed(self.nodes))
        return f"redis+cluster://{user}{hosts}?name={name}"

    def owner(self, name: str) -> int:
        """Return which of the nodes has the index *name* at first."""
        return slot(name) * 3 // 16384


def slot(name: str) -> int:
    """Return the slot that all keys of an index are in."""
    return int(key_slot(b"neardup:{%s}:" % name.encode()))  # type: ignore[no-untyped-call]


def client(server: RedisServer) -> redis.Redis:
    return redis.Redis(port=server.port)


@contextmanager
def clustered(folder: Path) -> Iterator[Cluster]:
    """Yield a cluster whose nodes all know each other."""
    with ExitStack() as stack:
        servers = [stack.enter_context(running(folder / str(row), *_options())) for row in range(4)]
        for row in range(3):
            first, end = (-(-16384 * each // 3) for each in (row, row + 1))
            client(servers[row]).execute_command("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
            # Epochs of their own from the beginning, or the nodes take seconds to agree on them.
            client(servers[row]).execute_command("CLUSTER", "SET-CONFIG-EPOCH", row + 1)
        for server in servers[1:]:
            bus = client(server).config_get("cluster-port")["cluster-port"]
            client(servers[0]).execute_command("CLUSTER", "MEET", "127.0.0.1", server.port, bus)
        *nodes, replica = servers
        until(lambda: all(_knows(server, 4) for server in servers), *AWAY, seconds=START_SECONDS)
        name = client(nodes[0]).execute_command("CLUSTER", "MYID")
        client(replica).execute_command("CLUSTER", "REPLICATE", name)
        until(lambda: is_copied(replica) and all(map(_has_replica, nodes)), *AWAY, seconds=START_SECONDS)
        yield Cluster(nodes)


def is_copied(replica: RedisServer) -> bool:
    return bool(client(replica).info("replication")["master_link_status"] == "up")  # type: ignore[index]


def _options() -> list[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        bus = free.getsockname()[1]
    options = {"enabled": "yes", "port": bus, "node-timeout": PATIENCE, "replica-validity-factor": 0}
    return [part for name, value in options.items() for part in (f"--cluster-{name}", str(value))]


def _knows(server: RedisServer, nodes: int) -> bool:
    info = client(server).execute_command("CLUSTER", "INFO").split()
    return b"cluster_state:ok" in info and b"cluster_known_nodes:%d" % nodes in info


def _has_replica(server: RedisServer) -> bool:
    return any(len(places) > 3 for places in client(server).execute_command("CLUSTER", "SLOTS"))
