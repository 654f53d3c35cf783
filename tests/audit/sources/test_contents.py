"""Content encodings are undone within limits, and what is no page is told apart."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest

from scrapy_neardup.audit.sources.records import BrokenRecord, CrawledPage, Origin, Skipped, Unreadable
from scrapy_neardup.audit.sources.responses import decode_body, page_of_response

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from compression import zstd
except ImportError:
    from backports import zstd

BODY = b"<html>" + b"words " * 100_000 + b"</html>"


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(data) + encoder.flush()


ENCODERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate),
    ("br", brotli.compress), ("zstd", zstd.compress), ("identity", bytes), ("", bytes),
    ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
]  # fmt: skip


@pytest.mark.parametrize(("coding", "encode"), ENCODERS)
def test_round_trip(coding: str, encode: Callable[[bytes], bytes]) -> None:
    assert decode_body(encode(BODY), coding.upper()) == BODY
    assert decode_body(BODY, coding) == BODY


@pytest.mark.parametrize(("coding", "encode"), ENCODERS)
def test_limit(coding: str, encode: Callable[[bytes], bytes]) -> None:
    assert decode_body(encode(BODY), coding, len(BODY)) == BODY
    with pytest.raises(Unreadable):
        decode_body(encode(BODY), coding, len(BODY) - 1)


@pytest.mark.parametrize(("coding", "encode"), [pair for pair in ENCODERS if pair[1] is not bytes])
@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"\x01\xfe\xaa" + data[9:]]
)
def test_damaged_body_is_a_problem(
    coding: str, encode: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]
) -> None:
    headers = {"content-type": "text/html", "content-encoding": coding}
    record = page_of_response("http://a/", 200, headers, damage(encode(BODY)), None, Origin("x"))
    assert isinstance(record, BrokenRecord)
    assert "cannot be decoded" in record.reason


@pytest.mark.parametrize("coding", ["rot13", ",".join(["gzip"] * 5)])
def test_unknown_or_too_many_encodings(coding: str) -> None:
    with pytest.raises(Unreadable):
        decode_body(b"\x00", coding)


@pytest.mark.parametrize(
    ("url", "status", "content_type", "body", "reason"),
    [
        ("http://a/", 200, "text/html", BODY, None),
        ("http://a/", 203, "Application/XHTML+XML ; charset=x", BODY, None),
        ("http://a/", 200, None, BODY, None),
        ("http://a/", 200, None, "<!DOCTYPE html>".encode("utf-16"), None),
        ("http://a/", 200, None, b"body { color: red }", "not_html"),
        ("http://a/", 200, "text/html", b"%PDF-1.7", "not_html"),
        ("http://a/", 200, "text/plain", BODY, "not_html"),
        ("http://a/", 200, "text/html", b"", "empty"),
        ("http://a/", 302, "text/html", BODY, "redirect"),
        ("http://a/", 404, "text/html", BODY, "error"),
        ("http://a/", 503, "text/html", BODY, "error"),
        ("http://a/robots.txt?x", 200, "text/html", BODY, "robots"),
        ("http://[a/", 200, "text/html", BODY, None),
    ],
)
def test_what_is_a_page(
    url: str, status: int, content_type: str | None, body: bytes, reason: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    record = page_of_response(url, status, headers, body, 5.0, Origin("x"))
    if reason is None:
        assert record == CrawledPage(url, None, body, content_type, 5.0, Origin("x"))
    else:
        assert record == Skipped(Origin("x"), reason)  # type: ignore[arg-type]
