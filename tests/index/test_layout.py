"""The state of an index has the same bytes whatever its attributes are called, and comes back as it was."""

from __future__ import annotations

import pytest

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index.lmdb.layout import Run, State

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
