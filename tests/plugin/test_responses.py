"""Which responses are examined, and under which URL a page is filed."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter

from scrapy_neardup.plugin.responses import is_for_spider, page_url, skip_reason
from scrapy_neardup.plugin.settings import CrawlOptions

URL = "https://a.example/page"
CONFIG = CrawlOptions.from_settings(
    Settings({
        "NEARDUP_MAX_BODY_SIZE": 2000,
        "NEARDUP_RULES": [{"url": "/off/", "policy": False}, {"url": "/tagged/", "policy": "tag"}],
    })
)  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "meta", "reason"),
    [
        ({}, {}, None),
        ({"status": 199}, {}, "status"),
        ({"status": 203}, {}, None),
        ({"status": 299}, {}, None),
        ({"status": 300}, {}, "status"),
        ({"status": 404}, {}, "status"),
        ({"kind": TextResponse}, {}, "not_html"),
        ({"kind": Response}, {}, "not_html"),
        ({"kind": TextResponse, "headers": {"Content-Type": "text/html; charset=utf-8"}}, {}, None),
        ({"kind": Response, "headers": {"Content-Type": "Application/XHTML+XML"}}, {}, None),
        ({"kind": Response, "headers": {"Content-Type": "text/htmlx"}}, {}, "not_html"),
        ({"kind": Response, "headers": {"Content-Type": "application/json"}}, {}, "not_html"),
        (
            {"kind": Response, "headers": {"Content-Type": "text/html", "Content-Encoding": "dcb"}},
            {},
            "not_html",
        ),
        ({"body": b""}, {}, "empty"),
        ({"body": b"x"}, {}, None),
        ({"body": bytes(CONFIG.max_body_size)}, {}, None),
        ({"body": bytes(CONFIG.max_body_size + 1)}, {}, "too_large"),
        ({"url": "https://a.example/off/1"}, {}, "rule"),
        ({"url": "https://a.example/tagged/1"}, {}, None),
        ({"url": "https://a.example/off/1"}, {"neardup": True}, None),
        ({"url": "https://a.example/off/1"}, {"neardup": "tag"}, None),
        ({}, {"neardup": False}, "meta"),
        ({}, {"neardup": 0}, None),  # only False itself says so
        ({"status": 404, "body": b""}, {"neardup": False}, "meta"),
        ({"status": 404, "body": b""}, {}, "status"),
    ],
)
def test_why_a_response_is_not_examined(fields, meta, reason):
    fields = {"url": URL, "body": b"<p>words", **fields}
    response = fields.pop("kind", HtmlResponse)(**fields)
    assert skip_reason(Request(URL, meta=meta), response, CONFIG) == reason


def test_what_goes_to_a_callback():
    assert is_for_spider(Request(URL))
    assert is_for_spider(Request(URL, callback=print))
    assert not is_for_spider(Request(URL, callback=NO_CALLBACK))


@pytest.mark.parametrize(
    ("asked", "answered", "keep", "filed"),
    [
        (URL, URL, False, URL),
        (URL, f"{URL}#top", False, URL),
        (f"{URL}#top", URL, False, URL),
        (f"{URL}#top", URL, True, f"{URL}#top"),  # Scrapy may leave the fragment out
        (f"{URL}#top", f"{URL}#end", True, f"{URL}#end"),
        (URL, f"{URL}#end", True, f"{URL}#end"),
        (URL, URL, True, URL),
        (f"{URL}#", f"{URL}#", True, URL),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_url_of_a_page(asked, answered, keep, filed, method):
    request = Request(asked, method=method)
    assert page_url(Response(answered), request, RequestFingerprinter(), keep_fragments=keep) == filed


@pytest.mark.parametrize("keep", [False, True])
def test_pages_that_were_asked_for_otherwise_are_told_apart(keep):
    asked = [
        Request(f"{URL}#top", method="POST", body=b"page=1"),
        Request(f"{URL}#top", method="POST", body=b"page=2"),
        Request(f"{URL}#top", method="POST"),
        Request(f"{URL}#top", method="PUT"),
        Request(f"{URL}#top", method="GET", body=b"page=1"),
    ]
    fingerprinter = RequestFingerprinter()
    filed = [page_url(Response(f"{URL}#top"), each, fingerprinter, keep_fragments=keep) for each in asked]
    assert len({*filed}) == len(asked)
    for each, url in zip(asked, filed, strict=True):
        assert url == f"{URL}#{each.method}-{fingerprinter.fingerprint(each).hex()[:16]}"
