"""Columns of stored pages: the same values as in the rows, in arrays, and no values of other kinds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.arrays import text_places
from scrapy_neardup.audit.settings import AuditOptions
from scrapy_neardup.audit.store import Paragraphs, Store, StoredColumns

if TYPE_CHECKING:
    from pathlib import Path

HEADER = AuditOptions(seed=1).header
KEYS, RECORD = bytes(range(8 * HEADER.keys)), bytes(HEADER.dtype.itemsize)
ROW = (
    1,
    "feed.jl",
    "https://a.example/",
    5.0,
    "",
    "",
    "A title",
    1,
    None,
    None,
    None,
    None,
    0,
    KEYS,
    RECORD,
    b"",
)


@given(st.lists(st.sets(st.integers(0, 9)), max_size=12), st.integers(1, 5))
def test_paragraphs_that_few_pages_have_are_left_out(pages: list[set[int]], least: int) -> None:
    rows = [(number, b"", np.array(sorted(own), np.uint64).tobytes()) for number, own in enumerate(pages)]
    found = Paragraphs.of(rows).often(least)
    counts = Counter(key for own in pages for key in own)
    kept = [found.keys[low:high].tolist() for low, high in zip(found.ends, found.ends[1:], strict=False)]
    assert kept == [sorted(key for key in own if counts[key] >= least) for own in pages]
    assert len(found.id) == len(found.headline) == len(pages)


def test_a_page_without_a_signature_has_zeros_and_an_unknown_time_is_none_at_all() -> None:
    unsigned = (2, *ROW[1:3], None, *ROW[4:12], 1, None, None, b"")
    columns = StoredColumns.of([ROW, unsigned] * 1500, HEADER)
    assert columns.id.tolist() == [1, 2] * 1500
    assert (columns.keys[0].tobytes(), columns.record[0].tobytes()) == (KEYS, RECORD)
    assert not columns.keys[1::2].any()
    assert np.isnan(columns.fetched).tolist() == [False, True] * 1500
    assert (columns.noindex.all(), columns.wall.tolist()) == (True, [False, True] * 1500)
    assert len({id(root) for root in columns.root}) == 1
    empty = StoredColumns.of([], HEADER)
    assert {len(column) for column in empty} == {0}
    assert empty.keys.shape == (0, HEADER.keys)


@pytest.mark.parametrize(("place", "value"), [(0, "1"), (2, None), (3, "5"), (13, KEYS[1:]), (14, "")])
def test_values_of_other_types_and_sizes_are_refused(place: int, value: object) -> None:
    with pytest.raises(ValueError, match="of other"):
        StoredColumns.of([ROW, (*ROW[:place], value, *ROW[place + 1 :])], HEADER)


@given(st.lists(st.text(alphabet="ab", max_size=2)))
def test_places_of_texts_are_those_of_their_sorted_set(texts: list[str]) -> None:
    assert text_places(texts).tolist() == [sorted(set(texts)).index(text) for text in texts]


def test_what_a_full_disk_does_not_take_is_one_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "pages.sqlite")
    store.begin({})
    store._database.execute("PRAGMA max_page_count = 1")
    with pytest.raises(OSError, match="look at the disk"):
        store.set_meta("inputs", ["x" * 1_000_000])
    store.close()
