"""Blocks of documents return what was put into them, whatever the URLs; a chunk at a time or all at once."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.lmdb.blocks import (
    block_size,
    decode_block,
    decode_logged,
    encode_block,
    encode_logged,
)
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, Family
from tests.examples import examples

HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL, 2)), (("time", "<u4"), ("sketch", "(5,)u1")))
BARE = Header((Family(LAYOUTS[4]),))

urls = st.one_of(
    st.just(""),
    st.text(max_size=20),
    st.text(st.characters(categories=["Cs"]), max_size=3),  # lone surrogates
    st.sampled_from(("https://a.example/1", "https://a.example/2", "\x00", "\n", "ÿ", "\xff\n")),
)


def documents(urls: list[str], header: Header) -> Documents:
    rng = np.random.default_rng(len(urls))
    records = (
        np.frombuffer(rng.bytes(header.dtype.itemsize * len(urls)), header.dtype).copy()
        if header.record
        else None
    )
    keys = rng.integers(0, 2**64, (header.keys, len(urls)), np.uint64)
    return Documents(
        keys, np.zeros(len(urls), header.dtype) if records is None else records, urls, [b""] * len(urls)
    )


def test_a_number_of_documents_that_cannot_be_takes_no_memory() -> None:
    """The number is in no checksum: the flip of one bit makes it two thousand million."""
    block, logged = encode_block(documents(["a"], HEADER)), encode_logged(documents(["a"], BARE))
    for count in (1 << 31, 1 << 20, 4_000):
        for data, decode, header in ((block, decode_block, HEADER), (logged, decode_logged, BARE)):
            tracemalloc.start()
            with pytest.raises(IndexCorrupted, match="cannot be read"):
                decode(count.to_bytes(4, "little") + data[4:], header)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 1 << 20


@given(urls=st.lists(urls, max_size=80), header=st.sampled_from((HEADER, BARE)), data=st.data())
@examples(50)
def test_round_trip(urls: list[str], header: Header, data: st.DataObject) -> None:
    new = documents(urls, header)
    logged = decode_logged(encode_logged(new), header, check=True)
    block = encode_block(new)
    stored = decode_block(block, header, check=True)
    assert block_size(block) == block_size(encode_logged(new)) == len(urls)
    assert np.array_equal(logged.keys, new.keys)
    assert logged.urls == stored.urls == urls
    assert logged.records.tobytes() == stored.records.tobytes() == new.records.tobytes()
    if urls:
        rows = np.array(data.draw(st.lists(st.integers(0, len(urls) - 1), max_size=5)), np.int64)
        some = decode_block(memoryview(block), header, rows)
        assert some.urls == [urls[row] for row in rows]
        assert some.records.tobytes() == new.records[rows].tobytes()


def test_what_is_decoded_outlives_the_block() -> None:
    block = bytearray(encode_block(documents(["https://a.example/"] * 3, HEADER)))
    stored = decode_block(block, HEADER)
    before = stored.records.copy()
    block[:] = bytes(len(block))
    assert np.array_equal(stored.records, before)


def test_bytes_that_are_the_same_in_all_records_are_stored_once() -> None:
    header = replace(HEADER, record=(("scope", "<u8"), ("time", "<u4"), ("sketch", "(5,)u1")))
    some = documents([""] * 1000, header)
    some.records["scope"] = 2**63 + 5
    some.records["time"] = 1_700_000_000 + np.arange(1000) % 256
    block = encode_block(some)
    assert len(block) < 1000 * (1 + 1 + 5) + 300  # two bytes of the time differ
    assert decode_block(block, header).records.tobytes() == some.records.tobytes()
    alike = documents(["u"] * 3, header)
    alike.records[:] = alike.records[0]
    assert decode_block(encode_block(alike), header).records.tobytes() == alike.records.tobytes()


def test_a_checksum_that_does_not_match() -> None:
    block = bytearray(encode_block(documents(["u"], HEADER)))
    block[9] ^= 1
    decode_block(block, HEADER)
    with pytest.raises(IndexCorrupted, match="checksum"):
        decode_block(block, HEADER, check=True)
