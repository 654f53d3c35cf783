"""An LMDB file may be shorter than its last page says, because free pages at its end were never written."""

from __future__ import annotations

import random
import struct
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

import lmdb
import pytest

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.lmdb.directory import NO_PAGE, check_data_file, free_pages

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096


def metas(data: Path) -> tuple[int, int]:
    """Return the root of the tree of free pages, and the last page."""
    head = data.read_bytes()[: 2 * PAGE]
    found = [struct.unpack_from("=Q48xQQ", head, start + 80) for start in (0, PAGE)]
    root, last_page, _ = max(found, key=lambda meta: meta[-1])
    return root, last_page


def free_of(data: Path) -> set[int]:
    with data.open("rb") as file:
        return free_pages(file, PAGE, metas(data)[0])


def change(directory: Path, seed: int, transactions: int) -> Path:
    """Put and delete values at random, until the file is shorter than it says, or so many times."""
    dice = random.Random(seed)
    directory.mkdir()
    data = directory / "data.mdb"
    with closing(lmdb.open(str(directory), map_size=1 << 26, max_dbs=3, sync=False)) as environment:
        databases = [environment.open_db(name) for name in (b"a", b"b", b"c")]
        for _ in range(transactions):
            with environment.begin(write=True) as transaction:
                for _ in range(dice.randint(1, 12)):
                    key, database = b"%03d" % dice.randrange(60), dice.choice(databases)
                    if dice.random() < 0.5:
                        transaction.put(key, bytes(dice.choice([10, 1000, 3000, 9000])), db=database)
                    else:
                        transaction.delete(key, db=database)
            if data.stat().st_size < (metas(data)[1] + 1) * PAGE:
                break
    return data


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole file that is shorter than its last page says."""
    base = tmp_path_factory.mktemp("short")
    for seed in count():
        data = change(base / str(seed), seed, 40)
        if data.stat().st_size < (metas(data)[1] + 1) * PAGE:
            return data
    raise AssertionError


def test_a_whole_file_that_ends_before_free_pages_is_no_damage(short: Path) -> None:
    check_data_file(short)
    with closing(lmdb.open(str(short.parent), max_dbs=3)) as environment, environment.begin() as transaction:
        for name in (b"a", b"b", b"c"):
            database = environment.open_db(name, txn=transaction)
            assert all(len(value) >= 10 for _, value in transaction.cursor(database))


def test_it_is_damage_once_a_page_in_use_is_cut_off(short: Path, tmp_path: Path) -> None:
    whole, free = short.read_bytes(), free_of(short)
    outcomes = set()
    for pages in range(2, len(whole) // PAGE):
        cut = tmp_path / "data.mdb"
        cut.write_bytes(whole[: pages * PAGE])
        lost = set(range(pages, metas(short)[1] + 1))
        damaged = not lost <= free
        outcomes.add(damaged)
        if damaged:
            with pytest.raises(IndexCorrupted, match="should have"):
                check_data_file(cut)
        else:
            check_data_file(cut)
    assert True in outcomes


def test_the_free_pages_are_all_that_nothing_uses(tmp_path: Path) -> None:
    """Of several thousand, so that lists of them take pages of their own."""
    data, environment = tmp_path / "data.mdb", lmdb.open(str(tmp_path), map_size=1 << 28, sync=False)
    with closing(environment):
        for turn in range(3):
            with environment.begin(write=True) as transaction:
                for number in range(3000):
                    transaction.put(b"%d" % number, bytes(5000 + turn))
            with environment.begin(write=True) as transaction:
                for number in range(0, 3000, 2 + turn):
                    transaction.delete(b"%d" % number)
        (free, (root, last_page)), stat = (free_of(data), metas(data)), environment.stat()
    # Beside the pages of the one database and of the free list itself there are two meta pages.
    used = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"] + 2
    head = max(
        (data.read_bytes()[start : start + 152] for start in (0, PAGE)), key=lambda each: each[144:152][::-1]
    )
    own = sum(struct.unpack_from("=QQQ", head, 48))
    assert root != NO_PAGE
    assert len(free) > 3000
    assert len(free) + used + own == last_page + 1
