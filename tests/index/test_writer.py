"""When the thread of an index commits, when it maintains, what it says about what fails."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import lmdb
import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex

from .consistency import check
from .flaky import Flaky
from .small import HEADER, SMALL, documents, has, reading_of, store, wait

#: Nothing is due by the time that has passed.
PATIENT = replace(SMALL, group_seconds=60.0)
#: Long enough for a thread to do what it should not.
A_WHILE = 0.2


def commits(index: LmdbIndex) -> int:
    return index.gauges()["commits"]


def test_a_full_group_is_committed_at_once_and_a_smaller_one_in_time(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=PATIENT)) as index:
        store(index, 1, 2, 3)
        time.sleep(A_WHILE)
        assert (commits(index), index.gauges()["backlog"]) == (0, 3)
        store(index, 4)
        wait(lambda: index.gauges()["backlog"] == 0)
        assert commits(index) == 1
        store(index, *range(5, 14))
        wait(lambda: index.gauges()["backlog"] < 4)
        index.flush()
        assert index.gauges()["backlog"] == 0
        done = commits(index)
        index.flush()
        assert commits(index) == done
    with closing(LmdbIndex(tmp_path, HEADER, tuning=replace(SMALL, group_seconds=0.1))) as index:
        store(index, 14)
        wait(lambda: index.gauges()["backlog"] == 0)
        assert commits(index) == 1
        assert not index.gauges()["degraded"]


def test_a_removal_alone_is_committed_in_time(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=replace(SMALL, group_seconds=0.1))) as index:
        index.add(documents([1], ["u1"]))
        index.discard([0])
        wait(lambda: commits(index) == 1)
        with reading_of(index) as reader:
            assert reader.dead.between(0, 1).tolist() == [True]


def test_a_long_log_is_flushed(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=PATIENT)) as index:
        store(index, *range(15))
        index.flush()
        time.sleep(A_WHILE)
        assert index.gauges()["runs"] == 0
        store(index, 15)
        index.flush()
        wait(lambda: index.gauges()["runs"] == 1)
        check(index)


FULL = lmdb.DiskError("full")


def test_a_flush_that_fails_says_how_much_waits_and_what_can_be_done(
    tmp_path: Path, flaky: Flaky, caplog: pytest.LogCaptureFixture
) -> None:
    tuning = replace(PATIENT, commit_retry_seconds=60.0)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        index.add(documents([50], ["u50"]))
        store(index, 1, 2)
        index.discard([0])
        flaky.always(FULL, "put")
        for tries in (1, 2):  # each flush tries at once, however long the next try by itself is away
            with pytest.raises(
                IndexUnavailable,
                match=r"3 changes cannot be written .*\(full\); until they can.*: free space on its disk",
            ) as raised:
                index.flush()
            assert isinstance(raised.value.__cause__, lmdb.DiskError)
            gauges = index.gauges()
            assert (gauges["commit_errors"], gauges["degraded"], gauges["commits"]) == (tries, 1, 0)
            assert (gauges["documents"], gauges["forgotten"]) == (2, 0)
            assert [has(index, number) for number in (1, 2, 50)] == [True, True, False]
        (said,) = caplog.records  # once, without a traceback
        assert ("the crawl goes on" in said.getMessage(), bool(said.exc_info)) == (True, False)
        flaky.hook = None
        index.flush()
        gauges = index.gauges()
        assert (gauges["commit_errors"], gauges["degraded"], gauges["commits"]) == (2, 0, 1)


@pytest.mark.parametrize("comes_back", [True, False])
def test_closing_tries_again_and_says_what_is_lost(tmp_path: Path, flaky: Flaky, comes_back: bool) -> None:
    tuning = replace(PATIENT, closing_seconds=30.0 if comes_back else 1.0, commit_retry_seconds=0.05)
    index = LmdbIndex(tmp_path, HEADER, tuning=tuning)
    store(index, 1, 2)
    flaky.always(FULL, "put")
    with ThreadPoolExecutor(1) as pool:
        closed = pool.submit(index.close)
        if comes_back:
            wait(lambda: index._writer.counts["commit_errors"] > 2)
            flaky.hook = None
            closed.result(30)
            with closing(LmdbIndex(tmp_path, HEADER)) as again:
                assert again.gauges()["documents"] == 2
        else:
            with pytest.raises(IndexUnavailable, match=r"2 changes .*\(full\) and are forgotten: .* u1, u2"):
                closed.result(30)
            assert index._writer.counts["commit_errors"] > 2
            index.close()
