"""What comes from outside: URLs, and values on a server that others have written or cut."""

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
    EQUAL_BYTES,
    NEAR_BYTES,
    URL_PARTS,
    Generation,
    Layout,
    Place,
    compared,
)
from scrapy_neardup.index.redis.server import require_fit

if TYPE_CHECKING:
    from collections.abc import Callable

FINGERPRINTER = Fingerprinter()
HEADER = header_for(FINGERPRINTER, "plain 1")
LAYOUT = Layout(HEADER, [b"p:"])


def test_a_url_of_a_cluster_names_some_of_its_nodes() -> None:
    address = Address.parse("rediss+cluster://me:p%40ss@one:1,two,[::1]:3/0?name=news&ssl_cert_reqs=none")
    assert address.server == "rediss://me:p%40ss@?ssl_cert_reqs=none"
    assert address.hosts == (("one", 1), ("two", 6379), ("::1", 3))
    assert address.name == "news"
    assert address.shown == "rediss+cluster://one:1,two,[::1]:3/0?name=news&ssl_cert_reqs=none"
    assert Address.parse("redis+cluster://one").hosts == (("one", 6379),)


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://u:secret@host:1,other:2/3",
        "redis+cluster://u:secret@host:1/pages",
        "redis+cluster://u@host:1?sentinel_password=secret",
        "redis+sentinel://u:secret@host:1/",
        "redis+sentinel://u@host:1/pages?sentinel_password=secret&ssl_cert_reqs=none",
        "redis+other://u:secret@host:1",
        "redis://u:secret@host:1,other:2/0",
        "redis://u:sec/ret@host/0",
        "redis://u:secret@host:port/0",
        "redis://u:secret@host/news",
        "redis://u:secret@host/0?name=a{b}",
        "redis://u:secret@host/0?ssl_cert_reqs=none",
        "redis://u:secret@host/0#news",
        "unix://u:secret@host?db=0",
    ],
)
def test_what_cannot_be_meant_is_one_sentence_without_the_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="use redis://") as error:
        Address.parse(url)
    assert "sec" not in str(error.value)


@pytest.mark.parametrize("version", ["", "x", "6.0.16", "²"])
def test_a_version_that_is_none_or_too_old(version: str) -> None:
    info = {"redis_version": version}
    server: Any = SimpleNamespace(address=Address.parse("redis://h/0"), call=lambda *_, **__: info)
    with pytest.raises(ConfigurationError, match=r"use 6\.2 or newer"):
        require_fit(server, 0)


@st.composite
def random_documents(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Documents:
    """Make documents whose records are now random bits, now mostly zero, and any URL."""
    keys, size = draw(st.binary(min_size=8 * HEADER.keys, max_size=8 * HEADER.keys)), HEADER.dtype.itemsize
    zeros = st.binary(max_size=9).map(lambda some: some.ljust(size, b"\0"))
    return Documents(
        np.frombuffer(keys, "<u8").astype(np.uint64)[:, np.newaxis],
        np.frombuffer(draw(st.binary(min_size=size, max_size=size) | zeros), HEADER.dtype),
        [draw(st.text(st.characters(codec=None), max_size=200))],
        [draw(st.binary(max_size=100))],
    )


@given(random_documents())
def test_a_document_is_unpacked_as_it_was_packed(one: Documents) -> None:
    again = LAYOUT.unpack([LAYOUT.pack(one)])
    assert (again.keys == one.keys).all()
    assert again.records.tobytes() == one.records.tobytes()
    assert (again.urls, again.notes) == (one.urls, one.notes)


def test_a_document_that_was_cut_anywhere_or_unpacks_to_more_than_any_has() -> None:
    document = entries([FINGERPRINTER.signature("some words " * 30)], ["https://a.example/"], HEADER)
    value, keys = LAYOUT.pack(document), bytes(8 * HEADER.keys)
    packer = zlib.compressobj(wbits=-11, zdict=keys + URL_PARTS)
    bomb = keys + packer.compress(bytes(1 << 25)) + packer.flush()
    for wrong in (*(value[:size] for size in range(len(value))), value + bytes(4097), bomb):
        with pytest.raises(IndexCorrupted, match="document"):
            LAYOUT.unpack([value, wrong])
    assert LAYOUT.unpack([]).urls == []


def test_buckets_and_generations_that_were_cut() -> None:
    for width in (NEAR_BYTES, EQUAL_BYTES):
        probe = 0, Place(b"", bytes(width - 4), start=1 << 50, within=64)
        for length in range(4 * width):
            if length % width:
                with pytest.raises(IndexCorrupted, match="bucket"):
                    compared([probe], {b"": bytes(length)}, width)
            else:
                assert len(compared([probe], {b"": bytes(length)}, width).document) == length // width
    for data in (b"", b"1", b"x:1", b"1:2:3", b"1:2 \xff"):
        with pytest.raises(IndexCorrupted, match="generations"):
            Generation.parse(data)


@given(st.integers(0, 1 << 52), st.lists(st.integers(0, (1 << 32) - 1), max_size=9))
def test_numbers_are_whole_again(start: int, places: list[int]) -> None:
    numbers = [start + each for each in places]
    data = b"".join(b"ab" + (number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
    probe = 7, Place(b"", b"ab", start=start)
    assert compared([probe], {b"": data}, EQUAL_BYTES).document.tolist() == numbers
