"""URLs are split into parts whatever they are."""

from __future__ import annotations

import pytest

from scrapy_neardup.audit.urls import Url, split_url


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
