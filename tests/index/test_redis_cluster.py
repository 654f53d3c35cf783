"""An index in a Redis Cluster is found on whatever node has its slot, and a crawl follows it to another."""

from __future__ import annotations

import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import open_index
from tests.index.conformance import HEADER, documents, reserve, reserve_new, urls_near
from tests.index.redis_server import until

redis = pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex
from scrapy_neardup.index.redis.index import find_problems
from tests.index.redis_cluster import Cluster, client, clustered, slot
from tests.index.test_redis import RedisConformance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_neardup.index import Index
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


def test_each_node_has_a_part_and_pages_that_come_to_two_crawls_at_once_are_kept_once(
    cluster: Cluster,
) -> None:
    url, pages = f"{cluster.url('parts')}&parts=3", 300
    dice = np.random.default_rng(1)
    every = documents(dice.integers(0, 2**64, pages, np.uint64).tolist())

    def crawl(index: Index) -> list[int]:
        """Reserve each page, and confirm those that are new; return which."""
        kept = []
        for number in range(pages):
            one = every.take(slice(number, number + 1))
            reservation = reserve_new(index, one._replace(urls=[f"{id(index)}"]))
            if reservation is not None:
                kept.append(number)
                reservation.confirm()
        return kept

    with closing(open_index(url, HEADER)) as one, closing(open_index(url, HEADER)) as other:
        with ThreadPoolExecutor(2) as pool:
            kept = [*itertools.chain(*pool.map(crawl, (one, other)))]
        assert sorted(kept) == [*range(pages)]
        for index in (one, other):
            index.flush()
        assert isinstance(one, RedisIndex)
        assert one.gauges()["documents"] == pages
        assert list(find_problems(one)) == []
        keys = [client(node).dbsize() for node in cluster.nodes]
        assert min(keys) > max(keys) / 2
        # A node that comes back without its data: others have what they had, and all goes on.
        lost = one.address.prefixes[1]
        for key in one.server.call("SCAN", 0, "MATCH", lost + b"*", "COUNT", 100_000, prefix=lost)[1]:
            one.server.call("DEL", key, prefix=lost)
        again = crawl(one)
        assert 0 < len(again) < pages
        assert crawl(other) == []
        assert {each.start for each in one.store.generations[1:]} == {one.store.generations[-1].start}
    open_index(cluster.url("parts"), HEADER, reset=True).close()  # into one that has other parts
    left = [key for node in cluster.nodes for key in client(node).scan_iter("neardup:{parts[/}]*", 1000)]
    assert len(left) == 4


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
    url = f"{cluster.url('news', 'crawler:password@')}&parts=3"
    for node in cluster.nodes:
        assert node.send(rights) == b"+OK\r\n"
    with pytest.raises(IndexUnavailable, match="for the rights"):
        open_index(url, HEADER)
    for node in cluster.nodes:
        assert node.send("ACL SETUSER crawler +cluster|slots +command") == b"+OK\r\n"
    with closing(open_index(url, HEADER)) as index:
        index.add(documents([1]))
        assert urls_near(index, 1) == ["u0"]
