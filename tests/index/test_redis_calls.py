"""What was settled goes along with what is asked; each call has its own answer or fault."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import open_index
from tests.index.conformance import FINGERPRINT, HEADER, LOOKUPS, documents, urls_near

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import RedisIndex
from scrapy_neardup.index.redis.scripts import Call
from scrapy_neardup.index.redis.store import GROUP_SECONDS, Calls, Write
from tests.index.redis_server import until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


pytestmark = pytest.mark.slow

THREADS = 8


class FakeServer:
    """Answers each call with its name, and may fail or want more written.

    Calls named ``fail`` fail; what has to be written after others stands in *following*.
    """

    def __init__(self) -> None:
        self.rounds: list[list[Any]] = []
        self.is_away = False
        self.following: dict[str, Write] = {}
        self.calls = Calls(self.send, lambda write, _: self.following.pop(write.call.step, None), waiting=10)

    def send(self, calls: Sequence[Call], anyway: bool) -> list[Any]:
        self.rounds.append([call.step for call in calls])
        if self.is_away:
            return [IndexUnavailable("away")] * len(calls)
        return [IndexUnavailable("full") if call.step == "fail" else call.step for call in calls]

    def ask(self, step: str, *, reads: bool = False) -> Any:
        return self.calls.run(Call(step, (), ()), reads=reads)

    def settle(self, *steps: str) -> None:
        self.calls.settle([write(step) for step in steps])


def write(step: str) -> Write:
    return Write(Call(step, (), ()), documents([1], int(step) if step.isdecimal() else 0))


def test_the_error_of_a_call_is_raised_and_the_next_goes_on() -> None:
    server = FakeServer()
    server.is_away = True
    with pytest.raises(IndexUnavailable, match="away"):
        server.ask("1")
    server.is_away = False
    assert server.ask("5") == "5"
    with pytest.raises(IndexUnavailable, match="full"):
        server.ask("fail")


def test_a_write_that_fails_holds_up_neither_others_nor_what_is_read() -> None:
    server = FakeServer()
    server.settle("fail", "small")
    assert server.ask("look", reads=True) == "look"
    assert (server.rounds, server.calls.backlog) == ([["fail", "small", "look"]], 1)
    with pytest.raises(IndexUnavailable, match="full"):
        server.calls.drain()


def test_what_is_read_sees_what_had_to_be_written_because_of_a_write() -> None:
    server = FakeServer()
    server.following["confirm"] = write("file")
    server.settle("confirm")
    assert server.ask("look", reads=True) == "look"
    assert server.rounds == [["confirm", "look"], ["file", "look"]]
    server.following["confirm"] = write("file")
    server.settle("confirm")
    assert server.ask("change") == "change"  # which is not made twice
    assert server.rounds[2:] == [["confirm", "change"]]
    server.calls.close(30)


def test_what_was_settled_goes_along_with_what_is_read_or_is_written_soon() -> None:
    server = FakeServer()
    start = time.monotonic()
    for _ in range(300):
        server.settle("settle")
        server.ask("look", reads=True)
    alone = server.rounds.count(["settle"])
    assert alone <= 1 + 3 * (time.monotonic() - start) / GROUP_SECONDS
    server.settle("settle")
    until(lambda: not server.calls.backlog)
    server.calls.close(30)


def test_no_more_than_some_writes_wait_for_a_server() -> None:
    server = FakeServer()
    server.is_away = True
    server.settle(*map(str, range(25)))
    assert (server.calls.backlog, server.calls.lost) == (10, 15)
    server.is_away = False
    server.calls.close(30)
    assert server.rounds[-1] == [str(each) for each in range(15, 25)]


def test_closing_tries_for_some_time_and_names_what_is_not_written() -> None:
    server = FakeServer()
    server.settle("fail", "0", *map(str, range(2, 8)))
    with pytest.raises(IndexUnavailable, match=r"1 documents were not written .* pass: u0. full"):
        server.calls.close(0.5)
    assert (server.calls.lost, server.calls.backlog) == (1, 0)
    assert sum("fail" in each for each in server.rounds) > 2
    server = FakeServer()
    server.is_away = True
    server.settle(*map(str, range(7)))
    with pytest.raises(IndexUnavailable, match=r"7 documents .* pass: u0, u1, u2, u3, u4 and 2 more. away"):
        server.calls.close(0.2)
    assert server.calls.lost == 7


def test_closing_does_not_wait_for_what_lapses_by_itself() -> None:
    server = FakeServer()
    server.is_away = True
    server.calls.settle([Write(Call("remove", (), ()))])
    server.calls.close(1000)
    assert server.calls.lost == 0


def test_a_damaged_bucket_fails_only_those_who_read_it(redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index:
        assert isinstance(index, RedisIndex)
        for place in index.store.layout.key_places(FINGERPRINT, 1, index.store.generations[-1]):
            index.server.call("RPUSH", place.bucket, "no bucket")
        barrier = threading.Barrier(THREADS)

        def find(number: int) -> bool:
            like = documents([1 if number % 2 else 0xFFFF_FFFF_FFFF_FFFF], number)
            barrier.wait(30)
            try:
                for _ in range(20):
                    index.find(like, LOOKUPS)
            except IndexUnavailable as error:
                return "WRONGTYPE" in str(error)
            return False

        with ThreadPoolExecutor(THREADS) as pool:
            assert list(pool.map(find, range(THREADS))) == [bool(number % 2) for number in range(THREADS)]
        assert urls_near(index, 0xFFFF_FFFF_FFFF_FFFF) == []
