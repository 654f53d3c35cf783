"""A pending document of another process is waited for no longer than its holder lives.

The store may be out of reach.
"""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.index import MemoryIndex
from scrapy_neardup.index.conformance import HEADER, LOOKUPS, SharedIndexConformance, documents, reserve
from scrapy_neardup.index.leases import Lease, LeasedDocument, Leases
from tests.index.sqlite_index import SqliteIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_neardup.index import Index
    from scrapy_neardup.index.protocol import Pending


class TestSqlite(SharedIndexConformance):
    @pytest.fixture(autouse=True)
    def directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "index.sqlite"

    def open(self) -> Index:
        return SqliteIndex(self.path, HEADER)

    def reopen(self, index: Index) -> Index:
        index.close()
        return SqliteIndex(self.path, HEADER)

    def open_two(self, lease_seconds: float) -> tuple[Index, Index]:
        return SqliteIndex(self.path, HEADER, lease_seconds), SqliteIndex(self.path, HEADER, lease_seconds)

    def kill(self, index: Index) -> None:
        assert isinstance(index, SqliteIndex)
        index.leases.close()


HOLDER = """
import sys
from pathlib import Path
from scrapy_neardup.index.conformance import HEADER, documents, reserve
from tests.index.sqlite_index import SqliteIndex
index = SqliteIndex(Path(sys.argv[1]), HEADER, lease_seconds=1.5)
reservations = {"0": reserve(index, documents([1])), "1": reserve(index, documents([0xFFFF << 40], 1))}
print("ready", flush=True)
for line in sys.stdin:
    reservations[line.strip()].confirm()
"""


def settled(handle: Pending) -> bool | None:
    done = threading.Event()
    handle.add_done_callback(lambda each: done.set())
    assert done.wait(30)
    return handle.confirmed


def test_a_page_pending_in_another_process_is_settled_by_it_or_by_its_death(tmp_path: Path) -> None:
    path, root = tmp_path / "index.sqlite", Path(__file__).parents[2]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    try:
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == "ready\n"
        with closing(SqliteIndex(path, HEADER)) as index:
            (kept,) = index.find(documents([1], 9), LOOKUPS).pending
            (lost,) = index.find(documents([0xFFFF << 40], 9), LOOKUPS).pending
            assert kept is not None
            assert lost is not None
            holder.stdin.write("0\n")
            holder.stdin.flush()
            assert settled(kept) is True
            assert lost.poll() is None
            holder.kill()
            assert settled(lost) is False
            assert len(index.find(documents([0xFFFF << 40], 9), LOOKUPS).documents) == 0
    finally:
        holder.kill()
        holder.communicate()


def unanswering(numbers: Sequence[int]) -> list[Lease]:
    raise ConnectionError("refused")


def of_store(
    ask: Callable[[Sequence[int]], Sequence[Lease]], seconds: float
) -> tuple[Leases, LeasedDocument]:
    leases = Leases(1.0, lambda numbers: None, ask, poll_seconds=0.01)
    return leases, leases.watch("u0", 0, Lease(None, seconds))


def test_a_lease_ends_by_the_clock_here_while_the_store_does_not_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leases, handle = of_store(unanswering, 0.3)
    with closing(leases):
        assert handle.poll() is None
        assert settled(handle) is False
    (message,) = [record.getMessage() for record in caplog.records]  # once, however often it was tried
    assert "does not answer for pending documents (refused)" in message


def test_a_store_that_answers_again_has_the_last_word() -> None:
    answers = iter([ConnectionError("refused"), ConnectionError("refused"), Lease(None, 60.0), Lease(True)])

    def ask(numbers: Sequence[int]) -> list[Lease]:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return [answer for _ in numbers]

    leases, handle = of_store(ask, 60.0)
    with closing(leases):
        assert settled(handle) is True


def test_the_store_is_asked_once_for_what_many_wait_for() -> None:
    asked: list[list[int]] = []

    def ask(numbers: Sequence[int]) -> list[Lease]:
        asked.append([*numbers])
        return [Lease(True) if number else Lease(None, 60.0) for number in numbers]

    leases = Leases(60.0, lambda numbers: None, ask, poll_seconds=60.0)
    with closing(leases):
        handles = [leases.watch(f"u{number}", number, Lease(None, 60.0)) for number in (5, 0, 5, 0, 7)]
        leases.ask(handles)
    assert asked == [[5, 0, 7]]
    assert [handle.confirmed for handle in handles] == [True, None, True, None, True]


def test_renewing_goes_on_after_it_has_failed_and_ends_with_the_last_document() -> None:
    renewed: list[list[int]] = []
    often = threading.Event()

    def renew(numbers: Sequence[int]) -> None:
        renewed.append(sorted(numbers))
        if len(renewed) == 1:
            raise ConnectionError("refused")
        if len(renewed) == 3:
            often.set()

    leases = Leases(0.1, renew, unanswering)
    with closing(leases):
        leases.hold(1)
        leases.hold(2)
        assert often.wait(30)
        leases.drop(1)
        leases.drop(2)
        time.sleep(0.1)
        before = len(renewed)
        time.sleep(0.2)
        assert len(renewed) == before
    assert renewed[0] == [1, 2]


def test_who_holds_a_document_in_this_process_holds_it_while_the_process_lives() -> None:
    reservation = reserve(MemoryIndex(HEADER), documents([1]))
    assert reservation.holds_until == math.inf
    assert reservation.poll() is None
    reservation.release()
    assert reservation.poll() is False


def test_without_anything_to_do_there_is_no_thread() -> None:
    before = threading.active_count()
    with closing(Leases(1.0, unanswering, unanswering)):
        assert threading.active_count() == before
