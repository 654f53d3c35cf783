"""The keys and values of an index are what they were, and come back; removed documents are counted."""

from __future__ import annotations

import json
import random
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import lmdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import (
    LEDGER,
    LOW_BITS,
    Run,
    State,
    Sums,
    add_removed,
    count_removed,
    current_ledger,
    decode_held,
    drop_removed,
    encode_held,
    read_ledger,
    read_removed,
    read_state,
)
from scrapy_neardup.index.lmdb.runs import append
from tests.examples import examples

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


STATE = State(next=9, flushed=7, runs=(Run(3, 0, 7, 6, 2),), next_run=4, removals=5)
STORED = (
    b'{"next": 9, "folded": 7, "runs": [{"id": 3, "start": 0, "stop": 7, "documents": 6, "bits": 2}], '
    b'"next_run": 4, "removals": 5}'
)


def test_the_stored_state() -> None:
    assert STATE.to_json() == STORED
    assert State.from_json(STORED) == STATE


@pytest.mark.parametrize("stored", [b"[]", b"3", b"{", b'{"next": 1, "surprise": 2}', b'{"runs": [3]}'])
def test_what_is_no_state(stored: bytes) -> None:
    with pytest.raises(IndexCorrupted, match="state"):
        State.from_json(stored)


@given(st.lists(st.booleans(), max_size=70), st.integers(0, 2**32 - 100))
def test_which_documents_of_its_range_a_run_holds(held: list[bool], start: int) -> None:
    run = Run(0, start, start + len(held), sum(held), 0)
    data = encode_held(np.array(held, bool))
    assert decode_held(data, run).tolist() == held
    for stop in (run.stop + 8, run.stop - 8):
        if stop >= start:
            with pytest.raises(IndexCorrupted, match="run 0 cannot be read"):
                decode_held(data, replace(run, stop=stop))


edge = 1 << LOW_BITS
numbers = st.one_of(
    st.integers(0, 20),
    st.integers(edge - 5, edge + 5),
    st.integers(2**32 - 5, 2**32 - 1),
    st.integers(0, 2**32 - 1),
)


@given(changes=st.lists(st.tuples(st.booleans(), st.sets(numbers)), max_size=6))
@example(changes=[(True, {0, edge, edge + 1, 2 * edge, 2 * edge + 1})])
@examples(60)
def test_a_set_of_numbers(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[bool, set[int]]]
) -> None:
    expected: set[int] = set()
    with lmdb.open(str(tmp_path_factory.mktemp("set")), max_dbs=1, sync=False) as environment:
        database = environment.open_db(b"dead")
        for add, some in changes:
            with environment.begin(write=True, buffers=True) as transaction:
                change = add_removed if add else drop_removed
                new = change(transaction, database, np.array(sorted(some), np.int64))
                assert not add or (new is not None and new.tolist() == sorted(some - expected))
            expected = expected | some if add else expected - some
        with environment.begin(buffers=True) as transaction:
            found = read_removed(transaction, database)
            assert found.dtype == np.int64
            assert found.tolist() == sorted(expected)
            assert transaction.stat(database)["entries"] == len({number >> LOW_BITS for number in expected})


entries = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)), max_size=20)


def summed(*parts: Sequence[tuple[int, int]]) -> Sums:
    sums = Sums()
    for part in parts:
        documents = np.array([document for document, _ in part], np.uint32)
        sums = sums.add(documents, np.array([key for _, key in part], np.uint64))
    return sums


def split_mix(state: int) -> int:
    """The next number of SplitMix64 in this *state*."""
    value = (state + 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def test_published_numbers() -> None:
    assert split_mix(1234567) == 6457827717110365317
    assert summed([(1234567, 6457827717110365317 ^ 1234567)]) == Sums(1, 6457827717110365317)


@given(entries=entries, cut=st.integers(0, 20))
def test_neither_order_nor_parts_matter(entries: list[tuple[int, int]], cut: int) -> None:
    expected = sum(split_mix(split_mix(document) ^ key) for document, key in entries) % 2**64
    assert summed(entries[:cut], entries[cut:]) == Sums(len(entries), expected)
    assert summed(random.Random(cut).sample(entries, len(entries))) == Sums(len(entries), expected)


NOTHING = documents([], [])
#: Left out by a run, in a run with a tombstone, in the log.
REMOVED = {1, 2, 30, 45, 62}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with closing(LmdbIndex(tmp_path, HEADER, tuning=SMALL)) as index:
        for start, stop in ((0, 40), (40, 60), (60, 65)):
            index.add(documents(range(start, stop), [f"u{n}" for n in range(start, stop)]))
            if not start:
                index.discard([1, 2])
                index.compact()
        index.discard([30, 45, 62])
        index.flush()
    with closing(Environment(tmp_path, SMALL)) as environment:
        yield environment


def of(numbers: set[int]) -> Sums:
    return Sums().add(np.array(sorted(numbers), np.int64))


def ledgers(environment: Environment) -> tuple[Sums | None, Sums, Sums, int]:
    """The one that is stored, the one that holds, the one that is counted, and of what state they are."""
    with environment.read() as transaction:
        state = read_state(environment, transaction)
        return (
            read_ledger(environment, transaction, state),
            current_ledger(environment, transaction, state),
            count_removed(environment, transaction, state),
            state.removals,
        )


def put(environment: Environment, value: bytes | None) -> None:
    database = environment.databases["meta"]
    if value is None:
        environment.write(lambda transaction: transaction.delete(LEDGER, db=database))
    else:
        environment.write(lambda transaction: transaction.put(LEDGER, value, db=database))


def test_it_has_all_that_was_removed(environment: Environment) -> None:
    *each, removals = ledgers(environment)
    assert removals > 0
    assert each == [of(REMOVED)] * 3
    append(environment, NOTHING, [2, 5, 30, 64, 64, 1000])  # some again, one that never was
    *each, removals = ledgers(environment)
    assert each == [of({*REMOVED, 5, 64})] * 3


@pytest.mark.parametrize("stale", [False, True])
def test_without_one_of_this_state_the_documents_are_counted(environment: Environment, stale: bool) -> None:
    """A version that keeps no ledger has removed documents, or made the index."""
    removals = ledgers(environment)[-1]
    wrong = {"removals": removals - 1, "count": 7, "entries": 9}
    put(environment, json.dumps(wrong).encode() if stale else None)
    assert ledgers(environment) == (None, of(REMOVED), of(REMOVED), removals)
    append(environment, NOTHING, [7])
    *each, removals = ledgers(environment)
    assert each == [of({*REMOVED, 7})] * 3
