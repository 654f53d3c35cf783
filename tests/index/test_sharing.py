"""Several processes on one index: forks, dead and idle ones, what one writes and another removes."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check as problems
from scrapy_neardup.index.lmdb.writer import Memtable, append

from .consistency import check
from .small import HEADER, SMALL, documents
from .test_faults import has, script, store

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096


# Forks


# A limit on address space


def test_a_file_that_outgrows_its_map(tmp_path: Path) -> None:
    """Refused with the remedy; searches go on, and all does once it is opened with more room."""
    tuning = replace(SMALL, map_bytes=1 << 20)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        stored, told = 0, ""
        while not told:
            numbers = range(stored, stored + 10)
            try:
                index.add(documents(numbers, [f"u{n}" for n in numbers]))
                stored += 10
            except IndexUnavailable as error:
                told = str(error)
        assert "ulimit -v" in told
        assert stored > 100
        assert has(index, 1)
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        assert has(index, stored - 1)
        store(index, 10**6)
        index.flush()
        assert list(problems(index)) == []


# Dead and idle processes


READER = """
index = LmdbIndex(Path(sys.argv[1]), HEADER)
assert has(index, 1)
print("reads", flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "idle"])
def test_other_processes_do_not_keep_pages_for_long(tmp_path: Path, killed: bool) -> None:
    """Neither one that was killed with a transaction open, nor one that does nothing."""
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        store(index, 1)
        index.flush()
        with script(READER, tmp_path) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert other.stdout.readline() == "reads\n"
            if killed:
                other.kill()
                other.wait()
            sizes = []
            for batch in range(3):
                for number in range(120):
                    store(index, 2 + 120 * batch + number)
                    index.flush()
                sizes.append(index.gauges()["bytes"])
                time.sleep(0 if killed else 1.2)  # it looks twice a second
            if not killed:
                other.stdin.write("\n")
                other.stdin.flush()
        assert sizes[-1] < 1000 * PAGE
        check(index)


# Removing what another process has written


def test_removed_before_this_process_could_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While something keeps it at an older view, what the commit sees decides, not what was known before."""
    tuning = replace(SMALL, group_seconds=0.0)
    with closing(LmdbIndex(tmp_path, HEADER, tuning=tuning)) as index:
        index.add(documents([1], ["u1"]))
        look = Memtable.look
        monkeypatch.setattr(Memtable, "look", lambda self: None)
        with script(
            "LmdbIndex(Path(sys.argv[1]), HEADER).add(documents([2, 3], ['u2', 'u3']))", tmp_path
        ) as other:
            assert other.wait(20) == 0
        index.discard([1, 5])
        monkeypatch.setattr(Memtable, "look", look)
        index.flush()
        assert [has(index, number) for number in (1, 2, 3)] == [True, False, True]
        assert index.gauges()["documents"] == 2
        assert list(problems(index)) == []
        index.add(documents([4, 5, 6], ["u4", "u5", "u6"]))  # 5 was never given before
        assert has(index, 6)
        assert has(index, 5)


# Expiry


def test_a_commit_whose_number_shows_before_it_can_be_seen_is_not_missed(tmp_path: Path) -> None:
    """LMDB writes the page with the number of a commit first; readers see the commit a moment later."""
    with closing(LmdbIndex(tmp_path, HEADER)) as index:
        index.add(documents([1], ["u1"]))
        environment = index._environment
        number = environment.last_transaction()
        with mock.patch.object(environment, "last_transaction", return_value=number + 1):
            assert index.gauges()["documents"] == 1  # looks while another process is between the two steps
        append(environment, documents([], []), [0])  # as that process does
        assert environment.last_transaction() == number + 1
        assert index.gauges()["documents"] == 0
