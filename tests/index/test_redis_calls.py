"""What was settled goes along with what is asked; each call has its own answer or fault."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import open_index
from tests.index.conformance import FINGERPRINT, HEADER, documents, urls_near

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address, RedisIndex
from scrapy_neardup.index.redis.scripts import Call
from scrapy_neardup.index.redis.store import Store, Write

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow


class FakeStore(Store):
    """Its server answers each call with 1, ``gone`` with 0 and ``fail`` with an error."""

    def __init__(self) -> None:
        server: Any = SimpleNamespace(address=Address.parse("redis://h/0"), call=lambda *_: b"7:0")
        super().__init__(server, HEADER, 0)
        self.rounds: list[list[str]] = []
        self.is_away = False

    def _send(self, calls: Sequence[Call]) -> list[Any]:
        self.rounds.append([call.step for call in calls])
        if self.is_away:
            raise IndexUnavailable("away")
        return [IndexUnavailable("full") if call.step == "fail" else call.step != "gone" for call in calls]

    def keep(self, *steps: str) -> None:
        self.settle(*(Write(step(name), documents([1], number)) for number, name in enumerate(steps)))


def step(name: str) -> Call:
    return Call(name, (), ())


def test_a_write_that_fails_holds_up_neither_others_nor_what_is_read() -> None:
    store = FakeStore()
    store.keep("fail", "small")
    assert store.run(step("look"), reads=True) == [1]
    assert (store.rounds, len(store.settled)) == ([["fail", "small", "look"]], 1)
    with pytest.raises(IndexUnavailable, match="full"):
        store.drain()


def test_what_is_read_sees_what_had_to_be_written_because_of_a_write() -> None:
    store = FakeStore()
    store.keep("gone")
    assert store.run(step("look"), reads=True) == [1]
    assert store.rounds == [["gone", "look"], ["file", "look"]]
    store.keep("gone")
    assert store.run(step("change")) == [1]  # which is not made twice
    assert store.rounds[2:] == [["gone", "change"]]
    store.close(30)
    assert (store.rounds[3:], store.settled) == ([["file"]], [])


@pytest.mark.parametrize("is_away", [True, False])
def test_closing_tries_for_some_time_and_names_what_is_not_written(is_away: bool) -> None:
    store = FakeStore()
    store.is_away = is_away
    store.keep(*("fail" if number in (0, 2) else "small" for number in range(7)))
    left = "7 documents .* u0, u1, u2, u3, u4 and 2 more. away" if is_away else "2 documents .* u0, u2. full"
    with pytest.raises(IndexUnavailable, match=left):
        store.close(0.5)
    assert (store.lost, store.settled) == (7 if is_away else 2, [])
    assert sum("fail" in each for each in store.rounds) > 2


def test_closing_does_not_wait_for_what_lapses_by_itself() -> None:
    store = FakeStore()
    store.is_away = True
    store.settle(Write(step("remove")))
    store.close(1000)
    assert store.lost == 0


def test_a_damaged_bucket_fails_only_those_who_read_it(redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index:
        assert isinstance(index, RedisIndex)
        for place in index.store.layout.places(FINGERPRINT, 1, 0, index.store.generations[-1]):
            index.server.call("RPUSH", place.bucket, "no bucket")
        for _ in range(5):  # the circuit stays closed
            with pytest.raises(IndexUnavailable, match="WRONGTYPE"):
                urls_near(index, 1)
            assert urls_near(index, 2**64 - 1) == []
