"""Full disk, full map, forks, stopped and killed processes: searches go on, nothing stored is lost."""

from __future__ import annotations

import errno
import logging
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex, open_index
from scrapy_neardup.index.lmdb import compaction
from scrapy_neardup.index.lmdb.commands import check as problems
from scrapy_neardup.index.lmdb.environment import Tuning
from scrapy_neardup.index.lmdb.memtable import Memtable
from scrapy_neardup.index.lmdb.writer import append
from tests.index.conformance import reserve
from torture.children import Child, isolated

from .consistency import check
from .small import HEADER, SMALL, documents, has, numbered, reading_of, store, wait

PAGE = 4096


def test_a_full_disk_keeps_an_index_from_being_opened_and_does_not_kill(tmp_path: Path) -> None:
    full = mock.patch("os.posix_fallocate", side_effect=OSError(errno.ENOSPC, "No space left on device"))
    with full, pytest.raises(IndexUnavailable, match="free space"):
        LmdbIndex(tmp_path, HEADER)
    with closing(LmdbIndex(tmp_path, HEADER)):
        lock = (tmp_path / "lock.mdb").stat()
        assert lock.st_blocks * 512 >= lock.st_size


def reader(path: Path) -> None:
    """Open the index, and search it once."""
    index = LmdbIndex(path, HEADER)
    assert has(index, 1)
    (path / "reads").touch()
    time.sleep(60)


def lock_holder(path: Path) -> None:
    """Open the index, and take its write lock once told to."""

    def work(transaction: object) -> None:
        (path / "holds").touch()
        time.sleep(60)

    index = LmdbIndex(path, HEADER)
    (path / "open").touch()
    wait((path / "go").exists)
    index._environment.write(work)


def on_a_full_disk(path: Path) -> None:
    """Use an index while its file cannot grow, and then can."""
    with closing(LmdbIndex(path, HEADER)) as index:
        store(index, *range(100))
        index.flush()
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (index.gauges()["bytes"] + 4096, hard))
        store(index, *range(100, 3000))
        wait(lambda: index.gauges()["degraded"])
        assert all(has(index, number) for number in range(3000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        wait(lambda: not index.gauges()["degraded"], 60)  # upkeep may wait 30
        assert index.gauges()["forgotten"] == 0


@pytest.mark.slow
def test_full_disk_recovers(tmp_path: Path) -> None:
    """What is said meanwhile: test_writer.py."""
    assert not isolated(lambda: on_a_full_disk(tmp_path)).died
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        check(index)
        assert all(has(index, number) for number in range(3000))


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


def refusals(index: LmdbIndex) -> list[str]:
    """What a child of the process that opened *index* gets of each call."""
    new, answers = documents([5], ["u5"]), []
    for action in (
        lambda: has(index, 1),
        index.flush,
        index.gauges,
        lambda: reserve(index, new),
        lambda: index.add(new),
        lambda: index.discard([1]),
        index.compact,
        reading_of(index).__enter__,
        lambda: open_index(index.path, HEADER),
    ):
        try:
            answers.append(repr(action()))
        except IndexUnavailable as error:  # noqa: PERF203
            answers.append(str(error))
    index.close()
    return answers


def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
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
        said = isolated(lambda: refusals(index)).wrong
        thread.join()
        assert len(said) == 9
        assert all("opened before a fork" in answer for answer in said), said
        # LMDB's table of readers is shared with the child: what it ended there would be ours.
        assert readers() == before
        store(index, 3)
        index.flush()
        assert [has(index, number) for number in (1, 2, 3)] == [True] * 3
        check(index)


def test_a_stopped_process_that_holds_the_write_lock(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    other = Child(partial(lock_holder, tmp_path))
    request.addfinalizer(other.kill)
    wait((tmp_path / "open").exists)
    index = LmdbIndex(tmp_path, HEADER, tuning=Tuning(disk_wait_seconds=0.5, backlog_documents=1998))
    store(index, 1)
    index.flush()
    (tmp_path / "go").touch()
    wait((tmp_path / "holds").exists)
    os.kill(other.pid, signal.SIGSTOP)
    started = time.monotonic()
    store(index, *range(2, 2000))
    assert all(has(index, number) for number in range(1, 2000))
    assert time.monotonic() - started < 15  # it takes 0.1, and the other process stays
    with pytest.raises(IndexUnavailable, match=r"another process holds its lock.*: stop that process"):
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
    with pytest.raises(IndexUnavailable, match=r"\d+ changes .*another process holds its lock.*forgotten"):
        index.close()
    assert time.monotonic() - started < 15  # it waits for half a second
    os.kill(other.pid, signal.SIGKILL)
    index._writer._thread.join(10)
    assert not index._writer._thread.is_alive()


def test_a_file_that_outgrows_its_map(tmp_path: Path) -> None:
    """Refused with the remedy; searches go on, and all does once it is opened with more room."""
    tuning = replace(SMALL, map_bytes=1 << 20)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        stored, told = 0, ""
        while not told:
            try:
                index.add(numbered(range(stored, stored + 10)))
                stored += 10
            except IndexUnavailable as error:  # noqa: PERF203
                told = str(error)
        assert "ulimit -v" in told
        assert stored > 100
        assert has(index, 1)
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        assert has(index, stored - 1)
        store(index, 10**6)
        index.flush()
        assert list(problems(index)) == []


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "idle"])
def test_other_processes_do_not_keep_pages_for_long(tmp_path: Path, killed: bool) -> None:
    """Neither one that was killed with a transaction open, nor one that does nothing."""
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        store(index, 1)
    other = Child(partial(reader, tmp_path))
    wait((tmp_path / "reads").exists)
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        if killed:
            other.kill()
        for batch in range(3):
            for number in range(120):
                store(index, 2 + 120 * batch + number)
                index.flush()
            time.sleep(0 if killed else 1.2)  # it looks twice a second
        if not killed:
            other.kill()
        assert index.gauges()["bytes"] < 1000 * PAGE
        check(index)


def test_removed_before_this_process_could_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While something keeps it at an older view, what the commit sees decides, not what was known before."""
    tuning = replace(SMALL, group_seconds=0.0)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        index.add(documents([1], ["u1"]))
        look = Memtable.look
        monkeypatch.setattr(Memtable, "look", lambda self: None)
        append(index._environment, documents([2, 3], ["u2", "u3"]))  # as another process does
        index.discard([1, 5])
        monkeypatch.setattr(Memtable, "look", look)
        index.flush()
        assert [has(index, number) for number in (1, 2, 3)] == [True, False, True]
        assert index.gauges()["documents"] == 2
        assert list(problems(index)) == []
        index.add(numbered([4, 5, 6]))  # 5 was never given before
        assert has(index, 6)
        assert has(index, 5)


def test_a_commit_whose_number_shows_before_it_can_be_seen_is_not_missed(tmp_path: Path) -> None:
    """LMDB writes the page with the number of a commit first; readers see the commit a moment later."""
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        index.add(documents([1], ["u1"]))
        environment = index._environment
        number = environment.last_commit()
        with mock.patch.object(environment, "last_commit", return_value=number + 1):
            assert index.gauges()["documents"] == 1  # looks while another process is between the two steps
        append(environment, documents([], []), [0])  # as that process does
        assert environment.last_commit() == number + 1
        assert index.gauges()["documents"] == 0


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
