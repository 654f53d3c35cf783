"""Content encodings are undone within limits, what is no page is told apart, and heads of pages are read."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest

from scrapy_neardup.audit.sources.records import (
    BrokenRecord,
    Origin,
    PageRecord,
    Skipped,
    Unreadable,
)  # fmt: skip
from scrapy_neardup.audit.sources.responses import (
    decode_body,
    header_forbids,
    page_of_response,
    read_head,
)  # fmt: skip

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
def test_round_trip_within_a_limit(coding: str, encode: Callable[[bytes], bytes]) -> None:
    assert decode_body(encode(BODY), coding.upper()) == BODY
    assert decode_body(BODY, coding) == BODY
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
        ("http://a/", 200, "text/html", BODY, None), ("http://[a/", 200, "text/html", BODY, None),
        ("http://a/", 203, "Application/XHTML+XML ; charset=x", BODY, None),
        ("http://a/", 200, None, BODY, None),
        ("http://a/", 200, None, "<!DOCTYPE html>".encode("utf-16"), None),
        ("http://a/", 200, None, b"body { color: red }", "not_html"),
        ("http://a/", 200, "text/html", b"%PDF-1.7", "not_html"),
        ("http://a/", 200, "text/plain", BODY, "not_html"),
        ("http://a/", 200, "text/html", b"", "empty"), ("http://a/", 302, "text/html", BODY, "redirect"),
        ("http://a/", 404, "text/html", BODY, "error"), ("http://a/", 503, "text/html", BODY, "error"),
        ("http://a/robots.txt?x", 200, "text/html", BODY, "robots"),
    ],
)  # fmt: skip
def test_what_is_a_page(
    url: str, status: int, content_type: str | None, body: bytes, reason: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    record = page_of_response(url, status, headers, body, 5.0, Origin("x"))
    if reason is None:
        assert record == PageRecord(url, None, body, content_type, 5.0, Origin("x"))
    else:
        assert record == Skipped(Origin("x"), reason)  # type: ignore[arg-type]


PAGE = "https://a.example/de/page?x=1"


def head(content: str) -> dict[str, Any]:
    """What the head says, without what it does not say."""
    found = read_head(content.encode(), None, PAGE)
    return {name: value for name, value in found.items() if value}


LINK = '<link rel="canonical" href="/de/page"/>'
NAMED = {"declared": PAGE.partition("?")[0]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<title>x</title>", {"title": "x"}),
        ('<meta name="Robots" content="follow, NOINDEX">', {"noindex": True}),
        ('<meta name="googlebot" content="none">', {"noindex": True}),
        ('<meta name="otherbot" content="noindex">', {}),
        (LINK, NAMED),
        (f"<html><head>{LINK}</head><body>", NAMED),
        (f"<meta charset=utf-8>{LINK}<p>y</p>", NAMED),
        (f'<?xml version="1.0" encoding="iso-8859-1"?>\n<html xmlns="x"><head>{LINK}</head>', NAMED),
        ('<link rel="canonical" href=""><meta property="og:url" content="/de/page">', NAMED),
        ('<link rel="canonical" href="javascript:x">', {}),
        (
            '<link rel="alternate" hreflang="EN" href="/en/page"><link rel="alternate" href="/feed.xml">',
            {"alternates": '{"en": "https://a.example/en/page"}'},
        ),
        # Links that readers may have written say nothing of the page.
        (f"<title>x</title><body><p>a comment {LINK}", {"title": "x"}),
    ],
)
def test_the_head_of_a_page(content: str, expected: dict[str, Any]) -> None:
    assert head(content) == expected


@pytest.mark.parametrize(
    ("value", "forbids"),
    [
        ("", False), ("noindex, nofollow", True), ("googlebot: noindex", True), ("otherbot: noindex", False),
        ("otherbot: nofollow, googlebot: none", True),
    ],
)  # fmt: skip
def test_the_robots_header(value: str, forbids: bool) -> None:
    assert header_forbids(value) is forbids


def test_the_head_of_a_page_that_was_saved_as_utf8_is_read_as_that() -> None:
    """It may still declare the charset that it had first, and its text is read as UTF-8, too."""
    title = "Новая переправа через пролив открыта"
    page = f"<html><head><meta charset=windows-1251><title>{title}</title></head>"
    assert read_head(page.encode(), None, PAGE)["title"] == title
    assert read_head(page.encode("cp1251"), None, PAGE)["title"] == title


def test_heads_are_read_in_linear_time() -> None:
    started = time.process_time()
    assert head("<title " * (1 << 15)) == {}
    assert time.process_time() - started < 1.5  # quadratic time takes five seconds
