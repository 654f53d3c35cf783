"""A replica takes over: Sentinels say where the index is; what it was not yet told of harms no other page."""

from __future__ import annotations

import itertools
import subprocess
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import open_index
from tests.index.conformance import HEADER, LOOKUPS, documents, reserve, urls_near
from tests.index.redis_server import RedisServer, running, server_program, until

redis = pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import RedisIndex
from tests.index.redis_cluster import clustered, is_copied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

#: Seconds until a replica has taken over, at most.
TAKEOVER_SECONDS = 60.0
#: What a server that is not yet there raises.
AWAY = (IndexUnavailable, redis.exceptions.RedisError)
USER = "ACL SETUSER crawler on >p@ss ~* +@all"


@contextmanager
def sentinel(folder: Path, master: RedisServer) -> Iterator[RedisServer]:
    """Yield a Sentinel that watches *master* as the service ``pages``, and wants the password ``ask``."""
    server = RedisServer(folder)
    folder.mkdir()
    (folder / "sentinel.conf").write_text(
        f"port {server.port}\nbind 127.0.0.1\ndir {folder}\nrequirepass ask\n"
        f"sentinel monitor pages 127.0.0.1 {master.port} 1\n"
        "sentinel down-after-milliseconds pages 300\nsentinel failover-timeout pages 3000\n"
    )
    program = server_program()
    assert program is not None
    command = [program, str(folder / "sentinel.conf"), "--sentinel"]
    server.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield server
    finally:
        server.kill()


def test_a_crawl_goes_on_with_the_replica_that_sentinels_name(tmp_path: Path) -> None:
    with (
        running(tmp_path / "master") as master,
        running(tmp_path / "replica", "--replicaof", "127.0.0.1", str(master.port)) as replica,
        sentinel(tmp_path / "sentinel", master) as asked,
    ):
        for server in (master, replica):
            assert server.send(USER) == b"+OK\r\n"
        states = redis.Redis(port=asked.port, password="ask")

        def is_ready() -> bool:
            return is_copied(replica) and states.sentinel_master("pages")["num-slaves"] == 1

        until(is_ready, *AWAY, seconds=TAKEOVER_SECONDS)
        url = f"redis+sentinel://crawler:p%40ss@127.0.0.1:1,127.0.0.1:{asked.port}/pages/0?name=news"
        with pytest.raises(IndexUnavailable, match="give sentinel_username and sentinel_password"):
            open_index(url, HEADER)
        goes_on(f"{url}&sentinel_password=ask", master)
    with pytest.raises(IndexUnavailable, match="see that the Sentinels run"):
        open_index(f"{url}&sentinel_password=ask", HEADER)


def test_a_crawl_goes_on_with_the_replica_that_a_cluster_has_chosen(tmp_path: Path) -> None:
    with clustered(tmp_path) as cluster:
        name = next(name for name in map("news{}".format, itertools.count()) if cluster.owner(name) == 0)
        goes_on(f"{cluster.url(name)}&parts=3", cluster.nodes[0])
        # Whoever comes now knows the dead node and two living ones.
        with closing(open_index(f"{cluster.url(name)}&parts=3", HEADER)) as index:
            assert urls_near(index, 1) == ["u0"]


def goes_on(url: str, master: RedisServer) -> None:
    """See an index through the death of its server, which a replica copies."""
    with closing(open_index(url, HEADER)) as index:
        index.add(documents([1]))
        pending = reserve(index, documents([0xFFFF << 40], 5))
        assert redis.Redis(port=master.port).wait(1, 10_000) == 1
        master.kill()
        with pytest.raises(IndexUnavailable):
            index.find(documents([1], 9), LOOKUPS)
        pending.confirm()
        until(lambda: urls_near(index, 1) == ["u0"], *AWAY, seconds=TAKEOVER_SECONDS)
        assert urls_near(index, 0xFFFF << 40) == ["u5"]
        assert reserve(index, documents([0xFFF << 50], 6)).confirm() is None
        assert index.gauges() | {"documents": 3, "lost": 0} == index.gauges()


def forget_the_last_one(index: RedisIndex, number: int) -> None:
    """Have the server be as a replica that was told of no document, the last of which is *number*."""
    prefix, server = index.address.prefix, index.server
    for key in redis.Redis.from_url(index.address.server).scan_iter(prefix + b"[bd]*"):
        server.call("DEL", key)
    server.call("ZREM", prefix + b"p", number)
    server.call("DECR", prefix + b"n")
    server.call("DECR", prefix + b"count")


@pytest.mark.parametrize("confirmed", [True, False])
@pytest.mark.parametrize("replaces", [True, False])
def test_a_number_given_twice_settles_no_other_page(redis_url: str, confirmed: bool, replaces: bool) -> None:
    """It is that of the page that is settled, or of the one that goes for it."""
    with closing(open_index(redis_url, HEADER)) as one, closing(open_index(redis_url, HEADER)) as two:
        assert isinstance(one, RedisIndex)
        old = one.add(documents([0xFF << 20], 2)).tolist() if replaces else []
        mine = reserve(one, documents([1]), old)
        for number in [*one.leases.held, *old]:  # what no caller sees
            forget_the_last_one(one, number)
        theirs = reserve(two, documents([0xFFFF << 40], 5))
        assert [*two.leases.held] == [number]  # type: ignore[attr-defined]
        mine.confirm() if confirmed else mine.release()
        one.add(documents([0xFFF << 50], 9))  # which goes along, and is not filed twice
        assert not one.store.leases([number])[0].confirmed
        one.flush()
        assert urls_near(one, 0xFFFF << 40) == ["u5"]
        assert urls_near(one, 1) == (["u0"] if confirmed else [])
        theirs.confirm()
        two.flush()
        assert one.store.leases([number])[0].confirmed
        assert one.gauges()["documents"] == 2 + confirmed
