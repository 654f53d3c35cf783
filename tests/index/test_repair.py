"""A repaired index has all that can be read, and the damaged file is kept as it was."""

from __future__ import annotations

import os
import random
from contextlib import closing
from typing import TYPE_CHECKING

import lmdb
import numpy as np
import pytest

from scrapy_neardup.errors import IndexCorrupted, IndexUnavailable
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import repair
from scrapy_neardup.index.lmdb.directory import check_data_file
from scrapy_neardup.index.lmdb.layout import number_key, partition_key

from .consistency import check
from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_neardup.index.lmdb.commands import Repaired

COUNT = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two runs and a log: documents 0 to 99, of which 3 and 95 are removed."""
    where = tmp_path / "index"
    with closing(LmdbIndex(where, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 60), (60, 90), (90, COUNT)):
            numbers = range(start, stop)
            index.add(documents([number * 7919 for number in numbers], [f"u{number}" for number in numbers]))
        index.discard([3, 95])
        index.flush()
    return where


def left(path: Path, *, by_url: bool = True) -> set[int]:
    """Which documents are there, by fingerprint and by URL alike, in an index that is sound."""
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        numbers = np.arange(COUNT, dtype=np.uint64)
        near = index.search(0, numbers * np.uint64(7919))
        found = {int(url[1:]) for url in index.fetch(near.document).urls}
        if by_url:
            check(index)
            assert {int(url[1:]) for url in index.fetch(index.search(1, numbers).document).urls} == found
        return found


def edit(path: Path, name: str, change: Callable[[lmdb.Transaction], object]) -> None:
    with lmdb.open(str(path), max_dbs=5, lib_version=0) as environment:
        database = environment.open_db(name.encode())
        with environment.begin(write=True, db=database) as transaction:
            change(transaction)


def oldest_run(path: Path) -> int:
    with closing(LmdbIndex(path, None)) as index, index.reading() as reader:
        return reader.state.runs[0].id


def flip(key: bytes) -> Callable[[lmdb.Transaction], object]:
    """Change a byte in the middle of a value."""

    def change(transaction: lmdb.Transaction) -> None:
        value = bytearray(transaction.get(key))
        value[len(value) // 2] ^= 16
        transaction.put(key, bytes(value))

    return change


def repaired(path: Path) -> Repaired:
    before = (path / "data.mdb").read_bytes()
    found = repair(path)
    assert found.kept.read_bytes() == before
    assert sorted(each.name for each in path.iterdir() if each.is_dir()) == []
    return found


def test_a_sound_index_stays_what_it_is(path: Path) -> None:
    whole = left(path)
    found = repaired(path)
    assert left(path) == whole == {*range(COUNT)} - {3, 95}
    assert (found.documents, found.gone, found.revived) == (COUNT - 2, 0, False)
    assert repaired(path).kept.name == "damaged-2.mdb"


@pytest.mark.parametrize(
    ("name", "key", "gone"),
    [
        ("documents", number_key(16), {*range(16, 24)}),
        ("log", number_key(90), {*range(90, 95), *range(96, 100)}),
        *(("runs", table, set()) for table in range(3)),
    ],
)
def test_what_is_broken_is_left_out(path: Path, name: str, key: bytes | int, gone: set[int]) -> None:
    """One table of fingerprints tells what others have lost."""
    edit(path, name, flip(key if isinstance(key, bytes) else partition_key(oldest_run(path), key, 0)))
    found = repaired(path)
    assert (found.gone, found.documents) == (len(gone), COUNT - 2 - len(gone))
    assert left(path) == {*range(COUNT)} - {3, 95} - gone


def test_a_document_may_lose_a_key(path: Path) -> None:
    edit(path, "runs", flip(partition_key(oldest_run(path), 4, 0)))
    assert repaired(path).gone == 0
    assert left(path, by_url=False) == {*range(COUNT)} - {3, 95}


def test_removed_documents_that_cannot_be_told(path: Path) -> None:
    edit(path, "dead", lambda transaction: transaction.put(b"\0\0\0", b"odd"))
    assert repaired(path).revived
    assert left(path) == {*range(COUNT)}


def test_a_file_that_was_cut_short(path: Path) -> None:
    size = (path / "data.mdb").stat().st_size
    for pages in range(3, size // 4096):
        os.truncate(path / "data.mdb", size - 4096 * pages)
        try:
            check_data_file(path / "data.mdb")  # the last pages may be free ones
        except IndexCorrupted:
            break
    with pytest.raises(IndexCorrupted, match="index repair"):
        LmdbIndex(path, HEADER)
    found = repaired(path)
    there = left(path, by_url=False)
    assert len(there) == found.documents
    assert found.documents + found.gone >= COUNT - 2
    assert not there & {3, 95} or found.revived


@pytest.mark.parametrize("key", [b"header", b"state"])
def test_nothing_is_touched_if_nothing_can_be_saved(path: Path, key: bytes) -> None:
    edit(path, "meta", lambda transaction: transaction.put(key, b"{"))
    before = (path / "data.mdb").read_bytes()
    with pytest.raises(IndexCorrupted, match="nothing can be saved"):
        repair(path)
    assert (path / "data.mdb").read_bytes() == before
    assert not list(path.glob("damaged-*")) + list(path.glob("rewritten-*"))


def test_it_is_refused_while_others_use_the_index(path: Path) -> None:
    with closing(LmdbIndex(path, HEADER)), pytest.raises(IndexUnavailable, match="in use"):
        repair(path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_pages_of_noise(path: Path, seed: int) -> None:
    """What LMDB may not survive is read in another process: nothing is kept that is not as it was."""
    dice, data = random.Random(seed), bytearray((path / "data.mdb").read_bytes())
    for _ in range(3):
        start = dice.randrange(2, len(data) // 4096) * 4096
        data[start : start + 4096] = dice.randbytes(4096)
    (path / "data.mdb").write_bytes(data)
    try:
        found = repaired(path)
    except IndexCorrupted:
        assert (path / "data.mdb").read_bytes() == data
        return
    there = left(path, by_url=False)
    assert len(there) == found.documents
    assert found.revived or not there & {3, 95}


def test_a_head_that_says_a_size_that_no_file_has(path: Path) -> None:
    data = bytearray((path / "data.mdb").read_bytes())
    page = int.from_bytes(data[40:44], "little")
    for start in (0, page):
        data[start + 136 : start + 144] = (1 << 60).to_bytes(8, "little")  # the last page, in each meta page
    (path / "data.mdb").write_bytes(data)
    with pytest.raises(IndexCorrupted):
        repair(path)
    assert (path / "data.mdb").read_bytes() == data
