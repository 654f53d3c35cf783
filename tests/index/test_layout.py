"""Blocks, partitions, states and lists of removed documents give back what was put into them."""

import tracemalloc

import lmdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_neardup.errors import IndexCorrupted
from scrapy_neardup.index import Documents, Header
from scrapy_neardup.index.lmdb.layout import (
    TOMBSTONES,
    Tombstones,
    block_size,
    decode_block,
    decode_partition,
    encode_block,
    encode_partition,
)
from scrapy_neardup.index.search import sort_entries
from scrapy_neardup.index.tables import EQUAL, LAYOUTS, Family
from tests.examples import examples

HEADER = Header((Family(LAYOUTS[4]), Family(EQUAL, 2)), (("time", "<u4"), ("sketch", "(5,)u1")))
BARE = Header((Family(LAYOUTS[4]),))
KEY = b"key"

urls = st.one_of(
    st.just(""),
    st.text(max_size=20),
    st.text(st.characters(categories=["Cs"]), max_size=3),  # lone surrogates
    st.sampled_from(("https://a.example/1", "https://a.example/2", "\x00", "\n", "ÿ", "\xff\n")),
)


def documents(urls: list[str], header: Header) -> Documents:
    rng = np.random.default_rng(len(urls))
    records = np.zeros(len(urls), header.dtype)
    if header.record:
        records = np.frombuffer(rng.bytes(records.nbytes), header.dtype).copy()
    keys = rng.integers(0, 2**64, (header.keys, len(urls)), np.uint64)
    return Documents(keys, records, urls, [url.encode("utf-8", "replace") * (len(url) % 3) for url in urls])


@given(urls=st.lists(urls, max_size=80), header=st.sampled_from((HEADER, BARE)), data=st.data())
@examples(50)
def test_a_block_comes_back(urls: list[str], header: Header, data: st.DataObject) -> None:
    new = documents(urls, header)
    log, block = encode_block(new.stored, KEY, new.keys), encode_block(new.stored, KEY)
    assert block_size(block) == block_size(log) == len(urls)
    logged = decode_block(log, header, keys=header.keys, check=KEY)
    stored = decode_block(block, header, check=KEY)
    assert np.array_equal(logged.keys, new.keys)
    for found in (logged, stored):
        assert (found.urls, found.notes) == (urls, new.notes)
        assert found.records.tobytes() == new.records.tobytes()
    if urls:
        rows = np.array(sorted(data.draw(st.lists(st.integers(0, len(urls) - 1), max_size=5))), np.int64)
        some, expected = decode_block(memoryview(block), header, rows), new.stored.take(rows)
        assert (some.urls, some.notes) == (expected.urls, expected.notes)
        assert some.records.tobytes() == expected.records.tobytes()


def test_damage_of_a_block_is_found_and_takes_no_memory() -> None:
    """Where no checksum is verified, the flip of one bit makes two thousand million documents of one."""
    new = documents(["a"], HEADER)
    for data, keys in (
        (encode_block(new.stored, KEY), 0),
        (encode_block(new.stored, KEY, new.keys), HEADER.keys),
    ):
        for count in (1 << 31, 1 << 20, 4_000):
            tracemalloc.start()
            with pytest.raises(IndexCorrupted, match="cannot be read"):
                decode_block(data[:4] + count.to_bytes(4, "little") + data[8:], HEADER, keys=keys)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 1 << 20
        for broken, key in ((data[:-1] + bytes([data[-1] ^ 1]), KEY), (data, b"another")):
            with pytest.raises(IndexCorrupted, match="checksum"):
                decode_block(broken, HEADER, keys=keys, check=key)


#: Keys that crowd at the ends of the range, or anywhere.
low_bits = st.one_of(st.integers(0, 3), st.integers(2**40 - 3, 2**40 - 1), st.integers(0, 2**40 - 1))


@example(low=list(range(0, 2**40, 2**34)), cut=4, number=3)
@given(low=st.lists(low_bits, max_size=300), cut=st.integers(0, 24), number=st.integers(0, 2**24 - 1))
def test_the_directory_of_a_partition_leads_to_each_key(low: list[int], cut: int, number: int) -> None:
    """All keys of a partition share the first *cut* bits."""
    keys = np.array([(number % (1 << cut)) << (64 - cut) | each << (24 - cut) for each in low], np.uint64)
    entries = sort_entries(keys, np.arange(len(keys), dtype=np.uint32))
    partition = decode_partition(encode_partition(entries, cut, KEY), cut, check=KEY)
    assert np.array_equal(partition.entries.keys, entries.keys)
    assert np.array_equal(partition.entries.documents, entries.documents)
    assert len(partition.starts) == partition.mask + 2
    for row, key in enumerate(entries.keys.tolist()):
        place = (key >> partition.shift) & partition.mask
        assert partition.starts[place] <= row < partition.starts[place + 1]


edge = 5 * TOMBSTONES
numbers = st.one_of(
    st.integers(edge - 5, edge + 20),
    st.integers(edge + TOMBSTONES - 5, edge + TOMBSTONES + 5),
    st.integers(edge, edge + 3 * TOMBSTONES),
)


@given(changes=st.lists(st.sets(numbers), max_size=6))
@example(changes=[{edge + 5, edge + TOMBSTONES, edge + 2 * TOMBSTONES}])
@examples(60)
def test_removed_documents_come_back(
    tmp_path_factory: pytest.TempPathFactory, changes: list[set[int]]
) -> None:
    expected, start, stop = set[int](), edge - 5, edge + 3 * TOMBSTONES + 1
    with lmdb.open(str(tmp_path_factory.mktemp("set")), max_dbs=1, sync=False) as environment:
        database = environment.open_db(b"dead")
        for some in changes:
            expected |= some
            new = np.array(sorted(some), np.int64)
            with environment.begin(write=True, buffers=True) as transaction:
                dead = Tombstones(transaction, database, start, stop)
                dead.add(new)
                dead.write(transaction, database, new)
                assert dead.has(new).all()
        with environment.begin(buffers=True) as transaction:
            dead = Tombstones(transaction, database, start, stop)
            assert (np.flatnonzero(dead.between(start, stop)) + start).tolist() == sorted(expected)
            every = np.arange(start, stop)
            assert every[dead.has(every)].tolist() == sorted(expected)
            assert dead.some == bool(expected)
