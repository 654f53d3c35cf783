"""What an index takes stays in proportion: logs during merges, removed documents, what is remembered."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import runs
from scrapy_neardup.index.lmdb.compaction import HOLLOW, maintain
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import read_state
from scrapy_neardup.index.lmdb.search import search_runs
from scrapy_neardup.index.lmdb.tuning import DEFAULT

from .consistency import check
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.index import Documents


def numbered(numbers: range) -> Documents:
    return documents([7 * number for number in numbers], [f"u{number}" for number in numbers])


def wait(until: Callable[[], object], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def stored(index: LmdbIndex, size: int) -> list[int]:
    return index.search(1, np.arange(size, dtype=np.uint64)).query.tolist()


def test_the_log_is_flushed_while_runs_are_merged(tmp_path: Path) -> None:
    """Documents are added during each step of a long merge: they get into runs before it is done."""
    tuning = replace(SMALL, transaction_bytes=1 << 11)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=replace(tuning, flush_documents=1 << 20))) as index:
        index.add(numbered(range(2000)))
    environment = Environment(tmp_path, tuning)
    added, flushed = 2000, set()
    try:
        for _ in maintain(environment, HEADER):
            pass
        for _ in range(1000):  # the second run, which has to be merged with the first
            runs.append(environment, numbered(range(added, added + 2)))
            added += 2
        for _ in maintain(environment, HEADER):
            runs.append(environment, numbered(range(added, added + 2)))
            added += 2
            with environment.read() as transaction:
                state = read_state(environment, transaction)
            if len(state.runs) > 1 and state.runs[0].stop == 2000:  # the merge is not done
                flushed.add(state.flushed)
        assert len(flushed) > 3
    finally:
        environment.close()
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        assert stored(index, added + 10) == list(range(added))
        check(index)


@pytest.mark.parametrize("share", [HOLLOW / 2, 2 * HOLLOW, 1])
def test_many_removed_documents_leave_the_runs(share: float, tmp_path: Path) -> None:
    """Few keep their tombstones, and no run is written again for them."""
    count = 400
    gone = [number for number in range(count) if number % 20 < 20 * share]
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start in range(0, count, 40):
            index.add(numbered(range(start, start + 40)))
        index.compact()
        size = index.gauges()["bytes"]

        def tombstones() -> int:
            with index.reading() as reader:
                return len(reader.dead)

        index.discard(gone)
        index.flush()
        if share > HOLLOW:
            wait(lambda: not tombstones())
        else:
            index.add(numbered(range(count, count + 40)))
            assert tombstones() == len(gone)
        kept = sorted({*range(count)} - {*gone})
        assert stored(index, count) == kept
        check(index)
        assert index.gauges()["bytes"] <= 2 * size


@pytest.mark.slow
def test_what_is_remembered_of_partitions_has_a_bound(tmp_path: Path) -> None:
    tuning = replace(SMALL, flush_documents=1 << 14, load_documents=1 << 15, transaction_bytes=1 << 22)
    dice = np.random.default_rng(1)
    values = dice.integers(0, 2**64, 1 << 15, np.uint64)
    new = documents(values.tolist(), [f"u{number}" for number in range(len(values))])
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        index.add(new)
    for most in (1 << 18, DEFAULT.partition_bytes):
        with (
            closing(LmdbIndex(tmp_path, HEADER, tuning=replace(tuning, partition_bytes=most))) as index,
            index.reading() as reader,
        ):
            tracemalloc.start()
            found = [
                document
                for start in range(2000)
                for matches in search_runs(reader, 0, values[start : start + 1], 0, 0)
                for document in matches.document.tolist()
            ]
            taken, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert set(found) == set(range(2000))
            if most == 1 << 18:
                assert taken < 2 * most + (1 << 19)  # and what was found
            else:
                assert taken > 1 << 21
