"""A state of an index that cannot be is recognised by each of its numbers; one that can be is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_neardup.index.lmdb.check import state_faults
from scrapy_neardup.index.lmdb.layout import MAX_DOCUMENTS, Run, State

FIRST, SECOND = Run(0, 5, 50, 45, 16), Run(3, 50, 60, 1, 0)
STATE = State(next=60, flushed=60, runs=(FIRST, SECOND), next_run=4, removals=0)


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        State(),
        replace(STATE, next=MAX_DOCUMENTS),
        State(next=7, flushed=7),  # all runs have expired
        replace(STATE, runs=(replace(FIRST, documents=0), SECOND)),
        replace(STATE, runs=(SECOND,)),
        replace(STATE, runs=(replace(FIRST, id=2), replace(SECOND, id=1))),
    ],
)
def test_a_state_that_can_be(state: State) -> None:
    assert list(state_faults(state)) == []


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (replace(STATE, next=59), "60 documents are flushed of 59"),
        (replace(STATE, next=MAX_DOCUMENTS + 1), "documents are flushed of"),
        (replace(STATE, next="60"), "not numbers"),
        (replace(STATE, removals=-1), "not numbers"),
        (replace(STATE, next_run=-1), "not numbers"),
        (replace(STATE, runs=(FIRST, replace(SECOND, documents=-1))), "not numbers"),
        (replace(STATE, runs=(FIRST, replace(SECOND, start=50.0))), "not numbers"),
        (replace(STATE, runs=(FIRST, replace(SECOND, bits=None))), "not numbers"),
        (replace(STATE, runs=(replace(FIRST, documents=46), SECOND)), "Run 0 holds 46 documents"),
        (replace(STATE, runs=(replace(FIRST, start=50, documents=0), SECOND)), "Run 0 holds 0 documents"),
        (replace(STATE, runs=(FIRST, replace(SECOND, stop=61))), "Run 3 holds 1 documents from 50 to 61"),
        (replace(STATE, runs=(replace(FIRST, bits=17), SECOND)), "Run 0 is cut by 17 bits"),
        (replace(STATE, next_run=3), "Run 3 has a number that is not taken yet"),
        (replace(STATE, runs=(replace(FIRST, stop=49), SECOND)), "ends at document 49, and the next begins"),
        (replace(STATE, runs=(FIRST,)), "The last run ends at document 50, and 60 are flushed"),
        (replace(STATE, runs=(FIRST, replace(SECOND, stop=59))), "The last run ends at document 59"),
        (replace(STATE, runs=(replace(FIRST, id=3), SECOND)), "Two runs have the same number"),
    ],
)
def test_a_state_that_cannot_be(state: State, what: str) -> None:
    assert what in " ".join(state_faults(state))
