"""Values on a server that others have written or cut are refused in a sentence, as a damaged index is."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_neardup.errors import ConfigurationError, IndexCorrupted, IndexMismatch
from scrapy_neardup.fingerprint import Fingerprinter
from scrapy_neardup.matching.records import entries, header_for

pytest.importorskip("redis", reason="redis-py is not installed: pip install 'scrapy-neardup[redis]'")

from scrapy_neardup.index.redis import Address
from scrapy_neardup.index.redis.buckets import Bucket
from scrapy_neardup.index.redis.layout import EQUAL_BYTES, NEAR_BYTES, VERSION, Layout
from scrapy_neardup.index.redis.opening import read_header, require_fit

if TYPE_CHECKING:
    from scrapy_neardup.index import Documents

FINGERPRINTER = Fingerprinter()
HEADER = header_for(FINGERPRINTER, "plain 1")
LAYOUT = Layout(HEADER, b"p:")


def server(answer: bytes) -> Any:
    return SimpleNamespace(address=Address.parse("redis://h/0"), call=lambda *_: answer)


def document() -> Documents:
    return entries([FINGERPRINTER.signature("some words " * 30)], ["https://a.example/"], HEADER)


@pytest.mark.parametrize(
    "data", [b"3", b"null", b"[1]", b"[1, 2, 3]", b"{}", b"\xff", b"[" * 5000, b"[%d, 5]" % VERSION]
)
def test_what_is_no_header(data: bytes) -> None:
    with pytest.raises((IndexCorrupted, IndexMismatch), match=r"header|layout"):
        read_header(server(data))


def test_a_sound_header() -> None:
    assert read_header(server(json.dumps([VERSION, json.loads(HEADER.to_json())]).encode())) == HEADER


@pytest.mark.parametrize("version", ["", "x", "7.x", "7", "6.0.16", "²", pytest.param("7" * 5000, id="long")])
def test_a_version_that_is_none_or_too_old(version: str) -> None:
    info = f"redis_version:{version}\r\nmaxmemory:0\r\n".encode()
    if version == "7":
        require_fit(server(info), 0)
        return
    with pytest.raises(ConfigurationError, match=r"use 6\.2 or newer"):
        require_fit(server(info), 0)


def test_a_document_that_was_cut_anywhere() -> None:
    value = LAYOUT.value(document())
    whole = 8 * HEADER.keys + HEADER.dtype.itemsize
    for size in range(whole):
        with pytest.raises(IndexCorrupted, match="document"):
            LAYOUT.documents([value, value[:size]])
    assert LAYOUT.documents([value[:whole]]).urls == [""]
    assert LAYOUT.documents([]).urls == []


def test_a_url_that_is_no_text() -> None:
    with pytest.raises(IndexCorrupted, match="document"):
        LAYOUT.documents([LAYOUT.value(document()) + b"\xff"])


@pytest.mark.parametrize("size", [EQUAL_BYTES, NEAR_BYTES])
def test_a_bucket_that_was_cut(size: int) -> None:
    for length in range(1, 4 * size):
        if length % size:
            with pytest.raises(IndexCorrupted, match="bucket"):
                Bucket.unknown(size).followed(0, bytes(length))
    assert len(Bucket.unknown(size).followed(0, bytes(4 * size)).keys) == 4
