"""What an index takes stays in proportion: logs during merges, removed documents, what is remembered."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import runs
from scrapy_neardup.index.lmdb.compaction import maintain
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import read_state

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
