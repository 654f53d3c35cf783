"""Removed numbers are kept as a set is, and nothing is left of an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lmdb
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.index.lmdb.layout import LOW_BITS, add_removed, drop_removed, read_removed
from tests.examples import examples

if TYPE_CHECKING:
    import pytest

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
