"""What a commit makes of the numbers of the newest documents; it takes no longer late in a crawl."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_neardup.index import open_index
from scrapy_neardup.index.conformance import reserve
from scrapy_neardup.index.lmdb import snapshot
from scrapy_neardup.index.lmdb.layout import State
from scrapy_neardup.index.lmdb.memtable import Memtable
from scrapy_neardup.index.lmdb.tuning import DEFAULT, Tuning
from scrapy_neardup.index.reservation import Reservation
from tests.index.small import HEADER, documents

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

GROUP = 1000


def commit(memtable: Memtable, first: int, count: int) -> list[int]:
    """Reserve, confirm and commit *count* documents, which get the numbers from *first* on.

    Return the temporary ones.
    """
    some = documents(range(count), [f"u{number}" for number in range(first, first + count)])
    holder = Reservation("", lambda _: None)
    numbers = [memtable.reserve(some.take(slice(row, row + 1)), holder) for row in range(count)]
    for number in numbers:
        assert memtable.confirm(number, b"")
    group = memtable.begin(count)
    assert group is not None
    memtable.commit(group, State(next=first + count))
    return numbers


def test_temporary_numbers_lead_to_the_last_documents() -> None:
    memtable = Memtable(HEADER, Tuning(aliases=5))
    temporary = commit(memtable, 0, 4) + commit(memtable, 4, 4)
    assert [memtable.number(number) for number in temporary] == [*temporary[:3], 3, 4, 5, 6, 7]


def test_a_commit_takes_no_longer_once_aliases_are_forgotten() -> None:
    """To look for the first of a plain dict made each commit of a long crawl take 20 times as long."""

    def seconds(first: int) -> float:
        start = time.thread_time()
        commit(memtable, first, GROUP)
        taken = time.thread_time() - start
        memtable.columns.remove(range(first, first + GROUP))
        return taken

    memtable = Memtable(HEADER)
    groups = DEFAULT.aliases // GROUP
    early = [seconds(number * GROUP) for number in range(groups)]
    late = [seconds(number * GROUP) for number in range(groups, 2 * groups)]
    assert np.median(late) < 4 * np.median(early)


def test_own_commits_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    decode = snapshot.decode_logged

    def noting(*arguments: Any, **options: Any) -> Any:
        read.append(arguments)
        return decode(*arguments, **options)

    monkeypatch.setattr(snapshot, "decode_logged", noting)
    some = documents(range(8), [f"u{number}" for number in range(8)])
    index = open_index(tmp_path / "index", HEADER)
    for row in range(8):
        reserve(index, some.take(slice(row, row + 1))).confirm()
        index.flush()
    assert len(index.search(0, some.keys[0]).document) == 8
    assert not read
    index.close()
