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
from tests.index.conformance import HEADER, documents, reserve, urls_near
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
_names = itertools.count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with clustered(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


class TestCluster(RedisConformance):
    @pytest.fixture(autouse=True)
    def name(self, cluster: Cluster) -> None:
        self.address = Address.parse(f"{cluster.url(f'test{next(_names)}')}&parts=3")


def name_on(cluster: Cluster, row: int) -> str:
    """Return a name for an index that a node has."""
    return next(name for name in map("news{}".format, itertools.count()) if cluster.owner(name) == row)


def test_a_url_of_another_kind_says_which_to_use(cluster: Cluster, redis_server: RedisServer) -> None:
    with pytest.raises(IndexUnavailable, match=r"use redis\+cluster://"):
        open_index(cluster.nodes[0].url(name_on(cluster, 1)), HEADER)
    with pytest.raises(IndexUnavailable, match="begin the URL with redis://"):
        open_index(f"redis+cluster://127.0.0.1:{redis_server.port}?name=news", HEADER)


def test_a_crawl_follows_a_slot_to_another_node_and_pages_pass_while_it_is_moved(cluster: Cluster) -> None:
    name = name_on(cluster, 0)
    nodes = [client(node) for node in cluster.nodes]
    giver, _, taker = nodes
    with closing(open_index(cluster.url(name), HEADER)) as index:
        index.add(documents([1]))
        ids = [node.execute_command("CLUSTER", "MYID").decode() for node in nodes]
        taker.execute_command("CLUSTER", "SETSLOT", slot(name), "IMPORTING", ids[0])
        giver.execute_command("CLUSTER", "SETSLOT", slot(name), "MIGRATING", ids[2])
        with pytest.raises(IndexUnavailable, match="being moved"):
            reserve(index, documents([0xFFFF << 40], 5))
        while keys := giver.execute_command("CLUSTER", "GETKEYSINSLOT", slot(name), 100):
            port = cluster.nodes[2].port
            giver.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)
        for node in (taker, *nodes):
            node.execute_command("CLUSTER", "SETSLOT", slot(name), "NODE", ids[2])
        until(lambda: urls_near(index, 1) == ["u0"], IndexUnavailable)
        reserve(index, documents([0xFFFF << 40], 5)).confirm()
        assert urls_near(index, 0xFFFF << 40) == ["u5"]
    for reset in (False, True):  # all keys of an index are on one node, and are deleted
        open_index(cluster.url(name), HEADER, reset=reset).close()
        numbers = [node.execute_command("CLUSTER", "COUNTKEYSINSLOT", slot(name)) for node in nodes]
        assert numbers[:2] == [0, 0]
        assert (numbers[2] == 4) == reset


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
