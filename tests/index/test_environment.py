"""The file is opened with less address space, again, or not; its map moves at any moment of any use."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np
import pytest

from scrapy_neardup import Detector
from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.check import check as problems
from scrapy_neardup.index.lmdb.environment import DATABASES, Environment, Tuning

from .consistency import check
from .flaky import Flaky
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


MAP = 1 << 26
BUSY = lmdb.InvalidParameterError("Invalid argument")
FULL = lmdb.MemoryError("Out of memory")  # as musl says it


def opened(path: Path, least: int) -> Environment:
    return Environment(path, Tuning(map_bytes=MAP, min_map_bytes=least))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Let LMDB fail to open a file with these errors in turn; returns the sizes of maps that were tried."""
    real = lmdb.open

    def use(*errors: Exception) -> list[int]:
        left, sizes = [*errors], []

        def fail_first(*arguments: Any, **options: Any) -> Any:
            sizes.append(options["map_size"])
            if left:
                raise left.pop(0)
            return real(*arguments, **options)

        monkeypatch.setattr(lmdb, "open", fail_first)
        return sizes

    return use


@pytest.mark.parametrize(("failures", "mapped"), [(0, MAP), (1, MAP // 8), (2, MAP // 16), (3, MAP // 16)])
def test_a_quarter_of_the_address_space_is_mapped_if_there_is_a_limit(
    tmp_path: Path, failing: Callable[..., list[int]], failures: int, mapped: int
) -> None:
    sizes = failing(*[FULL] * failures)
    with closing(opened(tmp_path, MAP // 16)) as environment:
        assert sizes == [MAP >> number for number in range(failures + 1)]
        assert environment._map_bytes == mapped == environment._env.info()["map_size"]
        assert tuple(environment.databases) == DATABASES


def test_a_file_that_is_larger_than_that_is_mapped_whole(
    tmp_path: Path, failing: Callable[..., list[int]]
) -> None:
    with closing(opened(tmp_path, MAP)) as environment:
        meta = environment.databases["meta"]
        environment.write(lambda transaction: transaction.put(b"key", b"x" * (MAP // 4), db=meta))
    failing(FULL)
    with closing(opened(tmp_path, MAP // 16)) as environment, environment.read() as transaction:
        assert MAP // 4 < environment._map_bytes < MAP // 2
        assert len(transaction.get(b"key", db=environment.databases["meta"])) == MAP // 4


def test_there_is_a_least_that_is_mapped(tmp_path: Path, failing: Callable[..., list[int]]) -> None:
    sizes = failing(FULL, FULL, FULL)
    with pytest.raises(IndexUnavailable, match=r"cannot be opened \(Out of memory\): raise the limit"):
        opened(tmp_path, MAP // 4)
    assert sizes == [MAP, MAP // 2, MAP // 4]


def test_others_that_open_or_close_it_at_the_same_moment_are_waited_for(
    tmp_path: Path, failing: Callable[..., list[int]]
) -> None:
    sizes = failing(*[BUSY] * 50)
    with closing(opened(tmp_path, MAP)) as environment:
        assert sizes == [MAP] * 51
        assert environment._map_bytes == MAP
    sizes = failing(*[BUSY] * 51)
    with pytest.raises(IndexUnavailable, match=r"cannot be opened \(Invalid argument\)"):
        opened(tmp_path, MAP)
    assert sizes == [MAP] * 51


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (lmdb.DiskError("Input/output error"), IndexUnavailable, r"\(Input/output error\): free space"),
        (lmdb.InvalidError("as if"), IndexCorrupted, r"is damaged \(as if\)"),
        (OSError(13, "Permission denied"), IndexUnavailable, r"\(Permission denied\): "),
        (MemoryError(), IndexUnavailable, r"\(MemoryError\): raise the limit"),
    ],
)
def test_other_errors_are_told_at_once(
    tmp_path: Path, failing: Callable[..., list[int]], error: Exception, kind: type[Exception], said: str
) -> None:
    """An index that is open in another directory has nothing to do with it."""
    with closing(Environment(tmp_path / "other")):
        sizes = failing(error)
        with pytest.raises(kind, match=said):
            opened(tmp_path, MAP)
        assert len(sizes) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_directory_whose_name_is_no_text(tmp_path: Path) -> None:
    path, copy = tmp_path / os.fsdecode(b"caf\xe9"), tmp_path / os.fsdecode(b"copy\xff")
    for kind in ("unique", "exact"):
        with Detector.open(path) as detector:
            text = " ".join(f"word{number}" for number in range(100))
            assert detector.add(text, url=f"https://{kind}-site.com/").kind == kind
    copy.mkdir()
    with closing(Environment(path)) as environment:
        environment.copy(copy)
    with Detector.open(copy) as detector:
        assert detector.gauges()["documents"] == 1


#: Documents 0 to 69 are in runs, the others in the log.
COUNT = 90
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
