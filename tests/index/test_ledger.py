"""The ledger of removed documents follows every removal, and is made anew where it may be out of date."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scrapy_neardup.index import LmdbIndex
from scrapy_neardup.index.lmdb.environment import Environment
from scrapy_neardup.index.lmdb.layout import (
    LEDGER,
    Sums,
    count_removed,
    current_ledger,
    read_ledger,
    read_state,
)
from scrapy_neardup.index.lmdb.runs import append

from .small import HEADER, SMALL, documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
