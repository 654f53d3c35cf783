"""An index in a Redis Cluster is found on whatever node has its slot, and a crawl follows it to another."""

from __future__ import annotations

import itertools
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import open_index
from tests.index.conformance import HEADER, LOOKUPS, documents, reserve, urls_near
from tests.index.redis_server import until

redis = pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address
from tests.index.redis_cluster import Cluster, client, clustered, slot
from tests.index.test_redis import RedisConformance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.index.redis_server import RedisServer

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "redis.md"
#: Seconds until a replica has taken over, at most.
TAKEOVER_SECONDS = 60.0
_names = itertools.count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with clustered(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


class TestCluster(RedisConformance):
    @pytest.fixture(autouse=True)
    def name(self, cluster: Cluster) -> None:
        self.address = Address.parse(cluster.url(f"test{next(_names)}"))


def name_on(cluster: Cluster, row: int) -> str:
    """Return a name for an index that a node has."""
    return next(name for name in map("news{}".format, itertools.count()) if cluster.owner(name) == row)


def number_of_keys(server: RedisServer) -> int:
    return int(client(server).dbsize())  # type: ignore[arg-type]


def test_all_keys_of_an_index_are_on_one_node_and_a_reset_deletes_them(cluster: Cluster) -> None:
    for row in range(3):
        before = [number_of_keys(node) for node in cluster.nodes]
        url = cluster.url(name_on(cluster, row))
        with closing(open_index(url, HEADER)) as index:
            index.add(documents([1, 0xFFFF << 40]))
            grown = [number_of_keys(node) > keys for node, keys in zip(cluster.nodes, before, strict=True)]
            assert grown == [each == row for each in range(3)]
        open_index(url, HEADER, reset=True).close()
        with closing(open_index(url, HEADER)) as index:
            assert index.gauges()["documents"] == 0


def test_a_url_of_another_kind_says_which_to_use(cluster: Cluster, redis_server: RedisServer) -> None:
    with pytest.raises(IndexUnavailable, match=r"use redis\+cluster://"):
        open_index(cluster.nodes[0].url(name_on(cluster, 1)), HEADER)
    with pytest.raises(IndexUnavailable, match="begin the URL with redis://"):
        open_index(f"redis+cluster://127.0.0.1:{redis_server.port}?name=news", HEADER)


def test_a_crawl_follows_a_slot_that_is_given_to_another_node(cluster: Cluster) -> None:
    name = name_on(cluster, 0)
    with closing(open_index(cluster.url(name), HEADER)) as index:
        index.add(documents([1]))
        move(cluster, name, 0, 2)
        assert urls_near(index, 1) == ["u0"]
        reserve(index, documents([0xFFFF << 40], 5)).confirm()
        index.flush()
        assert number_of_keys_of(cluster.nodes[0], name) == 0
        assert number_of_keys_of(cluster.nodes[2], name) > 0
        move(cluster, name, 2, 0)
        assert urls_near(index, 0xFFFF << 40) == ["u5"]


def test_while_a_slot_is_being_moved_pages_pass_and_nothing_is_lost(cluster: Cluster) -> None:
    name = name_on(cluster, 1)
    with closing(open_index(cluster.url(name), HEADER)) as index:
        index.add(documents([1]))
        set_slot(cluster, name, 1, 2)
        with pytest.raises(IndexUnavailable, match="being moved"):
            reserve(index, documents([0xFFFF << 40], 5))
        for node in cluster.nodes:
            client(node).execute_command("CLUSTER", "SETSLOT", slot(name), "STABLE")
        until(lambda: urls_near(index, 1) == ["u0"], IndexUnavailable)
        assert reserve(index, documents([0xFFF << 50], 9)).confirm() is None
        index.flush()
        assert urls_near(index, 0xFFF << 50) == ["u9"]


def test_a_crawl_goes_on_with_the_replica_that_has_taken_over(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with clustered(tmp_path_factory.mktemp("takeover")) as cluster:
        url = cluster.url(name_on(cluster, 0))
        with closing(open_index(url, HEADER)) as index:
            index.add(documents([1]))
            pending = reserve(index, documents([0xFFFF << 40], 5))
            assert client(cluster.nodes[0]).wait(1, 10_000) == 1
            cluster.nodes[0].kill()
            with pytest.raises(IndexUnavailable):
                index.find(documents([1], 9), LOOKUPS)
            pending.confirm()
            until(lambda: urls_near(index, 1) == ["u0"], IndexUnavailable, seconds=TAKEOVER_SECONDS)
            assert urls_near(index, 0xFFFF << 40) == ["u5"]
            assert reserve(index, documents([0xFFF << 50], 6)).confirm() is None
            assert index.gauges()["documents"] == 3
            assert index.gauges()["lost"] == 0
        # Whoever comes now knows the dead node and two living ones.
        with closing(open_index(url, HEADER)) as index:
            assert urls_near(index, 1) == ["u0"]


def test_the_rights_that_the_docs_list_are_enough_in_a_cluster(cluster: Cluster) -> None:
    (rights,) = re.findall(r"^ACL SETUSER .*$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    url = cluster.url("news", "crawler:password@")
    for node in cluster.nodes:
        assert node.send(rights) == b"+OK\r\n"
    with pytest.raises(IndexUnavailable, match="for the rights"):
        open_index(url, HEADER)
    for node in cluster.nodes:
        assert node.send("ACL SETUSER crawler +cluster|slots +command") == b"+OK\r\n"
    with closing(open_index(url, HEADER)) as index:
        index.add(documents([1]))
        assert urls_near(index, 1) == ["u0"]


def set_slot(cluster: Cluster, name: str, source: int, target: int) -> None:
    """Let the slot of an index be on its way from one node to another."""
    ids = [client(node).execute_command("CLUSTER", "MYID").decode() for node in cluster.nodes]
    client(cluster.nodes[target]).execute_command("CLUSTER", "SETSLOT", slot(name), "IMPORTING", ids[source])
    client(cluster.nodes[source]).execute_command("CLUSTER", "SETSLOT", slot(name), "MIGRATING", ids[target])


def move(cluster: Cluster, name: str, source: int, target: int) -> None:
    """Move the slot of an index with all its keys."""
    set_slot(cluster, name, source, target)
    giver, taker = cluster.nodes[source], cluster.nodes[target]
    while keys := client(giver).execute_command("CLUSTER", "GETKEYSINSLOT", slot(name), 100):
        client(giver).execute_command("MIGRATE", "127.0.0.1", taker.port, "", 0, 5000, "KEYS", *keys)
    taker_id = client(taker).execute_command("CLUSTER", "MYID").decode()
    for node in (taker, giver, *cluster.nodes):
        client(node).execute_command("CLUSTER", "SETSLOT", slot(name), "NODE", taker_id)


def number_of_keys_of(server: RedisServer, name: str) -> int:
    return int(client(server).execute_command("CLUSTER", "COUNTKEYSINSLOT", slot(name)))
