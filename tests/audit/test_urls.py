"""URLs are split into parts whatever they are, and the segments of their paths are told apart by kind."""

from __future__ import annotations

import time

import pytest

from scrapy_neardup.audit.urls import Url, generalise, parameter_name, split_url


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("HTTPS://User:pw@A.Example:443/P?b=1&&a#f", Url("https", "a.example", "/P", ("b=1", "a"))),
        ("http://a.example:8080", Url("http", "a.example:8080", "/", ())),
        ("http://[::1", Url("http", "[::1", "/", ())),
        (" \thttp://a.example/x\n", Url("http", "a.example", "/x", ())),
        ("javascript:alert(1)", Url("javascript", "", "alert(1)", ())),
        ("pages/a b.html", Url("", "", "pages/a b.html", ())),
        ("", Url("", "", "", ())),
    ],
)
def test_split_url(url: str, parts: Url) -> None:
    assert split_url(url) == parts


def test_parameter_names_are_decoded() -> None:
    assert parameter_name("utm%5Fsource=a%20b") == "utm_source"
    assert parameter_name("%ff=1") == "\ufffd"


@pytest.mark.parametrize(
    ("segment", "pattern"),
    [
        ("2024-05-17", "{date}"), ("20240517", "{date}"), ("12345", "{number}"), ("index.html", "index.html"),
        ("550e8400-e29b-41d4-a716-446655440000", "{id}"), ("deadbeef", "{id}"), ("a1b2c3d4e5f6", "{id}"),
        ("a-b-c.htm", "{slug}.htm"), ("news", "news"), ("", ""),
    ],
)  # fmt: skip
def test_generalise(segment: str, pattern: str) -> None:
    assert generalise(segment) == pattern


@pytest.mark.parametrize(
    "segment", ["9" * 5000 + "!", "9abc-" * 1000 + "!", "a" * 50_000 + "1!", "2024-" * 9000]
)
def test_no_segment_takes_long(segment: str) -> None:
    started = time.process_time()
    generalise(segment)
    assert time.process_time() - started < 1  # a millisecond; with each way to cut the digits, for ever
