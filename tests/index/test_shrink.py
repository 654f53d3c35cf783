"""Compacting gives space back, and takes out of the file what was removed."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import lmdb
import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.check import check as problems
from scrapy_neardup.index.lmdb.commands import compact, opened
from scrapy_neardup.index.lmdb.faults import DATA
from scrapy_neardup.index.lmdb.snapshot import live_documents, reading

from .flaky import Flaky
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from pathlib import Path

#: A whole block, one of another block, and all of the last block.
COUNT, REMOVED = 100, {*range(8, 16), 20, *range(96, 100)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        numbers = range(COUNT)
        index.add(documents([number * 7919 for number in numbers], [f"u{n}" for n in numbers], time=7))
        index.discard(sorted(REMOVED))
        index.flush()
    return path


def stored(path: Path) -> dict[int, str]:
    """The URL of each document, by its number."""
    with opened(path) as (environment, header), reading(environment, header) as reader:
        return {
            number: url
            for numbers, some in live_documents(reader, lambda *_: None)
            for number, url in zip(numbers.tolist(), some.urls, strict=True)
        }


def test_removed_documents_leave_the_file_and_the_others_keep_their_numbers(path: Path) -> None:
    (path / "compact-old").mkdir()  # of a process that was killed
    (path / DATA).chmod(0o640)
    before = (path / DATA).stat().st_size
    steps: list[tuple[int, int]] = []
    sizes = compact(path, lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    assert sizes == (before, (path / DATA).stat().st_size)
    assert sizes[1] < sizes[0]
    assert (path / DATA).stat().st_mode & 0o777 == 0o640
    assert not [*path.glob("compact-*")]
    kept = {number: f"u{number}" for number in range(COUNT) if number not in REMOVED}
    assert stored(path) == kept
    with opened(path) as (environment, header), reading(environment, header) as reader:
        blocks = dict(reader.blocks(0, COUNT))
        # The last block of the run stays, because from it the age of the run is read.
        assert [*blocks] == [start for start in range(0, COUNT, 8) if start != 8]
        for start, some in blocks.items():
            for row, url in enumerate(some.urls):
                removed = start + row in REMOVED
                assert url == ("" if removed else f"u{start + row}")
                assert any(some.records[row].tobytes()) != removed
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        assert list(problems(index)) == []
        assert index.gauges()["documents"] == len(kept)
        assert index.gauges()["runs"] == 1
        index.add(documents([1], ["u200"]))
    assert stored(path) == {**kept, COUNT: "u200"}


def test_it_is_refused_while_others_use_the_index(path: Path) -> None:
    with (
        closing(LmdbIndex(path, HEADER)),
        pytest.raises(IndexUnavailable, match="in use"),
    ):
        compact(path, lambda *_: None)


def test_a_copy_that_fails_leaves_all_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise lmdb.DiskError("full")

    Flaky(monkeypatch).once(0, fail, "copy")
    with pytest.raises(IndexUnavailable, match=r"cannot be copied \(full\): free space on its disk"):
        compact(path, lambda *_: None)
    assert not [*path.glob("compact-*")]
    assert set(stored(path)) == set(range(COUNT)) - REMOVED


def test_a_damaged_index_is_left_alone(path: Path) -> None:
    with opened(path) as (environment, _):
        environment.write(
            lambda transaction: transaction.delete(bytes(4), db=environment.databases["documents"])
        )
    data = (path / DATA).read_bytes()
    with pytest.raises(IndexCorrupted, match="8 documents cannot be read, the first 0"):
        compact(path, lambda *_: None)
    assert (path / DATA).read_bytes() == data


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("owner", [(12345, 0), (0, 12345)])
def test_the_owner_stays(path: Path, owner: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(path / DATA, *owner)
    compact(path, lambda *_: None)
    status = (path / DATA).stat()
    assert (status.st_uid, status.st_gid) == owner

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(IndexUnavailable, match="belongs to another user or group"):
        compact(path, lambda *_: None)
