"""Which runs are merged, dropped and swept away, and that logs are flushed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.compaction import due_for_merge, maintain, write
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import Run, State, number_key, partition_key, read_state
from scrapy_neardup.index.lmdb.writer import append

from .consistency import check
from .small import HEADER, SMALL, numbered

#: No log is so long that it is flushed without being asked to.
BY_HAND = replace(SMALL, flush_documents=100_000)


def runs(sizes: list[int]) -> list[Run]:
    """Return runs of these *sizes*, the oldest first."""
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [
        Run(n, start, start + size, size, 0, 0)
        for n, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]


def in_order(sizes: list[int]) -> bool:
    return all(size >= 2 * sum(sizes[place + 1 :]) for place, size in enumerate(sizes))


@given(st.lists(st.integers(1, 60), max_size=7))
@example([8, 4])  # exactly twice as large
@example([7, 4])
@example([40, 12, 5, 1])  # the last three are in order, but 12 < 2 * (5 + 1) is false and 40 >= 36 holds
def test_merging_what_is_due_puts_the_runs_in_order(sizes: list[int]) -> None:
    made = runs(sizes)
    due = list(due_for_merge(made))
    assert made[len(made) - len(due) :] == due  # the newest ones
    assert (len(due) > 1) == (not in_order(sizes))
    left = [run.documents for run in made[: len(made) - len(due)]]
    assert in_order([*left, sum(run.documents for run in due)]) if due else in_order(left)
    if due:  # no fewer would do: the oldest of them is too small beside the others
        assert due[0].documents < 2 * sum(run.documents for run in due[1:])


@pytest.mark.parametrize(("removed", "again"), [(25, False), (26, True)])
def test_a_run_is_written_again_once_more_than_a_quarter_of_it_was_removed(
    removed: int, again: bool, tmp_path: Path
) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=BY_HAND)) as index:
        index.add(numbered(range(100)))
        index.compact()
        before = state(index._environment).runs
        index.discard(range(removed))
        index.flush()
        for _ in maintain(index._environment, HEADER, wait=True):
            pass
        (run,) = state(index._environment).runs
        assert (run.id != before[0].id) == again
        assert run.documents == (100 - removed if again else 100)
        assert index.gauges()["documents"] == 100 - removed


TIME = 1_700_000_000


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    """Runs of 160, 40 and 16 documents, each later than the one before, and a log."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 160), (160, 200), (200, 216), (216, 220)):
            some = numbered(range(start, stop))
            some.records["time"] = range(TIME + start, TIME + stop)
            index.add(some)
    with closing(Environment(tmp_path, BY_HAND)) as environment:
        yield environment


def state(environment: Environment) -> State:
    with environment.read() as transaction:
        return read_state(environment, transaction)


def values(environment: Environment) -> dict[tuple[str, bytes], bytes]:
    with environment.read() as transaction:
        return {
            (name, bytes(key)): bytes(value)
            for name in ("log", "documents", "runs")
            for key, value in transaction.cursor(environment.databases[name])
        }


def expire(environment: Environment, expires: int) -> list[tuple[int, int]]:
    for _ in maintain(environment, HEADER, expires):
        pass
    return [(run.start, run.stop) for run in state(environment).runs]


def test_what_unfinished_runs_have_left_is_deleted(environment: Environment) -> None:
    expire(environment, TIME + 160)  # so that there are numbers before the first run
    before = values(environment)
    runs, flushed = state(environment).runs, state(environment).flushed
    left = [
        ("runs", partition_key(run, table, partition), bytes(100))
        for run in (runs[0].id - 1, runs[-1].id + 1, runs[-1].id + 2)
        for table in (0, 3, 65535)
        for partition in (0, 1)
    ] + [
        ("documents", number_key(number), bytes(100))
        for number in (0, 8, runs[0].start - 1, flushed, flushed + 3, 2**32 - 1)
    ]
    for _ in write(environment, left):
        pass
    assert len(values(environment)) == len(before) + len(left)
    steps = len([*maintain(environment, HEADER)])
    assert values(environment) == before
    assert steps == len(left) / SMALL.transaction_values


def test_a_run_is_dropped_once_its_newest_document_is_too_old(environment: Environment) -> None:
    every = [(0, 160), (160, 200), (200, 216)]
    assert expire(environment, 0) == expire(environment, TIME + 159) == every
    assert expire(environment, TIME + 160) == every[1:]
    kept = values(environment)
    starts = {int.from_bytes(key, "big") for name, key in kept if name == "documents"}
    assert starts == {*range(160, 216, 8)}
    named = {run.id for run in state(environment).runs}
    assert {int.from_bytes(key[:4], "big") for name, key in kept if name == "runs"} == named
    assert expire(environment, TIME + 1000) == []
    assert {name for name, _ in values(environment)} == {"log"}
    assert state(environment).next == 220  # what is in the log has not expired
    environment.close()
    with closing(LmdbIndex(environment.path, HEADER, tuning=SMALL)) as index:
        check(index)
        assert index.gauges()["documents"] == 4


def test_a_run_stays_behind_one_that_has_a_newer_document(tmp_path: Path) -> None:
    """Runs are dropped from the oldest on, as long as all are too old."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        index.add(numbered(range(40), TIME))
        index.add(numbered(range(40, 56), TIME - 100))
    with closing(Environment(tmp_path, BY_HAND)) as environment:
        assert expire(environment, TIME - 50) == [(0, 40), (40, 56)]
        assert expire(environment, TIME + 1) == []


def test_the_log_is_flushed_while_runs_are_merged(tmp_path: Path) -> None:
    """Documents are added during each step of a long merge: they get into runs before it is done."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=BY_HAND)) as index:
        index.add(numbered(range(600)))
    added, flushed = 600, set()
    with closing(Environment(tmp_path, replace(SMALL, transaction_values=10))) as environment:
        for _ in maintain(environment, HEADER):
            pass
        for _ in range(300):  # the second run, which has to be merged with the first
            append(environment, numbered(range(added, added + 2)))
            added += 2
        for _ in maintain(environment, HEADER):
            append(environment, numbered(range(added, added + 2)))
            added += 2
            now = state(environment)
            if len(now.runs) > 1 and now.runs[0].stop == 600:  # the merge is not done
                flushed.add(now.flushed)
    assert len(flushed) > 3
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        found = index.search(1, np.arange(added + 10, dtype=np.uint64))
        assert found.query.tolist() == [*range(added)]
        check(index)
