"""Full disk, full map, forks, stopped and killed processes: searches go on, nothing stored is lost."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex, open_index
from scrapy_neardup.index.lmdb import compaction
from scrapy_neardup.index.lmdb.environment import Tuning
from tests.index.conformance import reserve

from .consistency import check
from .flaky import Flaky
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
HASTY = Tuning(group_seconds=0.0, commit_retry_seconds=0.01, upkeep_retry_seconds=0.01, backlog_documents=10)


def store(index: LmdbIndex, *numbers: int) -> None:
    """Reserve and confirm documents u1, u2 ..."""
    for number in numbers:
        new = documents([number], [f"u{number}"])
        reserve(index, new).confirm()


def has(index: LmdbIndex, number: int) -> bool:
    matches = index.search(1, np.array([number], np.uint64))
    return index.fetch(matches.document).urls == [f"u{number}"]


def wait(until: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LmdbIndex]:
    with closing(LmdbIndex(tmp_path / "index", HEADER)) as index:
        yield index


@pytest.fixture
def flaky(monkeypatch: pytest.MonkeyPatch) -> Flaky:
    return Flaky(monkeypatch)


@pytest.fixture
def hasty(tmp_path: Path, flaky: Flaky) -> Iterator[LmdbIndex]:
    """An index that commits at once, tries again soon, and keeps few documents for that."""
    with closing(LmdbIndex(tmp_path / "index", HEADER, tuning=HASTY)) as index:
        yield index


def script(body: str, *arguments: object) -> subprocess.Popen[str]:
    """Run *body* in another process, with the helpers of this module."""
    head = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.index.test_faults import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + body, str(ROOT), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(body: str, *arguments: object) -> str:
    with script(body, *arguments) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output + errors


FULL_DISK = """
import resource
index = LmdbIndex(Path(sys.argv[1]), HEADER)
store(index, *range(100))
index.flush()
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (index.gauges()["bytes"] + 4096, hard))
store(index, *range(100, 3000))
wait(lambda: index.gauges()["degraded"])
store(index, *range(3000, 3100))
assert all(has(index, number) for number in range(3100))
try:
    index.flush()
except IndexUnavailable as error:
    print("flush:", error)
gauges = index.gauges()
assert gauges["degraded"] == 1 and gauges["documents"] == 3100 and gauges["backlog"] > 2000, gauges
"""


@pytest.mark.slow
def test_full_disk_recovers(tmp_path: Path) -> None:
    output = run(
        FULL_DISK
        + """
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
wait(lambda: not index.gauges()["backlog"])
gauges = index.gauges()
assert gauges["degraded"] == 0 and gauges["forgotten"] == 0, gauges
index.flush()
check(index)
index.close()
""",
        tmp_path,
    )
    assert "changes cannot be written" in output
    assert output.count("cannot be written to the index") == 1
    assert output.count("the crawl goes on") == 1  # logged once, by the handler of last resort
    assert "Traceback" not in output
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        check(index)
        assert index.gauges()["documents"] == 3100
        assert all(has(index, number) for number in range(3100))


@pytest.mark.slow
def test_a_disk_that_is_freed_while_an_index_is_closed(tmp_path: Path) -> None:
    run(
        FULL_DISK
        + """
import threading
closing = threading.Thread(target=index.close)
closing.start()
closing.join(1)
assert closing.is_alive()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
closing.join(30)
assert not closing.is_alive()
""",
        tmp_path,
    )
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        assert index.gauges()["documents"] == 3100


def test_maintenance_that_fails_is_reported_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tuning = replace(SMALL, group_seconds=0.0, commit_retry_seconds=0.01, upkeep_retry_seconds=0.05)
    flush, calls = compaction._flush, []

    def fail(*arguments: Any) -> Iterator[None]:
        calls.append(arguments)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compaction, "_flush", fail)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        for start in range(0, 100, 10):
            store(index, *range(start, start + 10))
            index.flush()
        wait(lambda: len(calls) > 2)
        assert index.gauges()["degraded"] == 1
        assert all(has(index, number) for number in range(100))
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert "cannot be maintained" in caplog.text
        monkeypatch.setattr(compaction, "_flush", flush)
        wait(lambda: index.gauges()["runs"] and not index.gauges()["degraded"])
        check(index)


def test_a_commit_that_fails_while_its_documents_are_removed(hasty: LmdbIndex, flaky: Flaky) -> None:
    index = hasty
    started, go_on = threading.Event(), threading.Event()

    def fail(call: str) -> None:
        if call == "put":
            started.set()
            go_on.wait(5)
            raise OSError(28, "No space left on device")

    flaky.hook = fail
    store(index, 1, 2)
    assert started.wait(5)
    index.discard(index.search(1, np.array([1], np.uint64)).document.tolist())
    assert not has(index, 1)
    go_on.set()
    wait(lambda: index.gauges()["degraded"])
    assert not has(index, 1)
    assert has(index, 2)
    flaky.hook = None
    index.flush()
    assert [has(index, number) for number in (1, 2)] == [False, True]
    check(index)


def test_a_document_removed_during_its_commit(hasty: LmdbIndex, tmp_path: Path, flaky: Flaky) -> None:
    index = hasty
    started, go_on = threading.Event(), threading.Event()

    def slow(call: str) -> None:
        if call == "put":
            started.set()
            go_on.wait(5)

    flaky.hook = slow
    store(index, 1, 2)
    assert started.wait(5)
    index.discard(index.search(1, np.array([1], np.uint64)).document.tolist())
    assert not has(index, 1)
    go_on.set()
    index.flush()
    assert [has(index, number) for number in (1, 2)] == [False, True]
    assert index.gauges()["documents"] == 1
    index.close()
    with closing(LmdbIndex(tmp_path / "index", HEADER)) as again:
        check(again)
        assert [has(again, number) for number in (1, 2)] == [False, True]


# Fork


def in_child(index: LmdbIndex, answers: Any) -> None:
    new = documents([5], ["u5"])
    for action in (
        lambda: has(index, 1),
        index.flush,
        index.gauges,
        lambda: reserve(index, new),
        lambda: index.add(new),
        lambda: index.discard([1]),
        index.compact,
        index.reading().__enter__,
        lambda: open_index(index.path, HEADER),
    ):
        try:
            answers.put(repr(action()))
        except IndexUnavailable as error:  # noqa: PERF203
            answers.put(str(error))
    index.close()
    answers.put("closed")


def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    with closing(open_index(tmp_path, HEADER)) as index:
        store(index, 1)
        index.flush()
        store(index, 2)
        assert has(index, 1)

        def readers() -> list[list[str]]:  # process and thread of each; the transaction changes with a flush
            return [line.split()[:2] for line in index._environment.env.readers().splitlines()]

        before = readers()
        locked, release = threading.Event(), threading.Event()

        def hold() -> None:  # at the moment of the fork
            with index.lock:
                locked.set()
                release.wait(0.3)

        thread = threading.Thread(target=hold)
        thread.start()
        assert locked.wait(5)
        child = context.Process(target=in_child, args=(index, answers))
        child.start()
        said = [answers.get(timeout=10) for _ in range(10)]
        child.join(10)
        thread.join()
        assert child.exitcode == 0
        assert said.pop() == "closed"
        assert all("opened before a fork" in answer for answer in said), said
        # LMDB's table of readers is shared with the child: what it ended there would be ours.
        assert readers() == before
        store(index, 3)
        index.flush()
        assert [has(index, number) for number in (1, 2, 3)] == [True] * 3
        check(index)


# The map


# Other processes


STOPPED = """
index = LmdbIndex(Path(sys.argv[1]), HEADER)
def work(transaction):
    print("holds", flush=True)
    time.sleep(60)
index._environment.write(work)
"""


def test_a_stopped_process_that_holds_the_write_lock(tmp_path: Path) -> None:
    index = LmdbIndex(tmp_path, HEADER, tuning=Tuning(disk_wait_seconds=0.5, backlog_documents=1998))
    store(index, 1)
    index.flush()
    with script(STOPPED, tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "holds\n"
        other.send_signal(signal.SIGSTOP)
        try:
            started = time.monotonic()
            store(index, *range(2, 2000))
            assert all(has(index, number) for number in range(1, 2000))
            assert time.monotonic() - started < 15  # it takes 0.1, and the other process stays
            with pytest.raises(
                IndexUnavailable, match=r"another process holds its lock.*: stop that process"
            ):
                index.flush()
            gauges = index.gauges()
            assert gauges["backlog"] == 1998
            assert gauges["degraded"] == 1
            store(index, *range(2000, 3500))
            assert has(index, 2)  # on its way to the disk
            gone = [number for number in range(1, 3500) if not has(index, number)]
            assert len(gone) == index.gauges()["forgotten"] > 0
            assert index.gauges()["backlog"] == 3498 - len(gone)
            assert gone == list(range(gone[0], gone[-1] + 1))
            assert gone[0] < 1500
            assert has(index, 3499)
            started = time.monotonic()
            with pytest.raises(
                IndexUnavailable, match=r"\d+ changes .*another process holds its lock.*forgotten"
            ):
                index.close()
            assert time.monotonic() - started < 15  # it waits for half a second
        finally:
            other.kill()
    index._writer._thread.join(10)
    assert not index._writer._thread.is_alive()


OPENING = """
import os
def child(which):
    for round_ in range(15):
        with closing(LmdbIndex(Path(sys.argv[1]) / str(round_ // 5), HEADER)) as index:
            index.add(documents([1], [f"u{100 * which + round_}"]))
    return 0
children = []
for which in range(10):
    children.append(os.fork())
    if not children[-1]:
        try:
            os._exit(child(which))
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
assert not any(os.waitpid(number, 0)[1] for number in children)
"""


@pytest.mark.slow
def test_many_processes_that_make_open_and_close_at_once(tmp_path: Path) -> None:
    assert run(OPENING, tmp_path) == ""
    for name in "012":
        with closing(LmdbIndex(tmp_path / name, HEADER)) as index:
            assert index.gauges()["documents"] == 50
            check(index)


# Use


def test_the_same_path_is_one_index(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "index")
    one = open_index(tmp_path / "index", HEADER)
    two = open_index(tmp_path / "link", HEADER)
    assert one is two
    store(one, 1)
    one.close()
    store(two, 2)
    assert has(two, 1)
    two.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        has(two, 1)
    with closing(open_index(tmp_path / "index", HEADER)) as again:
        assert again is not one
        assert has(again, 1)
        assert has(again, 2)


def test_scratch_indexes_are_apart_and_leave_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, two = open_index(None, HEADER), open_index(None, HEADER)
    store(one, 1)
    one.flush()
    assert has(one, 1)
    assert not has(two, 1)
    assert list(tmp_path.iterdir()) == []  # nor would they if the process ended now
    one.close()
    two.close()
    assert list(tmp_path.iterdir()) == []
