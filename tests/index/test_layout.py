"""The state of an index has the same bytes whatever its attributes are called, and comes back as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.lmdb.layout import (
    Run,
    State,
    decode_held,
    encode_held,
)

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
