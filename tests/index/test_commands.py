"""Commands take an index that is there, and nothing else; they describe it, and give its space back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import lmdb
import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check as problems
from scrapy_neardup.index.lmdb.commands import compact, describe, opened
from scrapy_neardup.index.lmdb.directory import DATA
from scrapy_neardup.index.lmdb.snapshot import reading

from .flaky import Flaky
from .small import HEADER, SMALL, documents, numbered


def test_what_is_in_it(tmp_path: Path) -> None:
    """Two runs and a log; a document of each is removed."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 40), (40, 58), (58, 65)):
            index.add(numbered(range(start, stop)))
        index.discard([0, 64])
        index.flush()
    found = describe(tmp_path)
    counts = {"tables": 5, "documents": 63, "added": 65, "removed": 2, "backlog": 7, "runs": [40, 18]}
    assert found.items() >= {"path": str(tmp_path), "uuid": index.header.uuid}.items()
    assert {name: found[name] for name in counts} == counts
    assert found["bytes_file"] == (tmp_path / DATA).stat().st_size >= found["bytes_used"] > 0


#: A whole block, one of another block, and all of the last block.
COUNT, REMOVED = 100, {*range(8, 16), 20, *range(96, 100)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        index.add(numbered(range(COUNT), 7))
        index.discard(sorted(REMOVED))
        index.flush()
    return path


def stored(path: Path) -> dict[int, str]:
    """The URL of each document, by its number."""
    with closing(LmdbIndex(path, None, tuning=SMALL)) as index:
        return {
            number: url
            for numbers, some in index.documents()
            for number, url in zip(numbers.tolist(), some.urls, strict=True)
        }


def test_removed_documents_leave_the_file_and_the_others_keep_their_numbers(path: Path) -> None:
    (path / "data.mdb.new").write_bytes(b"x")  # of a process that was killed
    (path / DATA).chmod(0o640)
    before = (path / DATA).stat().st_size
    sizes = compact(path)
    assert sizes == (before, (path / DATA).stat().st_size)
    assert sizes[1] < sizes[0]
    assert (path / DATA).stat().st_mode & 0o777 == 0o640
    assert not (path / "data.mdb.new").exists()
    kept = {number: f"u{number}" for number in range(COUNT) if number not in REMOVED}
    assert stored(path) == kept
    with opened(path) as (environment, header), reading(environment, header) as reader:
        for start, some in reader.blocks(0, COUNT):
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
    with closing(LmdbIndex(path, HEADER)), pytest.raises(IndexUnavailable, match="in use"):
        compact(path)


def test_a_copy_that_fails_leaves_all_as_it_was(path: Path, flaky: Flaky) -> None:
    flaky.once(0, lmdb.DiskError("full"), "copyfd")
    with pytest.raises(IndexUnavailable, match=r"cannot be compacted \(full\): free space on its disk"):
        compact(path)
    assert not (path / "data.mdb.new").exists()
    assert set(stored(path)) == set(range(COUNT)) - REMOVED


def test_a_damaged_index_is_refused(path: Path) -> None:
    def damage(transaction: lmdb.Transaction) -> None:
        database = environment.databases["documents"]
        transaction.put(bytes(4), bytes(transaction.get(bytes(4), db=database))[:-1], db=database)

    with opened(path) as (environment, _):
        environment.write(damage)
    with pytest.raises(IndexCorrupted, match="block"):
        compact(path)
