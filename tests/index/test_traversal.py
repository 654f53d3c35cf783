"""All documents that were not removed are gone through once, and none of a damaged block."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import environment_of
from scrapy_neardup.index.lmdb.layout import key_number
from scrapy_neardup.index.lmdb.snapshot import count_documents, live_documents, reading

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from pathlib import Path

    import lmdb

#: Of two runs and the log.
COUNT, REMOVED = 93, [0, 7, 69, 70, 89, 90, 92]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 70), (70, 90), (90, COUNT)):
            numbers = range(start, stop)
            index.add(documents([7919 * n for n in numbers], [f"u{n}" for n in numbers]))
        assert index.gauges()["runs"] == 2
        index.discard(REMOVED)
        index.flush()
    return tmp_path


def test_what_was_not_removed_comes_once_and_in_order(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with environment_of(path) as (environment, header), reading(environment, header) as reader:
        found = [
            (number, url)
            for numbers, stored in live_documents(reader, lambda *done: seen.append(done))
            for number, url in zip(numbers.tolist(), stored.urls, strict=True)
        ]
        assert found == [(n, f"u{n}") for n in range(COUNT) if n not in REMOVED]
        assert count_documents(reader) == len(found)
    assert seen == sorted(seen)
    assert seen[-1] == (COUNT, COUNT)


@pytest.mark.parametrize("name", ["documents", "log"])
@pytest.mark.parametrize("place", [0, 4, 9, 40, -1])
def test_a_flipped_bit_is_not_passed_over(name: str, place: int, path: Path) -> None:
    def flip(transaction: lmdb.Transaction) -> None:
        with transaction.cursor(environment.databases[name]) as cursor:
            assert cursor.last()
            assert key_number(cursor.key()) > 0
            key, value = bytes(cursor.key()), bytearray(cursor.value())
        value[place] ^= 1
        transaction.put(key, value, db=environment.databases[name])

    with environment_of(path) as (environment, header):
        environment.write(flip)
        with pytest.raises(IndexCorrupted), reading(environment, header) as reader:
            list(live_documents(reader, lambda *_: None))
