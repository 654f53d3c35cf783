"""Web archives: pages and revisits come out decoded, and broken records do not end a file."""

import gzip
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from .archives import html, http, read, record, write_warc

SAMPLES = Path(os.environ.get("NEARDUP_DATA", Path(__file__).parents[4] / "shared/data")) / "warc_samples"


def pages(count: int = 6) -> list[bytes]:
    return [
        record("response", f"http://a/{n}", http(html(n)), WARC_Payload_Digest=f"sha1:{n}")
        for n in range(count)
    ]


@pytest.fixture(params=["a.warc", "a.warc.gz"])
def path(request: Any, tmp_path: Path) -> Path:
    return tmp_path / request.param


def test_responses(path: Path) -> None:
    records = [
        record("warcinfo", "", b"software: test\r\n", Content_Type="application/warc-fields"),
        record("request", "http://a/0", b"GET / HTTP/1.1\r\n\r\n"),
        *pages(2),
        record("response", "dns:a", b"20240506\n1.2.3.4", Content_Type="text/dns"),
        record("response", "http://a/old", http(b"<html>", "301 Moved")),
        record("response", "http://a/gone", http(b"<html>", "410 Gone")),
        record("response", "http://a/logo", http(b"\x89PNG", Content_Type="image/png")),
        record("response", "http://a/robots.txt", http(b"User-agent: *")),
        record("metadata", "http://a/0", b"{}", Content_Type="application/json"),
        record("resource", "http://a/page", html(2), Content_Type="text/html"),
        record("resource", "http://a/image", b"GIF89a", Content_Type="image/gif"),
        record("conversion", "http://a/text", "Wörter".encode(), Content_Type="text/plain"),  # in WET files
    ]
    write_warc(path, records)
    contents = read(path)
    assert contents.urls == ["http://a/0", "http://a/1", "http://a/page", "http://a/text"]
    assert [(page.body, page.text) for page in contents.pages[2:]] == [(html(2), None), (None, "Wörter")]
    first = contents.pages[0]
    assert (first.body, first.content_type, first.digest) == (html(0), "text/html", "sha1:0")
    assert (first.fetched, first.refers_digest, first.refers_url) == (1714979289.0, None, None)
    assert [skipped.reason for skipped in contents.skipped] == [
        "redirect", "error", "not_html", "robots", "not_html",
    ]  # fmt: skip
    assert not contents.problems


def chunked(body: bytes) -> bytes:
    half = len(body) // 2
    parts = (body[:half], body[half:], b"")
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


def test_transfer_and_content_encodings(path: Path) -> None:
    packed = gzip.compress(html(0))
    answers = [
        http(chunked(html(0)), Transfer_Encoding="chunked"),
        http(html(0), Transfer_Encoding="chunked"),
        http(packed, Content_Encoding="gzip"),
        http(html(0), Content_Encoding="gzip"),
        http(chunked(packed), Content_Encoding="gzip", Transfer_Encoding="Chunked"),
        http(html(0), Content_Type="", X_Other="\u20ac"),
    ]
    write_warc(path, [record("response", f"<http://a/{n}>", each) for n, each in enumerate(answers)])
    contents = read(path)
    assert [page.body for page in contents.pages] == [html(0)] * 6
    assert contents.urls == [f"http://a/{n}" for n in range(6)]


def test_revisits_say_what_they_repeat(path: Path) -> None:
    same = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
    unmodified = "http://netpreserve.org/warc/1.0/revisit/server-not-modified"
    records = [
        *pages(1),
        record("revisit", "http://b/0", http(b""), WARC_Profile=same, WARC_Payload_Digest="sha1:0"),
        record("revisit", "http://b/1", b"", WARC_Profile=same, WARC_Refers_To_Target_URI="http://a/0"),
        record("revisit", "http://a/0", http(b"", "304 Not Modified"), WARC_Profile=unmodified),
        record("revisit", "http://b/2", http(b"", Content_Type="image/png"), WARC_Payload_Digest="sha1:9"),
        record("revisit", "http://b/robots.txt", http(b""), WARC_Payload_Digest="sha1:8"),
        record("revisit", "http://b/3", b"", WARC_Profile=same),
    ]
    write_warc(path, records)
    contents = read(path)
    assert [(page.url, page.refers_digest, page.refers_url) for page in contents.pages[1:]] == [
        ("http://b/0", "sha1:0", None),
        ("http://b/1", None, "http://a/0"),
        ("http://a/0", None, "http://a/0"),
    ]
    assert {(page.text, page.body) for page in contents.pages[1:]} == {(None, None)}
    assert [skipped.reason for skipped in contents.skipped] == ["not_html", "robots"]
    assert "what it is a revisit of" in contents.problems[0].reason


DAMAGED = {
    "length too large": record("response", "http://a/x", http(b"<html>"), length=200),
    "length too small": record("response", "http://a/x", http(b"<html>" * 9), length=10),
    "no length": record("response", "http://a/x", http(b"<html>")).replace(b"-Length", b"-Langth"),
    "negative length": record("response", "http://a/x", http(b"<html>"), length=-5),
    "not a record": b"\x00junk" * 40 + b"\r\n\r\n",
    "endless header": b"WARC/1.0\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    "no status": record("response", "http://a/x", b"Not HTTP\r\n\r\n<html>"),
    "no url": record("response", "", http(b"<html>")),
    "damaged body": record("response", "http://a/x", http(b"\x1f\x8b\x08xx", Content_Encoding="gzip")),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_reading_goes_on_behind_a_broken_record(damage: str, path: Path) -> None:
    good = pages()
    write_warc(path, [*good[:3], DAMAGED[damage], *good[3:]])
    contents = read(path)
    assert [url for url in contents.urls if url != "http://a/x"] == [f"http://a/{n}" for n in range(6)]
    assert 1 <= len(contents.problems) <= 2


def test_broken_gzip_members_are_passed_over(tmp_path: Path) -> None:
    members = [gzip.compress(page, mtime=0) for page in pages()]
    for number in (1, 2, 4):
        middle = len(members[number]) // 2
        members[number] = members[number][:middle] + b"\x00" * 20 + members[number][middle + 20 :]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(members))
    contents = read(path)
    assert contents.urls == ["http://a/0", "http://a/3", "http://a/5"]
    assert contents.problems


def test_records_that_are_compressed_together_have_places_of_their_own(tmp_path: Path) -> None:
    """Else the audit takes them for one."""
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(b"".join(pages()), mtime=0))
    contents = read(path)
    assert contents.urls == [f"http://a/{n}" for n in range(6)]
    assert len({page.origin for page in contents.pages}) == 6


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="optional data")
@pytest.mark.parametrize(
    ("name", "html_pages", "revisits", "omitted"),
    [
        ("aut_example", 94, 0, 167), ("pywb_dupes", 1, 2, 9), ("resiliparse_warcfile", 16, 0, 0),
        ("ukwa_govuk_1", 32, 0, 30), ("ukwa_govuk_2_revisit", 6, 26, 30),
    ],
)  # fmt: skip
def test_files_of_several_crawlers(name: str, html_pages: int, revisits: int, omitted: int) -> None:
    contents = read(SAMPLES / f"{name}.warc.gz")
    kinds = Counter(page.body is not None for page in contents.pages)
    assert (kinds[True], kinds[False], len(contents.skipped)) == (html_pages, revisits, omitted)
    assert not contents.problems
    assert all(b"<" in page.body for page in contents.pages if page.body is not None)
