"""Which runs are merged: as few as make each run at least twice as large as all newer ones together."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.compaction import due_for_merge
from scrapy_neardup.index.lmdb.layout import Run

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from pathlib import Path

#: No log is so long that it is flushed without being asked to.
BY_HAND = replace(SMALL, flush_documents=100_000, load_documents=100_000)


def runs(sizes: list[int]) -> list[Run]:
    """Return runs of these *sizes*, the oldest first."""
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [
        Run(n, start, start + size, size, 0)
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
        index.add(documents(range(100), [f"u{number}" for number in range(100)]))
        index.compact()
        with index.reading() as reader:
            before = reader.state.runs
        index.discard(range(removed))
        index.flush()
        index.add(documents([1000], ["u1000"]))  # ends with the maintenance, as does a crawl's commit
        with index.reading() as reader:
            (run,) = reader.state.runs
            assert ((run,) != before) == again
            assert run.documents == (100 - removed if again else 100)
        assert index.gauges()["documents"] == 101 - removed


def test_nothing_is_written_where_there_is_nothing_to_compact(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=BY_HAND)) as index:
        index.compact()
        index.add(documents(range(50), [f"u{number}" for number in range(50)]))
        index.compact()
        with index.reading() as reader:
            before, commit = reader.state, reader.commit
        index.compact()
        with index.reading() as reader:
            assert (reader.state, reader.commit) == (before, commit)
        index.discard([7])
        index.compact()  # a removed document is a reason to write its run again
        with index.reading() as reader:
            (run,) = reader.state.runs
            assert (run.start, run.stop, run.documents, len(reader.dead)) == (0, 50, 49, 0)
