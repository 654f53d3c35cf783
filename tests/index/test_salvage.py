"""What is read from an index that may be damaged: documents with their keys, and what is known to be lost."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.index import Documents, LmdbIndex
from scrapy_neardup.index.lmdb.layout import read_state, write_state
from scrapy_neardup.index.lmdb.offline import environment_of
from scrapy_neardup.index.lmdb.salvage import Losses, Salvage

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from pathlib import Path

    import lmdb

COUNT, REMOVED = 100, (3, 95)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run, a log, and a removed document in each."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 60), (60, 90), (90, COUNT)):
            index.add(some(start, stop))
        index.discard(REMOVED)
        index.flush()
    return tmp_path


def some(start: int, stop: int) -> Documents:
    numbers = range(start, stop)
    return documents([number * 7919 for number in numbers], [f"u{number}" for number in numbers])


def read(path: Path, skip: set[str]) -> tuple[dict[str, tuple[int, ...]], Losses, list[str]]:
    """Return the keys of each document that is left by its URL, what is lost, and what was read."""
    seen: list[str] = []
    with environment_of(path) as (environment, header):
        left = Salvage(environment, header, lambda _: {}, seen.append, skip)
        found = Documents.concatenate([*left.documents()])
        keys = {url: tuple(column) for url, column in zip(found.urls, found.keys.T.tolist(), strict=True)}
        return keys, left.losses, seen


def test_all_of_a_sound_index(path: Path) -> None:
    keys, losses, seen = read(path, set())
    assert keys == {f"u{n}": (n * 7919, n) for n in range(COUNT) if n not in REMOVED}
    assert losses == Losses()
    assert not losses.revived
    assert len({*seen}) == len(seen)


def test_removed_documents_at_both_ends_of_a_run(tmp_path: Path) -> None:
    """The first one behind a run is of the log, or of the next run."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        index.add(some(0, 60))
        index.flush()
        index.compact()
        with index.reading() as reader:
            (run,) = reader.state.runs
        index.add(some(60, 70))
        index.discard([run.start, run.stop - 1, run.stop])
        index.flush()
    keys, losses, _ = read(tmp_path, set())
    assert {*keys} == {f"u{n}" for n in range(70) if n not in (run.start, run.stop - 1, run.stop)}
    assert losses == Losses()


def test_what_a_run_has_left_out_as_removed_is_no_loss(path: Path) -> None:
    with closing(LmdbIndex(path, HEADER, tuning=SMALL)) as index:
        index.compact()
        with index.reading() as reader:
            assert [run.documents for run in reader.state.runs] == [COUNT - len(REMOVED)]
    keys, losses, _ = read(path, set())
    assert {*keys} == {f"u{n}" for n in range(COUNT) if n not in REMOVED}
    assert losses == Losses()


@pytest.mark.parametrize("name", ["documents", "log"])
def test_a_block_whose_checksum_is_wrong_is_lost(name: str, path: Path) -> None:
    """Though it could be decoded: what it says may be wrong."""
    with environment_of(path) as (environment, _):

        def flip(transaction: lmdb.Transaction) -> None:
            with transaction.cursor(environment.databases[name]) as cursor:
                assert cursor.first()
                key, value = bytes(cursor.key()), bytearray(cursor.value())
            value[40] ^= 4
            transaction.put(key, bytes(value), db=environment.databases[name])

        environment.write(flip)
    keys, losses, _ = read(path, set())
    assert losses.gone
    assert not {*losses.gone} & {int(url[1:]) for url in keys}


def test_what_cannot_be_read_is_passed_over_and_counted(path: Path) -> None:
    oldest = [n for n in range(90) if n not in REMOVED]  # the two runs are merged
    _, _, seen = read(path, set())
    run = next(each for each in seen if each.startswith("run ")).partition(",")[0]
    of_table = {
        table: {each for each in seen if each.startswith(f"{run}, table {table},")} for table in range(5)
    }
    assert all(of_table.values())

    keys, losses, _ = read(path, {"log from 90"})
    assert losses.gone == [n for n in range(90, COUNT) if n not in REMOVED]
    assert len(keys) == 89

    _, losses, _ = read(path, of_table[0] | of_table[1] | of_table[2])  # the fourth table says the same
    assert losses == Losses()

    keys, losses, _ = read(path, set().union(*(of_table[table] for table in range(4))))
    assert sorted(losses.gone) == oldest  # without fingerprints they could not be found
    assert len(keys) == COUNT - len(REMOVED) - len(oldest)

    keys, losses, _ = read(path, of_table[4])
    assert (losses.gone, losses.weaker) == ([], len(oldest))
    assert {url for url, (_, key) in keys.items() if key != int(url[1:])} == {f"u{n}" for n in oldest}

    keys, losses, _ = read(path, {"dead"})
    assert losses.revived
    assert len(keys) > COUNT - len(REMOVED)


def test_the_longer_nothing_can_be_read_the_more_is_passed_over_at_a_time(path: Path) -> None:
    """Each try may end a process. After the first block that can be read, small steps are taken again."""
    keys, losses, seen = read(path, {f"documents from {number}" for number in (0, 1, 3, 9, 10, 12)})
    tried = [int(each.split()[2]) for each in seen if each.startswith("documents from")]
    assert tried[:9] == [0, 1, 3, 7, 9, 10, 12, 16, 17]  # the second block begins with document 8
    assert losses.gone == [n for n in range(8) if n not in REMOVED]
    assert {*keys} == {f"u{n}" for n in range(8, COUNT) if n not in REMOVED}


def test_a_block_that_goes_on_behind_its_run(path: Path) -> None:
    """By a state that is wrong by one document."""
    with environment_of(path) as (environment, _):

        def shorten(transaction: lmdb.Transaction) -> None:
            state = read_state(environment, transaction)
            (run,) = state.runs
            assert run.stop == state.flushed == 90
            run = replace(run, stop=89, documents=run.documents - 1)
            write_state(environment, transaction, replace(state, flushed=89, runs=(run,)))

        environment.write(shorten)
    keys, losses, _ = read(path, set())
    assert 89 in losses.gone
    assert {f"u{n}" for n in range(90, COUNT) if n not in REMOVED} <= {*keys}
    assert not {*losses.gone} & {int(url[1:]) for url in keys}


def test_a_block_that_goes_on_behind_the_log(path: Path) -> None:
    with environment_of(path) as (environment, _):

        def shorten(transaction: lmdb.Transaction) -> None:
            state = read_state(environment, transaction)
            write_state(environment, transaction, replace(state, next=state.next - 1))

        environment.write(shorten)
    keys, losses, _ = read(path, set())
    assert {*keys} == {f"u{n}" for n in range(COUNT - 1) if n not in REMOVED}
    assert losses == Losses()


def test_ranges_of_numbers() -> None:
    assert Losses(gone=[7, 1, 2, 2, 9, 3]).ranges() == [(1, 3), (7, 7), (9, 9)]
    assert Losses().ranges() == []
