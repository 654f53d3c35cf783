"""Values on a server that others have written or cut are refused in a sentence, as a damaged index is."""

from __future__ import annotations

import zlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import ConfigurationError, IndexCorrupted
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.index import Documents
from scrapy_neardup.matching.records import entries, header_for

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address
from scrapy_neardup.index.redis.layout import (
    NEAR_BYTES,
    URL_PARTS,
    Generation,
    Layout,
    unpack_near,
    unpack_numbers,
)
from scrapy_neardup.index.redis.server import require_fit

if TYPE_CHECKING:
    from collections.abc import Callable

FINGERPRINTER = Fingerprinter()
HEADER = header_for(FINGERPRINTER, "plain 1")
LAYOUT = Layout(HEADER, b"p:")


def server(answer: bytes) -> Any:
    return SimpleNamespace(address=Address.parse("redis://h/0"), call=lambda *_: answer)


@st.composite
def random_documents(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Documents:
    """Make documents whose records are now random bits, now mostly zero, and any URL."""
    keys = draw(st.binary(min_size=8 * HEADER.keys, max_size=8 * HEADER.keys))
    size = HEADER.dtype.itemsize
    record = draw(
        st.binary(min_size=size, max_size=size) | st.binary(max_size=9).map(lambda b: b.ljust(size, b"\0"))
    )
    url = draw(st.text(st.characters(codec=None), max_size=200))
    return Documents(
        np.frombuffer(keys, "<u8").astype(np.uint64)[:, np.newaxis],
        np.frombuffer(record, HEADER.dtype),
        [url],
        [draw(st.binary(max_size=100))],
    )


def document() -> Documents:
    return entries([FINGERPRINTER.signature("some words " * 30)], ["https://a.example/"], HEADER)


@pytest.mark.parametrize("version", ["", "x", "7", "6.0.16", "²", pytest.param("7" * 5000, id="long")])
def test_a_version_that_is_none_or_too_old(version: str) -> None:
    info = f"redis_version:{version}\r\nmaxmemory:0\r\n".encode()
    if version == "7":
        require_fit(server(info), 0)
        return
    with pytest.raises(ConfigurationError, match=r"use 6\.2 or newer"):
        require_fit(server(info), 0)


def test_a_document_that_was_cut_anywhere() -> None:
    value = LAYOUT.values.pack(document())
    for size in range(len(value)):
        with pytest.raises(IndexCorrupted, match="document"):
            LAYOUT.values.unpack([value, value[:size]])
    with pytest.raises(IndexCorrupted, match="document"):
        LAYOUT.values.unpack([value + bytes(4097)])
    assert LAYOUT.values.unpack([]).urls == []


@given(random_documents())
def test_a_document_is_unpacked_as_it_was_packed(one: Documents) -> None:
    again = LAYOUT.values.unpack([LAYOUT.values.pack(one)])
    assert (again.keys == one.keys).all()
    assert again.records.tobytes() == one.records.tobytes()
    assert again.urls == one.urls
    assert again.notes == one.notes


def test_a_document_that_unpacks_to_more_than_any_has() -> None:
    keys = bytes(8 * HEADER.keys)
    packer = zlib.compressobj(wbits=-11, zdict=keys + URL_PARTS)
    bomb = keys + packer.compress(bytes(1 << 25)) + packer.flush()
    with pytest.raises(IndexCorrupted, match="document"):
        LAYOUT.values.unpack([bomb])


def test_a_bucket_that_was_cut() -> None:
    generation = Generation(1 << 50, 0)
    for length in range(1, 4 * NEAR_BYTES):
        if length % NEAR_BYTES:
            with pytest.raises(IndexCorrupted, match="bucket"):
                unpack_near(bytes(length), generation)
        if length % 4:
            with pytest.raises(IndexCorrupted, match="bucket"):
                unpack_numbers(bytes(length), generation)
    assert len(unpack_near(bytes(4 * NEAR_BYTES), generation)[0]) == 4
    for data in (b"", b"1", b"x:1", b"1:2:3", b"1:2 \xff"):
        with pytest.raises(IndexCorrupted, match="generations"):
            Generation.parse(data)


@given(st.integers(0, 1 << 52), st.lists(st.integers(0, (1 << 32) - 1), max_size=9))
def test_numbers_are_whole_again(start: int, places: list[int]) -> None:
    numbers = [start + each for each in places]
    data = b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
    assert unpack_numbers(data, Generation(start, 4)).tolist() == numbers
