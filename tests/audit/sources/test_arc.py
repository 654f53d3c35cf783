"""ARC files: their pages come out, however they are packed, and broken ones say where."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.audit.sources import (
    BrokenRecord,
    CrawledPage,
    Options,
    Skipped,
    find_sources,
    read_source,
)

from .archives import http

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_neardup.audit.sources import Record

pytest.importorskip("fastwarc")


def entry(url: str, block: bytes, mime: str = "text/html", length: int | None = None) -> bytes:
    size = len(block) if length is None else length
    return f"{url} 1.2.3.4 20050203040506 {mime} {size}\n".encode() + block + b"\n"


HEAD = entry(
    "filedesc://a.arc",
    b"1 0 Archive\nURL IP-address Archive-date Content-type Archive-length\n",
    "text/plain",
)
BODY = b"<html><p>a page</p></html>"
ENTRIES = [
    HEAD,
    entry("http://a.org/", http(BODY)),
    entry("dns:a.org", b"a.org 1.2.3.4", "text/dns"),
    entry("http://a.org/moved", http(b"", "302 Found")),
    entry("http://a.org/image", http(b"GIF89a", Content_Type="image/gif"), "image/gif"),
    entry("http://a.org/2", http(BODY * 2)),
]


def read(path: Path) -> list[Record]:
    (source,) = find_sources([path])
    assert source.kind == "arc"
    return list(read_source(source, Options()))


@pytest.mark.parametrize("packed", [False, True])
def test_pages(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("a.arc.gz" if packed else "a.arc")
    path.write_bytes(b"".join(gzip.compress(each) if packed else each for each in ENTRIES))
    records = read(path)
    pages = [record for record in records if isinstance(record, CrawledPage)]
    assert [(page.url, page.body) for page in pages] == [
        ("http://a.org/", BODY),
        ("http://a.org/2", BODY * 2),
    ]
    assert pages[0].fetched == 1107403506
    assert [record.reason for record in records if isinstance(record, Skipped)] == ["redirect", "not_html"]


@pytest.mark.parametrize("cut", range(100, sum(map(len, ENTRIES)) - 1, 37))
def test_a_cut_file_has_what_precedes_the_cut(tmp_path: Path, cut: int) -> None:
    whole = b"".join(ENTRIES)
    (tmp_path / "a.arc").write_bytes(whole[:cut])
    records = read(tmp_path / "a.arc")
    complete = [len(b"".join(ENTRIES[: n + 1])) - 1 for n in range(len(ENTRIES))]
    pages = sum(isinstance(record, CrawledPage) for record in records)
    assert pages == (cut >= complete[1]) + (cut >= complete[5])
    inside = not any(end <= cut <= end + 1 for end in complete)
    assert any(isinstance(record, BrokenRecord) for record in records) == inside


def test_garbage_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.arc").write_bytes(HEAD + b"what is this\n" + ENTRIES[1])
    (broken,) = read(tmp_path / "a.arc")
    assert isinstance(broken, BrokenRecord)
    assert "no line about a page" in broken.reason
