"""What a server may do to an index: end, lose its scripts or all of it, fill up, drop keys, stay away."""

from __future__ import annotations

import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRuns
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.errors import ConfigurationError, IndexMismatch, IndexUnavailable
from scrapy_neardup.index import Header, open_index
from tests.index.conformance import FINGERPRINT, HEADER, LOOKUPS, documents, reserve, reserve_new, urls_near
from tests.index.redis_server import RedisServer, running, until

redis = pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex, scripts
from scrapy_neardup.index.redis.layout import GROUP
from scrapy_neardup.index.redis.server import FAILURES, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_neardup.index.redis.server import Addressed

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "redis.md"


def test_a_server_that_was_killed_comes_back_with_what_was_confirmed(tmp_path: Path) -> None:
    with running(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        address = Address.parse(server.url())
        with closing(RedisIndex(address, HEADER, server=Server(address, first_pause=0.05))) as index:
            index.add(documents([1, 0xFF << 30]))
            reserve(index, documents([0xFFFF << 40], 5)).confirm()
            index.flush()
            pending = reserve(index, documents([0xFFF << 50], 6))
            server.kill()
            with pytest.raises(IndexUnavailable, match="cannot be used"):
                index.find(documents([1], 9), LOOKUPS)
            pending.confirm()  # nobody waits for the server
            server.start()
            until(index.gauges, IndexUnavailable)
            index.flush()
            assert urls_near(index, 0xFFFF << 40) == ["u5"]
            assert urls_near(index, 0xFFF << 50) == ["u6"]
            assert index.gauges()["documents"] == 4


def test_an_index_in_whose_place_is_another_one_is_not_used(redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index:
        other = Header(HEADER.families, HEADER.record)
        open_index(redis_url, other, reset=True).close()
        with pytest.raises(IndexUnavailable, match="Another index is in"):
            index.find(documents([1], 9), LOOKUPS)


def test_a_layout_of_another_version_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    open_index(redis_url, HEADER).close()
    name = redis_url.partition("name=")[2]
    for layout in (1, 99):
        redis_server.send(f"SET neardup:{{{name}}}:header [{layout},{{}}]")
        with pytest.raises(IndexMismatch, match=f"has the layout {layout}, .* start anew with NEARDUP_RESET"):
            open_index(redis_url, HEADER)
    for header in ("nothing", "[4,{},1000000000]"):
        redis_server.send(f"SET neardup:{{{name}}}:header {header}")
        with pytest.raises(IndexUnavailable, match="cannot be read"):
            open_index(redis_url, HEADER)


@pytest.mark.parametrize("parts", [2, 64])
def test_parts_beside_a_first_one_that_was_lost_are_found(
    redis_server: RedisServer, redis_url: str, parts: int
) -> None:
    client, first = redis.Redis(port=redis_server.port), Address.parse(redis_url).prefix
    url = f"{redis_url}&parts={parts}"
    with closing(open_index(url, HEADER)) as index:
        uuid = index.header.uuid
        index.add(documents([0xFFFF << 16 | each << 40 for each in range(99)]))
    with pytest.raises(IndexMismatch, match=f"say parts={parts} in its URL"):
        open_index(redis_url, HEADER)
    client.delete(*client.scan_iter(first + b"*"))
    with closing(open_index(url, None)) as again:
        assert again.header.uuid == uuid
        assert 0 < again.gauges()["documents"] < 99
        again.add(documents([1], 200))
        assert urls_near(again, 1) == ["u200"]
        assert len({prefix for prefix in again.store.prefixes if client.exists(prefix + b"header")}) == parts
    open_index(redis_url, HEADER, reset=True).close()
    assert len({*client.scan_iter(first[:-2] + b"[/}]*")}) == 4


def test_what_one_index_resets_leaves_the_others_alone(redis_server: RedisServer) -> None:
    with (
        closing(open_index(redis_server.url("a"), HEADER)) as one,
        closing(open_index(redis_server.url("ab"), HEADER)) as other,
    ):
        one.add(documents([1]))
        other.add(documents([1]))
        open_index(redis_server.url("a"), HEADER, reset=True).close()
        assert urls_near(other, 1) == ["u0"]


def test_an_eviction_policy_that_drops_keys_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, "--maxmemory", "100mb") as server:
        server.send("CONFIG SET maxmemory-policy allkeys-lru")
        with pytest.raises(ConfigurationError, match="set maxmemory-policy noeviction"):
            open_index(server.url(), HEADER)
        server.send("CONFIG SET maxmemory-policy volatile-lru")
        open_index(server.url(), HEADER).close()
        with pytest.raises(ConfigurationError, match="set maxmemory-policy noeviction"):
            open_index(server.url(), HEADER, window=60)


def test_a_server_that_is_not_there_or_refuses_is_one_sentence(
    redis_server: RedisServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for url in ("redis://127.0.0.1:1/0", "redis+cluster://127.0.0.1:1,127.0.0.1:2?name=news"):
        with pytest.raises(IndexUnavailable, match="see that the server runs and can be reached"):
            open_index(url, HEADER)
    with pytest.raises(IndexUnavailable, match="rights"):
        open_index(f"redis://nobody:wrong@127.0.0.1:{redis_server.port}/0", HEADER)
    with running(tmp_path) as replica:
        replica.send(f"REPLICAOF 127.0.0.1 {redis_server.port}")
        with pytest.raises(IndexUnavailable):
            open_index(replica.url("replica"), HEADER)


def test_the_rights_that_the_docs_list_are_enough_and_no_others_are_needed(redis_server: RedisServer) -> None:
    (rights,) = re.findall(r"^ACL SETUSER .*$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert redis_server.send(rights) == b"+OK\r\n"
    url = f"redis://crawler:password@127.0.0.1:{redis_server.port}/0"
    with closing(open_index(f"{url}?name=news", HEADER, window=3600, reset=True)) as index:
        (old,) = index.add(documents([1])).tolist()
        reserve(index, documents([0xFFFF << 40], 5), [old]).confirm()
        reserve(index, documents([0xFFF << 20], 6)).release()
        assert urls_near(index, 0xFFFF << 40) == ["u5"]
        assert index.gauges()["documents"] == 1
    with pytest.raises(IndexUnavailable, match="rights"):
        open_index(f"{url}?name=other", HEADER)
    # What the client library sends, and how scripts are called, stands in no module of the back-end.
    theirs = {"client|setname", "eval", "evalsha", "hello", "ping", "select"}
    code = "".join(
        module.read_text(encoding="utf-8") for module in Path(scripts.__file__).parent.glob("*.py")
    )
    ours = {command.lower() for command in re.findall(r"""\((?:\(|[^()"']*, )?["']([A-Z]{3,})["']""", code)}
    assert set(re.findall(r"\+(\S+)", rights)) == ours | theirs


def test_a_full_server_files_nothing_and_settles(redis_server: RedisServer, redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index:
        held = reserve(index, documents([1]))
        redis_server.send("CONFIG SET maxmemory 1")
        try:
            with pytest.raises(IndexUnavailable, match="give it more maxmemory"):
                reserve(index, documents([0xFFFF << 40], 5))
            assert reserve_new(index, documents([3], 6)) is None  # near the one that is held
            with pytest.raises(IndexUnavailable, match="give it more maxmemory"):
                index.store.renew([*index.leases.held], 60)
            held.confirm()
            index.flush()
            assert urls_near(index, 1) == ["u0"]
        finally:
            redis_server.send("CONFIG SET maxmemory 0")
        assert urls_near(index, 0xFFFF << 40) == []
        reserve(index, documents([0xFFFF << 40], 5)).confirm()
        assert index.gauges()["documents"] == 2


def test_the_circuit_opens_after_some_failures_and_closes_by_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with running(tmp_path) as server:
        address = Address.parse(server.url())
        with closing(RedisIndex(address, HEADER, server=Server(address, first_pause=0.5))) as index:
            server.kill()
            for _ in range(20):
                with pytest.raises(IndexUnavailable):
                    index.find(documents([1], 9), LOOKUPS)
            assert (index.server.failed, index.server.skipped) == (FAILURES, 20 - FAILURES)
            server.start()  # empty, so the call that tries whether it is back is of a script it does not know
            until(lambda: urls_near(index, 1) == [], IndexUnavailable)
    said = [record.getMessage() for record in caplog.records]
    assert sum("cannot be used" in message for message in said) == 1
    assert sum("in use again" in message for message in said) == 1


@pytest.mark.parametrize("back", [True, False])
def test_closing_an_index_asks_a_server_given_up(tmp_path: Path, back: bool) -> None:
    """It was stopped long enough for the circuit to be open when the index is closed."""
    with (
        running(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server,
        ThreadPoolExecutor(1) as pool,
    ):
        address = Address.parse(server.url())
        index = RedisIndex(
            address, HEADER, server=Server(address, first_pause=1000), close_seconds=30 if back else 1
        )
        kept = [reserve(index, documents([0xFFFF << 16 * number], number)) for number in range(3)]
        server.kill()
        for _ in range(FAILURES + 1):
            with pytest.raises(IndexUnavailable):
                index.find(documents([1], 9), LOOKUPS)
        for each in kept[:2]:
            each.confirm()
        closed = pool.submit(index.close)
        with pytest.raises(StillRuns):
            closed.result(0.5)
        if back:
            server.start()
            closed.result(30)
        else:
            with pytest.raises(IndexUnavailable, match=r"2 documents were not written .*: u0, u1"):
                closed.result(30)
            server.start()
        with closing(open_index(server.url(), None)) as again:
            there = {"documents": 2, "pending": 0} if back else {"documents": 0, "pending": 3}
            assert again.gauges() | there == again.gauges()
        assert index.gauges()["lost"] == (0 if back else 2)


def test_closing_while_the_server_stays_away_ends_and_names_what_is_lost(tmp_path: Path) -> None:
    with running(tmp_path / "redis") as server:
        index = RedisIndex(Address.parse(server.url()), HEADER, close_seconds=0.5)
        kept = reserve(index, documents([1]))
        server.kill()
        kept.confirm()
        started = time.monotonic()
        with pytest.raises(IndexUnavailable, match="u0"):
            index.close()
        assert time.monotonic() - started < 15
        index.close()  # what is closed stays so


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(("lapsed", "window"), [(False, 0), (True, 0), (False, 0.5)])
def test_what_goes_before_its_confirmation_is_answered_is_not_filed_again(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, parts: int, lapsed: bool, window: float
) -> None:
    address = Address.parse(f"{redis_url}&parts={parts}")
    with (
        closing(RedisIndex(address, HEADER, window=window)) as one,
        closing(RedisIndex(address, HEADER, window=window)) as other,
    ):
        held, execute = reserve(one, documents([1])), one.server._execute
        if lapsed:  # so its confirmation files it again
            other.discard([*one.leases.held])

        def without_answer(commands: Sequence[Addressed]) -> list[Any]:
            """Lose what is said to a confirmation that was made, and whatever comes with it."""
            made = [*zip(commands, execute(commands), strict=True)]
            lost = {prefix for (prefix, each), answer in made if "confirm" in each and answer == [1]}
            return [ConnectionError("lost") if prefix in lost else answer for (prefix, _), answer in made]

        monkeypatch.setattr(one.server, "_execute", without_answer)
        held.confirm()
        with pytest.raises(IndexUnavailable, match="lost"):
            one.flush()
        assert urls_near(other, 1) == ["u0"]
        if window:
            for first in (10, 1000):
                time.sleep(2 * window)
                other.add(documents([0xFFFF << 40 | each for each in range(300 * parts)], first))
        else:
            other.discard(other.search(FINGERPRINT, np.array([1], np.uint64)).document.tolist())
        monkeypatch.undo()
        until(lambda: one.flush() is None, IndexUnavailable)
        assert urls_near(other, 1) == []


def test_a_write_that_fails_holds_up_no_others_and_is_named(redis_url: str) -> None:
    index = RedisIndex(Address.parse(redis_url), HEADER, close_seconds=0.5)
    prefix, held = index.address.prefix, []
    for number in range(9):
        held.append(reserve(index, documents([0xFF << 6 * number], number)))
        index.server.call("INCRBY", prefix + b"n", GROUP)
    for number in sorted(index.leases.held)[:7]:
        index.server.call("SET", prefix + b"d%d" % (number // GROUP), "no group")
    for each in held:
        each.confirm()
    with pytest.raises(IndexUnavailable, match="WRONGTYPE"):
        index.flush()
    assert index.server.call("ZCARD", prefix + b"p") == 7
    reserve(index, documents([1 << 63], 20)).release()
    assert urls_near(index, 1 << 63) == []
    with pytest.raises(IndexUnavailable, match=r"7 documents .* u0, u1, u2, u3, u4 and 2 more"):
        index.close()
    assert index.gauges()["lost"] == 7


def test_a_damaged_bucket_fails_only_those_who_file_there(redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index:
        assert isinstance(index, RedisIndex)
        for place in index.store.layout.places(FINGERPRINT, 1, 0, index.store.generations[-1]):
            index.server.call("RPUSH", place.bucket, "no bucket")
        for _ in range(5):  # the circuit stays closed
            with pytest.raises(IndexUnavailable, match="WRONGTYPE"):
                reserve(index, documents([1]))
            assert urls_near(index, 2**64 - 1) == []
