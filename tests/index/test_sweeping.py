"""What no state names is deleted, a little at a time, and nothing else; runs too old go as a whole."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.compaction import maintain
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import State, number_key, partition_key, read_state

from .consistency import check
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIME = 1_700_000_000
#: Nothing is flushed or merged unless a test does it.
TUNING = replace(SMALL, flush_documents=1 << 20, load_documents=40)


def fill(path: Path) -> None:
    """Runs of 160, 40 and 16 documents, each later than the one before, and a log."""
    loading = replace(SMALL, load_documents=160, flush_documents=16)
    with closing(LmdbIndex(path, HEADER, tuning=loading)) as index:
        for start, stop in ((0, 160), (160, 200), (200, 216), (216, 220)):
            numbers = range(start, stop)
            some = documents([n * 7919 for n in numbers], [f"u{n}" for n in numbers])
            some.records["time"] = [TIME + n for n in numbers]
            index.add(some)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    fill(tmp_path)
    with closing(Environment(tmp_path, TUNING)) as environment:
        assert [(run.start, run.stop) for run in state(environment).runs] == [
            (0, 160),
            (160, 200),
            (200, 216),
        ]
        yield environment


def state(environment: Environment) -> State:
    with environment.read() as transaction:
        return read_state(environment, transaction)


def values(environment: Environment) -> dict[str, dict[bytes, bytes]]:
    with environment.read() as transaction:
        return {
            name: {bytes(key): bytes(value) for key, value in transaction.cursor(environment.databases[name])}
            for name in ("log", "documents", "runs")
        }


def expire(environment: Environment, expires: int) -> list[tuple[int, int]]:
    for _ in maintain(environment, HEADER, expires):
        pass
    return [(run.start, run.stop) for run in state(environment).runs]


def test_what_unfinished_runs_have_left_is_deleted(environment: Environment) -> None:
    expire(environment, TIME + 160)  # so that there are numbers before the first run
    before = values(environment)
    runs, flushed = state(environment).runs, state(environment).flushed
    left = {
        **{
            ("runs", partition_key(run, table, partition)): bytes(100)
            for run in (runs[0].id - 1, runs[-1].id + 1, runs[-1].id + 2)
            for table in (0, 3, 65535)
            for partition in (0, 1)
        },
        **{
            ("documents", number_key(number)): bytes(100)
            for number in (0, 8, runs[0].start - 1, flushed, flushed + 3, 2**32 - 1)
        },
    }

    def leave() -> None:
        for (name, key), value in left.items():
            environment.write(
                lambda transaction, name=name, key=key, value=value: transaction.put(
                    key, value, db=environment.databases[name]
                )
            )

    leave()
    assert sum(map(len, values(environment).values())) == sum(map(len, before.values())) + len(left)
    steps = 0
    for steps, _ in enumerate(maintain(environment, HEADER), 1):  # noqa: B007
        pass
    assert values(environment) == before
    assert len(left) / 3 <= steps <= len(left) / 3 + 2  # each frees 300 bytes of at least 256


def test_a_run_is_dropped_once_its_newest_document_is_too_old(environment: Environment) -> None:
    assert expire(environment, 0) == [(0, 160), (160, 200), (200, 216)]
    assert expire(environment, TIME + 159) == [(0, 160), (160, 200), (200, 216)]
    assert expire(environment, TIME + 160) == [(160, 200), (200, 216)]
    assert {int.from_bytes(key, "big") for key in values(environment)["documents"]} == {*range(160, 216, 8)}
    assert {int.from_bytes(key[:4], "big") for key in values(environment)["runs"]} == {
        run.id for run in state(environment).runs
    }
    assert expire(environment, TIME + 1000) == []
    assert values(environment)["documents"] == values(environment)["runs"] == {}
    assert state(environment).next == 220  # what is in the log has not expired
    environment.close()
    with closing(LmdbIndex(environment.path, HEADER, tuning=SMALL)) as index:
        check(index)
        assert index.gauges()["documents"] == 4


def test_a_run_stays_behind_one_that_has_a_newer_document(environment: Environment, tmp_path: Path) -> None:
    """Runs are dropped from the oldest on, as long as all are too old."""
    path = tmp_path / "other"
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        for start, stop, time in ((0, 40, TIME), (40, 56, TIME - 100)):
            numbers = range(start, stop)
            index.add(documents([n * 7919 for n in numbers], [f"u{n}" for n in numbers], time=time))
    with closing(Environment(path, TUNING)) as other:
        assert expire(other, TIME - 50) == [(0, 40), (40, 56)]
        assert expire(other, TIME + 1) == []
