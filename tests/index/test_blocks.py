"""Blocks of documents and partitions of tables give back what was put into them, whatever that is."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.lmdb.blocks import (
    block_size,
    decode_block,
    decode_logged,
    decode_partition,
    encode_block,
    encode_logged,
    encode_partition,
    is_whole,
)
from scrapy_neardup.index.sorted_arrays import sort_entries
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


#: Keys that crowd at the ends of the range, or anywhere.
low_bits = st.one_of(st.integers(0, 3), st.integers(2**40 - 3, 2**40 - 1), st.integers(0, 2**40 - 1))


@example(low=list(range(0, 2**40, 2**34)), cut=4, number=3)
@given(low=st.lists(low_bits, max_size=300), cut=st.integers(0, 24), number=st.integers(0, 2**24 - 1))
def test_the_directory_leads_to_each_key(low: list[int], cut: int, number: int) -> None:
    """All keys of a partition share the first *cut* bits."""
    keys = np.array([(number % (1 << cut)) << (64 - cut) | each << (24 - cut) for each in low], np.uint64)
    entries = sort_entries(keys, np.arange(len(keys), dtype=np.uint32))
    data = encode_partition(entries, cut)
    assert is_whole(data)
    partition = decode_partition(data, cut)
    assert np.array_equal(partition.entries.keys, entries.keys)
    assert np.array_equal(partition.entries.documents, entries.documents)
    assert len(partition.starts) == partition.mask + 2
    for row, key in enumerate(entries.keys.tolist()):
        place = (key >> partition.shift) & partition.mask
        assert partition.starts[place] <= row < partition.starts[place + 1]


def test_a_partition_that_is_cut_short_is_refused() -> None:
    data = encode_partition(sort_entries(np.arange(50, dtype=np.uint64), np.arange(50, dtype=np.uint32)), 0)
    for size in (0, 7, len(data) - 1):
        assert not is_whole(data[:size])
        with pytest.raises(IndexCorrupted, match="cut short or missing"):
            decode_partition(data[:size], 0)
