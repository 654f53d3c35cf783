"""What is an index is told by the content of its files: other programs use the same names."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import lmdb
import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.directory import SIDECAR, is_index, is_noted
from scrapy_neardup.index.lmdb.faults import DATA

from .small import HEADER, documents

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    with closing(LmdbIndex(path, HEADER)) as index:
        index.add(documents([1], ["u1"]))
    return path


def test_either_file_is_enough(path: Path) -> None:
    assert is_noted(path)
    assert is_index(path)
    data = (path / DATA).read_bytes()
    (path / DATA).unlink()
    assert is_noted(path)
    assert is_index(path)
    (path / SIDECAR).unlink()
    assert not is_index(path)
    (path / DATA).write_bytes(data)
    before = sorted(path.iterdir())
    assert not is_noted(path)
    assert is_index(path)
    assert sorted(path.iterdir()) == before  # nothing was written


NOTE = {"uuid": "x", "documents": 1}


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (json.dumps(NOTE), True),
        (json.dumps({**NOTE, "later": 1}), True),
        (json.dumps(NOTE).ljust(4096), True),
        (json.dumps(NOTE).ljust(5000), True),  # what follows is no part of it
        (json.dumps({**NOTE, "long": "x" * 5000}), False),
        (json.dumps({"uuid": "x"}), False),
        (json.dumps([NOTE]), False),
        (json.dumps(["uuid", "documents"]), False),
        ("{", False),
        ("[" * 4000, False),
        ("", False),
    ],
)
def test_a_note_is_an_object_with_its_names(note: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / SIDECAR).write_text(note)
    assert is_noted(tmp_path) == is_index(tmp_path) == expected


SOUND = {b"header": b'{"format": 1, "uuid": "x", "families": []}'}


@pytest.mark.parametrize("meta", [None, {}, {b"header": b"[]"}, {b"header": b'{"format": 1, "uuid": "x"}'}])
def test_a_file_of_another_program(meta: dict[bytes, bytes] | None, tmp_path: Path) -> None:
    with (
        lmdb.open(str(tmp_path), max_dbs=2) as environment,
        environment.begin(write=True, db=environment.open_db(b"other" if meta is None else b"meta")) as write,
    ):
        for key, value in (SOUND if meta is None else meta).items():
            write.put(key, value)
    assert not is_index(tmp_path)
