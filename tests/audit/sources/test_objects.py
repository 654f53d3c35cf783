"""The outermost objects of any JSON are found, however it comes in chunks."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.sources.objects import split_objects

VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=4)


@given(OBJECTS, st.integers(1, 40), st.booleans(), st.sampled_from([None, 2]))
def test_objects_come_out_as_they_went_in(
    objects: list[dict[str, object]], size: int, ascii_only: bool, indent: int | None
) -> None:
    data = json.dumps(objects, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "replace")
    expected = json.loads(data)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    found = list(split_objects(chunks))
    assert [number for number, _ in found] == list(range(1, len(objects) + 1))
    assert [json.loads(content) for _, content in found] == expected


@given(st.binary(max_size=200), st.integers(1, 40))
def test_chunks_do_not_matter_for_garbage(data: bytes, size: int) -> None:
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert [*split_objects(chunks)] == [*split_objects([data] if data else [])]


@given(st.text('{}[]",:\\a\n', max_size=60), st.integers(1, 7))
def test_chunks_do_not_matter_for_nearly_json(text: str, size: int) -> None:
    data = text.encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert [*split_objects(chunks)] == [*split_objects([data] if data else [])]


def test_cut_array() -> None:
    whole = [*split_objects([b'[{"a": 1},\n{"b": 2}'])]
    assert whole[:2] == [(1, b'{"a": 1}'), (2, b'{"b": 2}')]
    assert "without the end of its array" in str(whole[2][1])
    assert "in the middle" in str([*split_objects([b'[{"a": 1},\n{"b": '])][1][1])
