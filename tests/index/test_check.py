"""Any damage to what an index holds is found, and a sound index has no problems, whatever was done to it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.commands import check, find_problems, opened
from scrapy_neardup.index.lmdb.compaction import Item, write
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import (
    State,
    decode_partition,
    encode_partition,
    encode_state,
    partition_key,
    read_state,
)
from scrapy_neardup.index.search import Entries

from .small import HEADER, SMALL, numbered, reading_of


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
        with reading_of(index) as reader:
            assert len(reader.state.runs) > 1
            assert max(run.bits for run in reader.state.runs) > 1
            assert sum(run.removed for run in reader.state.runs) > 1
            assert reader.state.next - reader.state.flushed > 5
    return tmp_path


def found(environment: Environment) -> list[str]:
    return [f"{p.where}: {p.what}" for p in find_problems(environment, HEADER)]


# One kind of damage each, of values whose checksums are right. The run is the oldest one.


def state(environment: Environment) -> State:
    with environment.read() as transaction:
        return read_state(environment, transaction)


def changed_state(environment: Environment, **fields: Callable[[State], object]) -> Item:
    old = state(environment)
    new = {name: value(old) for name, value in fields.items()}
    return "meta", b"state", encode_state(old._replace(**new))


def deleted(environment: Environment, name: str, *, last: bool = False) -> Item:
    with environment.read() as transaction, transaction.cursor(environment.databases[name]) as cursor:
        assert cursor.last() if last else cursor.first()
        return name, bytes(cursor.key()), None


def changed_entries(environment: Environment, change: Callable[[Any, Any], tuple[Any, Any]]) -> Item:
    """Of a table of fingerprints."""
    run = state(environment).runs[0]
    key = partition_key(run.id, 1, 0)
    with environment.read() as transaction:
        old = decode_partition(bytes(transaction.get(key, db=environment.databases["runs"])), run.bits)
    return "runs", key, encode_partition(Entries(*change(*old.entries)), run.bits, key)


DAMAGE: dict[str, tuple[Callable[[Environment], Item], str]] = {
    "block deleted": (lambda e: deleted(e, "documents"), "run 0: 7 documents are missing, the first 1."),
    "last block deleted": (lambda e: deleted(e, "log", last=True), "log: "),
    "block unknown to the state": (lambda e: changed_state(e, next=lambda old: old.next - 1), "log: "),
    "partition deleted": (lambda e: deleted(e, "runs"), "run 0: A partition is cut short or missing."),
    "document of another run": (
        lambda e: changed_entries(e, lambda keys, numbers: (keys, numbers + 2**31)),
        "documents of another run",
    ),
    "entry lost": (
        lambda e: changed_entries(e, lambda keys, numbers: (keys[1:], numbers[1:])),
        "has 99 entries of 100",
    ),
    "runs overlap": (
        lambda e: changed_state(e, runs=lambda old: (old.runs[0]._replace(stop=1000), *old.runs[1:])),
        "do not follow each other",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(path: Path, damage: str) -> None:
    change, expected = DAMAGE[damage]
    with opened(path) as (environment, _):
        assert found(environment) == []
        put(environment, change(environment))
        problems = found(environment)
    assert any(expected in problem for problem in problems), problems


def put(environment: Environment, item: Item) -> None:
    for _ in write(environment, [item]):
        pass


def test_every_flipped_bit_is_found(path: Path) -> None:
    """In any value."""
    dice = random.Random(5)
    with opened(path) as (environment, header):
        assert not [*find_problems(environment, header)]
        live = {run.id for run in state(environment).runs}
        with environment.read() as transaction:
            stored = [
                (name, bytes(key), bytes(value))
                for name, database in environment.databases.items()
                for key, value in transaction.cursor(database)
                if key != b"header" and (name != "runs" or int.from_bytes(key[:4], "big") in live)
            ]
        assert {name for name, _, _ in stored} == {"meta", "log", "documents", "runs", "dead"}
        for _ in range(200):
            name, key, value = dice.choice(stored)
            place, broken = dice.randrange(len(value)), bytearray(value)
            broken[place] ^= 1 << dice.randrange(8)
            put(environment, (name, key, bytes(broken)))
            assert found(environment), (name, key, place)
            put(environment, (name, key, value))
        assert found(environment) == []
