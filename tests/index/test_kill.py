"""kill -9 at any moment: the index opens, is consistent, and lacks at most the last second."""

from __future__ import annotations

import os
import random
import signal
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import opened
from scrapy_neardup.index.lmdb.layout import key_run
from scrapy_neardup.index.lmdb.snapshot import reading
from torture.children import Child
from torture.exercise import Round
from torture.kills import index as kills

from .adder import add
from .consistency import check
from .small import HEADER, SMALL, wait

pytestmark = pytest.mark.slow


def runs(path: Path) -> tuple[set[int], set[int]]:
    """Return the numbers of the runs of which something is stored, and of those that the state names."""
    with (
        opened(path) as (environment, header),
        reading(environment, header) as reader,
        environment.read() as transaction,
        transaction.cursor(environment.databases["runs"]) as cursor,
    ):
        return {key_run(key) for key in cursor.iternext(values=False)}, {run.id for run in reader.state.runs}


def test_killed_at_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One index, opened again after each kill, and several processes at once."""
    monkeypatch.setattr(kills, "BUDGET", 10.0)
    outcome = Round()
    kills.writers(random.Random(1), tmp_path, outcome)
    assert outcome.violations == []
    assert outcome.counts["kills of writers"] > 5
    for path in tmp_path.glob("index*"):
        with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
            check(index)
            index.compact()  # flushing, merging and sweeping what was left half done
            check(index)
        stored, named = runs(path)
        assert stored <= named


def wait_for(what: str, log: Path) -> None:
    wait(lambda: log.exists() and f" {what} " in log.read_text())


def test_killed_during_a_merge_the_other_goes_on_and_sweeps(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path, logs = tmp_path / "index", [tmp_path / "log0", tmp_path / "log1"]
    slow = Child(partial(add, path, 0, logs[0], slow_merge=True))
    request.addfinalizer(slow.kill)
    wait_for("merging", logs[0])
    other = Child(partial(add, path, 1_000_000, logs[1]))
    request.addfinalizer(other.kill)
    wait_for("flushed", logs[1])  # it cannot merge meanwhile, but adds
    stored, named = runs(path)
    (orphaned,) = stored - named
    os.kill(slow.pid, signal.SIGKILL)
    wait(lambda: orphaned not in runs(path)[0])
    os.kill(other.pid, signal.SIGTERM)
    wait_for("closed", logs[1])
    stored, named = runs(path)
    assert orphaned not in stored | named
    assert len(named) <= 8
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        check(index)
        assert not kills.missing(index, {number for log in logs for number in kills.promised(log)})
