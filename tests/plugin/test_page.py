"""What the response and request of a page say of it, and what its verdict leaves on it."""

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter

from scrapy_neardup.extraction import Page, load_extractor
from scrapy_neardup.extraction.task import extract
from scrapy_neardup.plugin.marks import clear_marks, mark, match_of
from scrapy_neardup.plugin.responses import asks_again, declared_canonical, page_url, skip_reason
from scrapy_neardup.plugin.settings import CrawlOptions
from scrapy_neardup.verdict import Verdict

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
        ({"status": 299}, {}, None),
        ({"status": 404, "body": b""}, {}, "status"),
        ({"kind": TextResponse}, {}, "not_html"),
        ({"kind": TextResponse, "headers": {"Content-Type": "text/html; charset=utf-8"}}, {}, None),
        ({"kind": Response, "headers": {"Content-Type": "Application/XHTML+XML"}}, {}, None),
        (
            {"kind": Response, "headers": {"Content-Type": "text/html", "Content-Encoding": "dcb"}},
            {},
            "not_html",
        ),
        ({"body": b""}, {}, "empty"),
        ({"body": bytes(CONFIG.max_body_size)}, {}, None),
        ({"body": bytes(CONFIG.max_body_size + 1)}, {}, "too_large"),
        ({"url": "https://a.example/off/1"}, {}, "rule"),
        ({"url": "https://a.example/tagged/1"}, {}, None),
        ({"url": "https://a.example/off/1"}, {"neardup": "tag"}, None),
        ({}, {"neardup": False}, "meta"),
        ({}, {"neardup": 0}, None),  # only False itself says so
        ({"status": 404}, {"neardup": False}, "meta"),
    ],
)
def test_why_a_response_is_not_examined(fields, meta, reason):
    fields = {"url": URL, "body": b"<p>words", **fields}
    response = fields.pop("kind", HtmlResponse)(**fields)
    stat = reason and f"skipped/{reason}"
    assert skip_reason(Request(URL, meta=meta), response, CONFIG) == stat


def test_pages_that_were_asked_for_otherwise_are_told_apart():
    fingerprinter, answer = RequestFingerprinter(), Response(f"{URL}#top")
    for method in ("GET", "HEAD"):
        assert page_url(answer, Request(f"{URL}#top", method=method), fingerprinter) == URL
    asked = [
        Request(f"{URL}#top", method="POST", body=b"page=1"),
        Request(f"{URL}#top", method="POST", body=b"page=2"),
        Request(f"{URL}#top", method="POST"),
        Request(f"{URL}#top", method="PUT"),
        Request(f"{URL}#top", method="GET", body=b"page=1"),
    ]
    filed = [page_url(answer, each, fingerprinter) for each in asked]
    assert len({*filed}) == len(asked)
    assert all(url.startswith(f"{URL}#{each.method}-") for each, url in zip(asked, filed, strict=True))


FIRST = Request("https://a.example/1")


@pytest.mark.parametrize(
    ("again", "first", "same"),
    [
        (FIRST.replace(dont_filter=True), FIRST, True),
        (FIRST, FIRST.replace(dont_filter=True), True),
        (FIRST, FIRST, False),  # Scrapy does not send it
        (Request("https://a.example/1#part", dont_filter=True), FIRST, True),
        (Request("https://a.example/2", dont_filter=True), FIRST, False),
        (FIRST.replace(body=b"q=1", dont_filter=True), FIRST, False),
        (
            Request("https://a.example/form", method="POST", body=b"q=1", dont_filter=True),
            FIRST.replace(meta={"redirect_urls": ["https://a.example/form"]}),
            True,
        ),
    ],
)
def test_what_asks_for_the_same_page(again, first, same):
    assert asks_again(again, first) is same


@pytest.mark.parametrize(
    ("body", "canonical"),
    [
        ("<LINK rel='alternate Canonical' href=/b?a=1&amp;b=2#x>", "https://a.example/b?a=1&b=2"),
        ("<link rel='canonical' href='//c.example/ü'>", "https://c.example/%C3%BC"),
        ('<link\nhref="x" title="y"\nrel="canonical"/>', "https://a.example/x"),
        ("<link rel=canonical href='javascript:x'>", None),
        ("<link rel=canonical href='http://[x'>", None),
        ("<p></p><body class=x><textarea><link rel=canonical href=/b>", None),
        (f"{'<link rel=x href=y>' * 1000}<link rel=canonical href=/b>", None),  # nobody reads on for ever
        ("<!-- <link rel=canonical href=/b> --><script>'<link rel=canonical href=/c>'</script>", None),
        ("", None),
    ],
)
def test_the_canonical_url_that_a_page_declares(body, canonical):
    page = Page(f"{body}<p>A text.".encode(), "https://a.example/a", None)
    found = extract(page, load_extractor("segment"), None)
    assert declared_canonical(page.url, found.canonical) == canonical


def test_marks_and_that_those_of_an_earlier_page_are_removed():
    near = Verdict("near", url=f"{URL}\udc80", distance=2, similarity=0.5)
    revisit, better = Verdict("revisit", url=URL, unchanged=True), Verdict("preferred", url=URL)
    response = HtmlResponse(URL, request=Request(URL, meta={"mine": 1, "neardup": "tag"}), flags=["cached"])
    for verdict in (near, better, revisit):
        mark(response, verdict, "tag")
    match = {"url": f"{URL}\\udc80", "kind": "near", "distance": 2, "similarity": 0.5, "policy": "tag"}
    assert response.meta["neardup_match"] == match_of(near, "tag") == match
    assert response.meta["neardup_revisit"] == {**match_of(revisit, "tag"), "changed": False}
    assert response.meta["neardup_better_than"] == match_of(better, "tag")
    clear_marks(response.request, response)
    assert response.meta == {"mine": 1, "neardup": "tag"}
    assert response.flags == ["cached"]
