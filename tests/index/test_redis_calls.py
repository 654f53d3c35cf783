"""Threads share round trips: each has its own answer or fault, and of copies in one round one is kept."""

from __future__ import annotations

import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import open_index
from scrapy_neardup.index.conformance import HEADER, LOOKUPS, documents
from scrapy_neardup.index.conformance.leases import urls_near
from scrapy_neardup.index.conformance.sample import FINGERPRINT
from scrapy_neardup.index.protocol import Filing

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import RedisIndex
from scrapy_neardup.index.redis.calls import Calls
from scrapy_neardup.index.redis.layout import epoch_of
from scrapy_neardup.index.redis.rounds import Rounds
from scrapy_neardup.index.redis.scripts import Call
from scrapy_neardup.index.redis.settling import Write
from tests.index.redis_server import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from scrapy_neardup.index.protocol import Found

pytestmark = pytest.mark.slow

THREADS = 8


class HeldAnswers:
    """Answers each request with its double, but holds the first round until it may end."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []
        self.may_end = threading.Event()

    def __call__(self, requests: list[int]) -> Sequence[int]:
        self.rounds.append(requests)
        assert self.may_end.wait(30)
        if -1 in requests:
            raise IndexUnavailable("away")
        return [2 * request for request in requests]


@contextmanager
def asked_at_once(answers: HeldAnswers, rounds: Rounds[int, int], *later: int) -> Iterator[list[Any]]:
    """Ask 0, and *later* while that is under way; yield the futures of all."""
    with ThreadPoolExecutor(1 + len(later)) as pool:
        try:
            futures = [pool.submit(rounds.ask, 0)]
            until(lambda: answers.rounds == [[0]])
            futures += [pool.submit(rounds.ask, each) for each in later]
            until(lambda: len(rounds._waiting) == len(later))  # which nobody else needs to know
            yield futures
        finally:
            answers.may_end.set()


def test_what_is_asked_while_a_round_is_under_way_is_the_next_round() -> None:
    answers = HeldAnswers()
    rounds: Rounds[int, int] = Rounds(answers)
    with asked_at_once(answers, rounds, *range(1, THREADS)) as futures:
        answers.may_end.set()
        assert [future.result(30) for future in futures] == [2 * each for each in range(THREADS)]
    assert [sorted(each) for each in answers.rounds] == [[0], [*range(1, THREADS)]]
    assert rounds.ask(THREADS) == 2 * THREADS


def test_the_error_of_a_round_is_that_of_each_and_the_next_goes_on() -> None:
    answers = HeldAnswers()
    rounds: Rounds[int, int] = Rounds(answers)
    with asked_at_once(answers, rounds, -1, 1, 2) as futures:
        answers.may_end.set()
        assert futures[0].result(30) == 0
        errors = [future.exception(30) for future in futures[1:]]
    assert [str(error) for error in errors] == ["away"] * 3
    assert len({id(error) for error in errors}) == 3
    assert rounds.ask(5) == 10


def test_nobody_waits_for_a_thread_that_was_interrupted() -> None:
    answers = HeldAnswers()
    rounds: Rounds[int, int] = Rounds(answers)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with asked_at_once(answers, rounds):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                rounds.ask(1)
            answers.may_end.set()
            assert rounds.ask(2) == 4
    finally:
        signal.signal(signal.SIGALRM, before)
    assert answers.rounds == [[0], [2]]


def test_a_write_that_fails_holds_up_neither_others_nor_what_is_read() -> None:
    made: list[str] = []
    full = [True]

    def send(calls: Sequence[Call]) -> list[Any]:
        made.extend(call.step for call in calls)
        return [IndexUnavailable("full") if call.step == "large" and full[0] else 1 for call in calls]

    calls = Calls(send)
    calls.settling.put([Write(Call(step, (), ())) for step in ("large", "small")])
    assert calls.read(Call("look", (), ())) == 1
    assert made[:3] == ["large", "small", "look"]
    assert len(calls.settling) == 1
    with pytest.raises(IndexUnavailable, match="full"):
        calls.drain()
    full[0] = False
    calls.close()
    assert (made.count("small"), made[-1], len(calls.settling), calls.settling.lost) == (1, "large", 0, 0)


def test_what_is_read_sees_what_had_to_be_written_because_of_a_write() -> None:
    made: list[str] = []

    def send(calls: Sequence[Call]) -> list[int]:
        made.extend(call.step for call in calls)
        return [len(made)] * len(calls)

    calls = Calls(send)
    calls.settling.put([Write(Call("confirm", (), ()), lambda _: [Write(Call("file", (), ()))])])
    assert calls.read(Call("look", (), ())) == 4
    assert made == ["confirm", "look", "file", "look"]
    calls.close()


def test_of_copies_that_threads_file_at_the_same_moment_one_is_kept(redis_url: str) -> None:
    turns, kept = 100, [0] * 100
    barrier = threading.Barrier(THREADS)

    with closing(open_index(redis_url, HEADER)) as index:

        def file(own: int) -> None:
            for turn in range(turns):
                base = random.Random(turn).getrandbits(64)
                document = documents([base ^ 1 << own], THREADS * turn + own)

                def decide(found: Found, document=document) -> Filing | None:  # type: ignore[no-untyped-def]
                    return None if len(found.documents) else Filing(document)

                barrier.wait(30)
                reservation = index.reserve_if(document, LOOKUPS, decide)
                if reservation is not None:
                    kept[turn] += 1
                    reservation.confirm()

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(file, range(THREADS)))
        index.flush()
        assert index.gauges()["documents"] == turns
    assert kept == [1] * turns


def test_a_damaged_bucket_fails_only_those_who_read_it(redis_url: str) -> None:
    with closing(open_index(redis_url, HEADER)) as index:
        assert isinstance(index, RedisIndex)
        epoch = epoch_of(int(index.server.call("GET", index.address.prefix + b"n")) + 1)
        for place in index.layout.key_places(FINGERPRINT, 1, epoch):
            older = place.bucket.replace(b"}:b", b"}:a", 1)
            index.server.call("RPUSH", older, "no bucket")
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
