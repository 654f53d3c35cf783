"""Mirrors of sites: their URLs are those of the site, and what is no page of it is no feed either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scrapy_neardup.audit.sources import find_sources, mirror_url, read_source
from scrapy_neardup.audit.sources.records import CrawledPage, Options, Skipped

PAGE = b"<!DOCTYPE html><html><head><title>t</title></head><body><p>text</p></body></html>"


@pytest.mark.parametrize(
    ("folder", "below", "base", "url"),
    [
        ("mirror", "www.town.example.com/news/index.html", None, "https://www.town.example.com/news/"),
        ("mirror", "www.a.ch/b.example.com/x.html", None, "https://www.a.ch/b.example.com/x.html"),
        ("mirror", "A.org:8080/page.php?id=1&b=2.html", None, "https://a.org:8080/page.php?id=1&b=2.html"),
        ("mirror", "a.org/straße und/50%25.html", None, "https://a.org/stra%C3%9Fe%20und/50%25.html"),
        ("copies/a.org", "x.html", None, "https://a.org/x.html"),
        ("copies/a.org/docs", "1.26/index.htm", None, "https://a.org/docs/1.26/"),
        ("mirror", "v1.26/node.js/x.html", None, None),
        ("mirror", "a.org.html", None, None),
        ("mirror/a.org", "x.html", "http://b.org/docs/", "http://b.org/docs/x.html"),
        ("mirror", "index.html", "http://b.org", "http://b.org/"),
    ],
)
def test_the_url_of_a_file(folder: str, below: str, base: str | None, url: str | None) -> None:
    root = Path("/somewhere", folder)
    assert mirror_url(root / below, root, base) == url


def test_a_mirror_has_no_feeds_and_a_folder_of_feeds_does(tmp_path: Path) -> None:
    """A search index as Hugo makes them repeats all pages; style sheets may begin as JSON does."""
    items = json.dumps([{"permalink": "https://a.org/x/", "title": "t", "content": "all of its text"}])
    site = tmp_path / "a.org"
    files = {
        "index.html": PAGE,
        "x/index.html": PAGE,
        "index.json": items.encode(),
        "data/table.json": items.encode(),
        "data/table.csv": b"url,text\nhttps://a.org/x,all of it\n",
        "a.css": b'[{"x"}]{color:red}',
        "b.css": b"{}*{}",
    }
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "items.json").write_text(items)
    (source,) = find_sources([tmp_path])
    records = list(read_source(source, Options()))
    pages = [record.url for record in records if isinstance(record, CrawledPage)]
    assert pages == ["https://a.org/", "https://a.org/x/", "https://a.org/x/"]
    assert len(records) == len(files) + 1
    skipped = {Path(record.origin.path).name for record in records if isinstance(record, Skipped)}
    assert skipped == {"index.json", "table.json", "table.csv", "a.css", "b.css"}
