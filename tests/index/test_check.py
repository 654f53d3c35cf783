"""Any damage to what an index holds is found, and a sound index has no problems, whatever was done to it."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check, find_problems, opened
from scrapy_neardup.index.lmdb.layout import (
    decode_partition,
    decode_state,
    encode_partition,
    encode_state,
    partition_key,
)
from scrapy_neardup.index.search import Entries

from .small import HEADER, SMALL, numbered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import lmdb

    from scrapy_neardup.index.lmdb.environment import Environment
    from scrapy_neardup.index.lmdb.layout import State

    Change = Callable[[lmdb.Transaction, dict[str, Any]], object]


def fill(index: LmdbIndex, start: int, stop: int) -> None:
    """Add documents in small commits, and now and then forget the one before."""
    for first in range(start, stop, 5):
        added = index.add(numbered(range(first, min(first + 5, stop))))
        if first % 3 == 0:
            index.discard(added[:1].tolist())
            index.flush()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with runs of several partitions, removed documents in them, and a log that is not flushed.

    It was checked while all that was done.
    """
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:

        def work() -> None:
            index.add(numbered(range(100)))
            fill(index, 100, 128)
            index.discard([0, 40, 80])
            index.flush()

        writer = threading.Thread(target=work)
        writer.start()
        while writer.is_alive():
            assert list(check(index)) == []
        with index.reading() as reader:
            assert len(reader.state.runs) > 1
            assert max(run.bits for run in reader.state.runs) > 1
            assert len(reader.dead) > 1
            assert reader.state.next - reader.state.flushed > 5
    return tmp_path


def found(environment: Environment) -> list[str]:
    return [f"{p.where}: {p.what}" for p in find_problems(environment, HEADER)]


def test_a_sound_index_has_no_problems(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    for round_ in range(6):
        with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
            fill(index, 40 * round_, 40 * round_ + 40 - round_)
            assert list(check(index)) == []
            if round_ == 3:
                index.compact()
                assert list(check(index)) == []
        with opened(tmp_path) as (environment, header):
            steps.clear()
            assert not [*find_problems(environment, header, lambda done, total: steps.append((done, total)))]
            assert steps == [(number + 1, len(steps)) for number in range(len(steps))] != []


# One kind of damage each, of values whose checksums are right. The run is the oldest one.


def state(transaction: lmdb.Transaction, databases: dict[str, Any]) -> State:
    return decode_state(bytes(transaction.get(b"state", db=databases["meta"])))


def change_state(**fields: object) -> Change:
    def apply(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
        old = state(transaction, databases)
        new = {name: value(old) if callable(value) else value for name, value in fields.items()}
        transaction.put(b"state", encode_state(replace(old, **new)), db=databases["meta"])

    return apply


def delete(name: str, *, last: bool = False) -> Change:
    def apply(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
        with transaction.cursor(databases[name]) as cursor:
            assert cursor.last() if last else cursor.first()
            cursor.delete()

    return apply


def change_entries(change: Callable[[Any, Any], tuple[Any, Any]]) -> Change:
    """Of a table of fingerprints."""

    def apply(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
        run = state(transaction, databases).runs[0]
        key = partition_key(run.id, 1, 0)
        entries = decode_partition(bytes(transaction.get(key, db=databases["runs"])), run.bits).entries
        changed = Entries(*change(entries.keys.copy(), entries.documents.copy()))
        transaction.put(key, encode_partition(changed, run.bits, key), db=databases["runs"])

    return apply


DAMAGE: dict[str, tuple[Change, str]] = {
    "block deleted": (delete("documents"), "run 0: 8 documents are missing, the first 0."),
    "last block deleted": (delete("log", last=True), "log: "),
    "block unknown to the state": (change_state(next=lambda old: old.next - 1), "log: "),
    "partition deleted": (delete("runs"), "run 0: A partition is cut short or missing."),
    "document of another run": (
        change_entries(lambda keys, numbers: (keys, numbers + 2**31)),
        "is out of bounds",
    ),
    "entry lost": (change_entries(lambda keys, numbers: (keys[1:], numbers[1:])), "has 99 entries of 100"),
    "runs overlap": (
        change_state(runs=lambda old: (replace(old.runs[0], stop=1000), *old.runs[1:])),
        "do not follow each other",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(path: Path, damage: str) -> None:
    change, expected = DAMAGE[damage]
    with opened(path) as (environment, _):
        assert found(environment) == []
        environment.write(lambda transaction: change(transaction, environment.databases))
        problems = found(environment)
    assert any(expected in problem for problem in problems), problems


def test_every_flipped_bit_is_found(path: Path) -> None:
    """In any value."""
    dice = random.Random(5)
    with opened(path) as (environment, _):

        def values(transaction: lmdb.Transaction) -> list[tuple[str, bytes, bytes]]:
            live = {run.id for run in state(transaction, environment.databases).runs}
            return [
                (name, bytes(key), bytes(value))
                for name, database in environment.databases.items()
                for key, value in transaction.cursor(database)
                if key != b"header" and (name != "runs" or int.from_bytes(key[:4], "big") in live)
            ]

        def put(name: str, key: bytes, value: bytes) -> None:
            database = environment.databases[name]
            environment.write(lambda transaction: transaction.put(key, value, db=database))

        with environment.read() as transaction:
            stored = values(transaction)
        assert {name for name, _, _ in stored} == {"meta", "log", "documents", "runs", "dead"}
        for _ in range(200):
            name, key, value = dice.choice(stored)
            place, broken = dice.randrange(len(value)), bytearray(value)
            broken[place] ^= 1 << dice.randrange(8)
            put(name, key, bytes(broken))
            assert found(environment), (name, key, place)
            put(name, key, value)
        assert found(environment) == []
