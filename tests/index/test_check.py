"""Any damage to what an index holds is found, and a sound index has no problems, whatever was done to it."""

from __future__ import annotations

import json
import random
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.blocks import decode_partition, encode_partition
from scrapy_neardup.index.lmdb.check import check, find_problems
from scrapy_neardup.index.lmdb.commands import opened
from scrapy_neardup.index.lmdb.layout import (
    HELD,
    Run,
    add_removed,
    decode_held,
    drop_removed,
    encode_held,
    number_key,
    partition_key,
    read_removed,
    read_state,
)
from scrapy_neardup.index.sorted_arrays import Entries

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import lmdb

    from scrapy_neardup.index.lmdb.environment import Environment

    Change = Callable[[lmdb.Transaction, dict[str, Any]], object]


def fill(index: LmdbIndex, start: int, stop: int) -> None:
    """Add documents in small commits, and now and then forget the one before."""
    dice = random.Random(start)
    for first in range(start, stop, 5):
        numbers = range(first, min(first + 5, stop))
        added = index.add(documents([dice.getrandbits(64) for _ in numbers], [f"u{n}" for n in numbers]))
        if first % 3 == 0:
            index.discard(added[:1].tolist())
            index.flush()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with runs of several partitions, removed documents in them, and a log that is not flushed."""
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        dice = random.Random(1)
        bulk = index.add(documents([dice.getrandbits(64) for _ in range(100)], [f"u{n}" for n in range(100)]))
        fill(index, 100, 128)
        index.discard(bulk[::40].tolist())
        index.flush()
        with index.reading() as reader:
            assert len(reader.state.runs) > 1
            assert max(run.bits for run in reader.state.runs) > 1
            assert len(reader.dead) > 1
            assert reader.state.next - reader.state.flushed > 5
    return tmp_path


def found(environment: Environment) -> list[str]:
    return [f"{p.where}: {p.what}" for p in find_problems(environment, HEADER)]


def state(transaction: lmdb.Transaction, databases: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(bytes(transaction.get(b"state", db=databases["meta"])))
    return value


def put_state(transaction: lmdb.Transaction, databases: dict[str, Any], **fields: object) -> None:
    new = {**state(transaction, databases), **fields}
    transaction.put(b"state", json.dumps(new).encode(), db=databases["meta"])


def test_a_sound_index_has_no_problems(tmp_path: Path) -> None:
    for round_ in range(6):
        with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
            assert list(check(index)) == []
            fill(index, 40 * round_, 40 * round_ + 40 - round_)
            assert list(check(index)) == []
            if round_ == 3:
                index.compact()
                assert list(check(index)) == []
        with opened(tmp_path) as (environment, _):
            assert found(environment) == []


def test_progress_ends_at_the_total(path: Path) -> None:
    steps: list[tuple[int, int]] = []
    with opened(path) as (environment, header):
        assert not list(find_problems(environment, header, lambda done, total: steps.append((done, total))))
        now = read_state(environment, environment.read())
    assert steps == sorted(steps)
    # Each document has an entry in four tables of fingerprints and in one of equal keys, and is in a block.
    total = 6 * sum(run.documents for run in now.runs) + now.next - now.flushed
    assert {each for _, each in steps} == {total}
    assert steps[-1] == (total, total)


def test_others_write_meanwhile(tmp_path: Path) -> None:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        writer = threading.Thread(target=fill, args=(index, 0, 150))
        writer.start()
        checks = 0
        while writer.is_alive():
            assert list(check(index)) == []
            checks += 1
        writer.join()
        assert checks > 3


# One kind of damage each. The run is the last one, its table 1 one of SimHash.


def first_block(transaction: lmdb.Transaction, databases: dict[str, Any]) -> tuple[bytes, bytearray]:
    with transaction.cursor(databases["documents"]) as cursor:
        assert cursor.first()
        return bytes(cursor.key()), bytearray(cursor.value())


def flip_in_block(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    key, value = first_block(transaction, databases)
    value[40] ^= 4
    transaction.put(key, value, db=databases["documents"])


def delete_block(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    transaction.delete(first_block(transaction, databases)[0], db=databases["documents"])


def delete_last_block(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    with transaction.cursor(databases["log"]) as cursor:
        assert cursor.last()
        cursor.delete()


def repeat_block(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    _, value = first_block(transaction, databases)
    transaction.put(number_key(1), value, db=databases["documents"])


def forget_last_block(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    put_state(transaction, databases, next=state(transaction, databases)["next"] - 1)


def partitions(
    transaction: lmdb.Transaction, databases: dict[str, Any], table: int
) -> Iterator[tuple[bytes, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Key, keys and documents of the partitions of the oldest run that have several entries."""
    run = state(transaction, databases)["runs"][0]
    for partition in range(1 << run["bits"]):
        key = partition_key(run["id"], table, partition)
        entries = decode_partition(bytes(transaction.get(key, db=databases["runs"])), 0).entries
        if len(entries.keys) > 2:
            yield key, entries.keys.copy(), entries.documents.copy()


def encoded(transaction: lmdb.Transaction, databases: dict[str, Any], *arrays: np.ndarray[Any, Any]) -> bytes:
    return encode_partition(Entries(*arrays), state(transaction, databases)["runs"][0]["bits"])


def change_entries(change: Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any]], Any]) -> Change:
    def apply(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
        key, keys, numbers = next(partitions(transaction, databases, 1))
        changed = change(keys, numbers)
        if changed is not None:
            keys, numbers = changed
        transaction.put(key, encoded(transaction, databases, keys, numbers), db=databases["runs"])

    return apply


def swap(array: np.ndarray[Any, Any]) -> None:
    array[[0, 1]] = array[[1, 0]]


def repeat(array: np.ndarray[Any, Any]) -> None:
    array[1] = array[0]


def foreign(array: np.ndarray[Any, Any]) -> None:
    array[0] = 2**32 - 1


def delete_partition(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    transaction.delete(next(partitions(transaction, databases, 1))[0], db=databases["runs"])


def wrong_directory(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    """Of the keys made of URLs, which are all in one partition: 100 numbers below 128."""
    key, keys, numbers = next(partitions(transaction, databases, 4))
    transaction.put(key, encode_partition(Entries(keys, numbers), 57), db=databases["runs"])


def flip_in_partition(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    key, keys, numbers = next(partitions(transaction, databases, 1))
    value = bytearray(encoded(transaction, databases, keys, numbers))
    value[3] ^= 1
    transaction.put(key, bytes(value), db=databases["runs"])


def swap_partitions(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    (one, *first), (two, *second), *_ = partitions(transaction, databases, 1)
    transaction.put(one, encoded(transaction, databases, *second), db=databases["runs"])
    transaction.put(two, encoded(transaction, databases, *first), db=databases["runs"])


def mark(number: int) -> Change:
    return lambda transaction, databases: add_removed(transaction, databases["dead"], np.array([number]))


def unmark(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    """Let removed documents come back."""
    drop_removed(transaction, databases["dead"], read_removed(transaction, databases["dead"])[:2])


def unmark_and_mark(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    """Remove another document in the place of one."""
    drop_removed(transaction, databases["dead"], read_removed(transaction, databases["dead"])[:1])
    mark(7)(transaction, databases)


def change_held(change: Callable[[np.ndarray[Any, Any]], object]) -> Change:
    def apply(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
        run = Run(**state(transaction, databases)["runs"][0])
        key = partition_key(run.id, HELD, 0)
        held = decode_held(transaction.get(key, db=databases["runs"]), run).copy()
        change(held)
        transaction.put(key, encode_held(held), db=databases["runs"])

    return apply


def not_held(held: np.ndarray[Any, Any]) -> None:
    held[5] = False


def mark_again(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    """Mark a document as removed that its run holds no longer."""
    change_held(not_held)(transaction, databases)
    mark(5)(transaction, databases)


def delete_held(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    run = state(transaction, databases)["runs"][0]["id"]
    transaction.delete(partition_key(run, HELD, 0), db=databases["runs"])


def runs(**fields: object) -> Change:
    def apply(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
        first, *others = state(transaction, databases)["runs"]
        put_state(transaction, databases, runs=[{**first, **fields}, *others])

    return apply


def no_state(transaction: lmdb.Transaction, databases: dict[str, Any]) -> None:
    transaction.put(b"state", b"{", db=databases["meta"])


OTHER_DOCUMENTS = "table 1: It files other documents or keys than table 0"
DAMAGE: dict[str, tuple[Change, str]] = {
    "bit of a block": (flip_in_block, "documents, block 0: It does not match its checksum."),
    "block deleted": (delete_block, "documents: 8 documents cannot be read, the first 0."),
    "last block deleted": (delete_last_block, "log: "),
    "block twice": (repeat_block, "documents, block 1: It overlaps"),
    "block unknown to the state": (forget_last_block, "log, block"),
    "partition deleted": (delete_partition, "It is missing."),
    "bit of a partition": (flip_in_partition, "partition 0: It does not match its checksum."),
    "directory of another cut": (wrong_directory, "Its directory is wrong."),
    "partitions exchanged": (swap_partitions, "It holds keys of other partitions."),
    "keys exchanged": (change_entries(lambda keys, numbers: swap(keys)), "Its keys are not sorted."),
    "documents exchanged": (change_entries(lambda keys, numbers: swap(numbers)), OTHER_DOCUMENTS),
    "document twice": (change_entries(lambda keys, numbers: repeat(numbers)), OTHER_DOCUMENTS),
    "document of another run": (change_entries(lambda keys, numbers: foreign(numbers)), "not in the range"),
    "entry lost": (change_entries(lambda keys, numbers: (keys[1:], numbers[1:])), "has 99 entries of 100"),
    "document not held": (change_held(not_held), "holds 99 documents, and the state says 100"),
    "entry of a document not held": (change_held(not_held), "It holds documents that the run does not hold."),
    "list of documents deleted": (delete_held, "It does not say which documents it holds."),
    "unknown document removed": (mark(1000), "Document 1000 is marked as removed, and was never added."),
    "removed documents are back": (unmark, "documents were removed, and"),
    "other documents removed": (unmark_and_mark, "dead: Other documents are removed than were."),
    "document removed twice": (mark_again, "marked as removed"),
    "state unreadable": (no_state, "state: The state of the index cannot be read"),
    "state without numbers": (runs(start="0"), "state: It holds values that are not numbers."),
    "runs overlap": (runs(stop=1000), "state: Run"),
    "too many partitions": (runs(bits=17), "is cut by 17 bits"),
    "number of a run": (runs(id=1000), "has a number that is not taken yet"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(path: Path, damage: str) -> None:
    change, expected = DAMAGE[damage]
    with opened(path) as (environment, _):
        assert found(environment) == []
        environment.write(lambda transaction: change(transaction, environment.databases))
        problems = found(environment)
    assert any(expected in problem for problem in problems), problems


def test_leftovers_of_a_killed_process_are_no_problem(path: Path) -> None:
    def leave(transaction: lmdb.Transaction) -> None:
        number = state(transaction, environment.databases)["next_run"]
        put_state(transaction, environment.databases, next_run=number + 1)
        transaction.put(partition_key(number, 0, 0), b"half", db=environment.databases["runs"])

    with opened(path) as (environment, _):
        environment.write(leave)
        assert found(environment) == []


def test_every_flipped_bit_is_found(path: Path) -> None:
    """In blocks and partitions."""
    dice = random.Random(5)
    with opened(path) as (environment, _):

        def values(transaction: lmdb.Transaction) -> list[tuple[str, bytes, bytes]]:
            live = {run["id"] for run in state(transaction, environment.databases)["runs"]}
            return [
                (name, bytes(key), bytes(value))
                for name in ("log", "documents", "runs")
                for key, value in transaction.cursor(environment.databases[name])
                if len(value) and (name != "runs" or int.from_bytes(key[:4], "big") in live)
            ]

        def put(name: str, key: bytes, value: bytes) -> None:
            database = environment.databases[name]
            environment.write(lambda transaction: transaction.put(key, value, db=database))

        with environment.read() as transaction:
            stored = values(transaction)
        assert {name for name, _, _ in stored} == {"log", "documents", "runs"}
        for _ in range(200):
            name, key, value = dice.choice(stored)
            place = dice.randrange(len(value))
            bit = dice.randrange(8)
            broken = bytearray(value)
            broken[place] ^= 1 << bit
            put(name, key, bytes(broken))
            assert found(environment), f"bit {bit} of byte {place} of {name} {key.hex()}"
            put(name, key, value)
        assert found(environment) == []
