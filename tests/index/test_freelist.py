"""An LMDB file may be shorter than its last page says, because free pages at its end were never written."""

from __future__ import annotations

import os
import random
import struct
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

import lmdb
import pytest

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.lmdb.directory import BIG_DATA, BRANCH, NO_PAGE, check_data_file, free_pages

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


def test_a_new_file_has_no_free_pages(tmp_path: Path) -> None:
    lmdb.open(str(tmp_path), map_size=1 << 20).close()
    assert free_of(tmp_path / "data.mdb") == set()


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


def test_a_tree_that_is_none_is_an_error(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(3 * PAGE) + random.Random(1).randbytes(3 * PAGE))
    with data.open("rb") as file:
        assert free_pages(file, PAGE, NO_PAGE) == set()
        for root in (3, 4, 5, 6, 1 << 40):
            with pytest.raises((struct.error, ValueError)):
                free_pages(file, PAGE, root)


class Pages:
    """A file of many pages of 256 bytes, of which few are written."""

    def __init__(self, count: int) -> None:
        self.count, self.place = count, 0
        self.written: dict[int, bytes] = {}

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        self.place = place + (self.count * 256 if whence == os.SEEK_END else 0)
        return self.place

    def read(self, size: int) -> bytes:
        return self.written[self.place // 256][:size]

    def leaf(self, number: int, flags: int, *nodes: bytes) -> None:
        """Write a page with these nodes, the first one at its end."""
        places, data = [], b""
        for node in nodes:
            data = node + data
            places.append(256 - len(data))
        head = struct.pack("=QHHHH", number, 0, flags, 16 + 2 * len(nodes), places[-1])
        page = head + struct.pack(f"={len(places)}H", *places)
        self.written[number] = page.ljust(256 - len(data), b"\0") + data


def node(low: int, high: int, flags: int, data: bytes) -> bytes:
    return struct.pack("=4H", low, high, flags, 8) + bytes(8) + data


def test_numbers_of_pages_and_sizes_of_lists_may_be_large() -> None:
    """A branch has 48 bits of a page's number; a list that is longer than a page has pages of its own."""
    child = (3 << 32) + (2 << 16) + 1
    file = Pages(child + 1)
    file.leaf(5, BRANCH, node(1, 2, 3, b""), node(6, 0, 0, b""))
    listed = range(1000, 10_000)
    size = 8 * (1 + len(listed))
    file.leaf(child, 2, node(size & 0xFFFF, size >> 16, BIG_DATA, struct.pack("=Q", 9)))
    file.written[9] = bytes(16) + struct.pack(f"={1 + len(listed)}Q", len(listed), *listed) + b"more"
    file.leaf(6, 2, node(24, 0, 0, struct.pack("=3Q", 2, 70, 80)), node(8, 0, 0, struct.pack("=Q", 0)))
    assert free_pages(file, 256, 5) == {70, 80, *listed}  # type: ignore[arg-type]
    assert free_pages(file, 256, NO_PAGE) == set()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no page"):
        free_pages(file, 256, child + 1)  # type: ignore[arg-type]
    file.leaf(5, BRANCH, node(6, 0, 0, b""), node(6, 0, 0, b""))
    with pytest.raises(ValueError, match="page 6 comes twice"):
        free_pages(file, 256, 5)  # type: ignore[arg-type]
