"""The memory map moves at any moment, because it is full or because another process has made it larger."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np
import pytest

from scrapy_neardup.errors import IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb import runs
from scrapy_neardup.index.lmdb.check import check as problems
from scrapy_neardup.index.lmdb.compaction import load, maintain, merge_all
from scrapy_neardup.index.lmdb.environment import Environment

from .consistency import check
from .flaky import Flaky
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Documents 0 to 69 are in runs, the others in the log.
COUNT = 90
NOTHING = documents([], [])
SLOW = pytest.mark.slow
TUNING = replace(SMALL, group_seconds=0.0, transaction_bytes=2048)
#: The same, but nothing is flushed unless a test does it.
LAZY = replace(TUNING, flush_documents=1 << 20)


def fail(error: Exception) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


def found(index: LmdbIndex) -> list[int]:
    """The numbers of all documents, which are those of their URLs, too."""
    matches = index.search(1, np.arange(COUNT + 50, dtype=np.uint64))
    urls = index.fetch(matches.document).urls
    assert urls == [f"u{number}" for number in matches.query.tolist()]
    return sorted(matches.query.tolist())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index of two runs and a log, some documents of each removed."""
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER, tuning=TUNING)) as index:
        for start, stop in ((0, 60), (60, 70)):
            numbers = range(start, stop)
            index.add(documents([7 * number for number in numbers], [f"u{number}" for number in numbers]))
            if not start:
                index.discard([3])
                index.compact()
    with closing(LmdbIndex(path, HEADER, tuning=LAZY)) as index:
        for number in range(70, COUNT, 5):
            numbers = range(number, number + 5)
            index.add(documents([7 * number for number in numbers], [f"u{number}" for number in numbers]))
        index.discard([10, 65, 72])
        index.flush()
    return path


def flush_and_merge(environment: Environment) -> Iterator[None]:
    yield from maintain(environment, HEADER)


def merge(environment: Environment) -> Iterator[None]:
    yield from merge_all(environment, HEADER)


def load_more(environment: Environment) -> Iterator[None]:
    numbers = range(COUNT, COUNT + 40)
    load(
        environment,
        HEADER,
        documents([7 * number for number in numbers], [f"u{number}" for number in numbers]),
    )
    yield


@pytest.mark.parametrize("work", [flush_and_merge, merge, load_more])
def test_what_is_removed_while_the_map_grows_stays_away(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Environment], Iterator[None]]
) -> None:
    """At each write transaction of a flush or a merge documents are removed first, then the map is full."""
    flaky = Flaky(monkeypatch)
    for number in count():
        copy = tmp_path / str(number)
        shutil.copytree(path, copy)
        environment = Environment(copy, TUNING)
        removed = [1 + number % 2, 30, 61 + number % 3, COUNT - 1 - number % 10]

        def remove_and_grow(environment: Environment = environment, removed: list[int] = removed) -> None:
            runs.append(environment, NOTHING, removed)
            raise lmdb.MapFullError("as if")

        calls = flaky.once(number, remove_and_grow, "begin write")
        for _ in work(environment):
            pass
        over = len(calls) <= number
        flaky.hook = None
        environment.close()
        with closing(LmdbIndex(copy, HEADER, tuning=TUNING)) as index:
            gone = {3, 10, 65, 72} | set([] if over else removed)
            kept = [each for each in range(COUNT) if each not in gone]
            assert [each for each in found(index) if each < COUNT] == kept, number
            assert list(problems(index)) == [], number
            check(index)
            index.compact()
            assert [each for each in found(index) if each < COUNT] == kept, number
            assert list(problems(index)) == [], number
        if over:
            break
    assert number > (0 if work is load_more else 3)


USES: dict[str, Callable[[LmdbIndex], Any]] = {
    "search": found,
    "add": lambda index: index.add(documents([1], ["u95"])),
    "load": lambda index: index.add(documents(range(40), [f"u{n}" for n in range(95, 135)])),
    "discard": lambda index: (index.discard([5]), index.flush()),
    "compact": lambda index: index.compact(),
    "gauges": lambda index: index.gauges(),
    "reading": check,
    "check": lambda index: list(problems(index)),
}


@pytest.mark.parametrize("error", [lmdb.MapResizedError, lmdb.PanicError])
@pytest.mark.parametrize(
    "use", ["open", *(pytest.param(use, marks=SLOW) if use in ("compact", "load") else use for use in USES)]
)
def test_every_transaction_follows_a_map_that_has_moved(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, error: type[lmdb.Error]
) -> None:
    """Each transaction of each use is the one that finds out that another process has made the map larger."""
    flaky = Flaky(monkeypatch)
    for number in count():
        copy = tmp_path / str(number)
        shutil.copytree(path, copy)
        calls = flaky.once(number, fail(error("as if")), *([] if use != "open" else ["begin", "begin write"]))
        with closing(LmdbIndex(copy, HEADER, tuning=TUNING)) as index:
            if use != "open":
                calls = flaky.once(number, fail(error("as if")), "begin", "begin write")
                USES[use](index)
            flaky.hook = None
            assert set(range(COUNT)) - set(found(index)) == {3, 10, 65, 72} | (
                {5} if use == "discard" else set()
            )
            assert not index.gauges()["degraded"]
            assert list(problems(index)) == []
        if len(calls) <= number:
            break


def test_an_environment_that_could_not_be_opened_again_is_opened_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed write LMDB lets nobody go on; the disk may still fail when the file is opened anew."""
    flaky = Flaky(monkeypatch)
    environment = Environment(path, TUNING)
    before = environment.last_transaction()
    broken = {"begin": lmdb.PanicError("as if"), "open": lmdb.DiskError("as if")}

    def fail_once(call: str) -> None:
        if call in broken:
            raise broken.pop(call)

    flaky.hook = fail_once
    with pytest.raises(IndexUnavailable, match=r"cannot be opened \(as if\)"):
        environment.read()
    assert broken == {}
    assert environment.last_transaction() == -1
    for _ in range(2):
        environment.read().abort()
        assert environment.last_transaction() == before
    assert flaky.opened == 2
    environment.close()
