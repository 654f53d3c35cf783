"""Commands take an index that is there, and nothing else; they make nothing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import alone, opened, require_index
from scrapy_neardup.index.lmdb.directory import SIDECAR
from scrapy_neardup.index.lmdb.faults import DATA

from .small import HEADER, documents

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER)) as index:
        index.add(documents([1, 2], ["u1", "u2"]))
    return path


def test_an_index_that_is_there(path: Path) -> None:
    require_index(path)
    (path / SIDECAR).unlink()
    require_index(path)
    with opened(path) as (_, header):
        assert header.families == HEADER.families


def test_a_file_that_is_gone_or_empty_beside_its_note(path: Path) -> None:
    (path / DATA).write_bytes(b"")
    with pytest.raises(IndexCorrupted, match="it is empty and should hold 2 documents"):
        require_index(path)
    (path / DATA).unlink()
    with pytest.raises(IndexCorrupted, match="it is missing and should hold 2 documents"):
        require_index(path)
    assert not (path / DATA).exists()


@pytest.mark.parametrize("content", [None, b"", bytes(4096), b"something else"])
def test_no_index(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / DATA).write_bytes(content)
    for folder in (tmp_path, tmp_path / "nowhere"):
        for use in (opened, alone):
            with pytest.raises(IndexUnavailable, match="There is no index"), use(folder):
                pass
    assert not (tmp_path / "nowhere").exists()
    assert [each.name for each in tmp_path.iterdir()] == [DATA] * (content is not None)


def test_who_has_to_be_alone_is_refused_while_others_are_there(path: Path) -> None:
    with alone(path), pytest.raises(IndexUnavailable, match="in use"), alone(path):
        pass
    with closing(LmdbIndex(path, HEADER)), pytest.raises(IndexUnavailable, match="in use"), alone(path):
        pass
    with alone(path):
        pass
