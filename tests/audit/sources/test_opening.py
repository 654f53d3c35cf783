"""Kinds are told by content and name, sources make one stream in a stable order, errors name the remedy."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from scrapy_neardup import Detector
from scrapy_neardup.audit.model import Input
from scrapy_neardup.audit.sources import find_sources, mirror_url
from scrapy_neardup.audit.sources.records import SourceUnavailable

from .archives import html, http, read, record, write_warc

ITEM = b'{"url": "u", "text": "t"}'


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.jl", ITEM, "json lines"),
        ("a.jl", b"[" + ITEM + b"]", "json"),
        ("a.json", ITEM, "json"),
        ("a.json", b"\xef\xbb\xbf [" + ITEM + b"]", "json"),
        ("a.dat", b"PAR1....", "parquet"),
        ("a.dat", gzip.compress(b"WARC/1.0\r\n", mtime=0), "warc"),
        ("a.warc.gz", gzip.compress(b"x", mtime=0)[:5], "warc"),
        ("page?id=5", b"\n<!doctype html><p>words", "html"),
        ("page", b'<?xml version="1.0"?>\n<html xmlns="x"><head><title>words', "html"),
        ("a.html", b"WARC/1.0\r\n", "warc"),
    ],
)
def test_kind_of_a_file(name: str, content: bytes, kind: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert find_sources([path]) == [Input(str(path), kind)]


def test_what_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    Detector.open(tmp_path / "seen").close()
    found = {
        "none.jl": "does not exist: check the path", "*.jl": "check the pattern", "seen": "is an index",
        "pipe": "neither a file nor a directory",
    }  # fmt: skip
    files = {
        "a.txt": b"words",
        "b.xml": b'<?xml version="1.0"?>\n<items><item><title>words</title></item></items>',
        "feed.xml": b'\xef\xbb\xbf<?xml version="1.0"?><rss><channel><title>words</title></channel></rss>',
        "atom": b'<?xml-stylesheet href="a"?><feed><title>words</title></feed>',
        "a.csv": b"url,text\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        found[name] = r"of no known kind: unpack it, make JSON lines of it, or name feeds \(\.jl"
    for name, why in found.items():
        with pytest.raises(SourceUnavailable, match=why):
            read(str(tmp_path / name))


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (folder / "sub/deep").mkdir(parents=True)
    files = {
        "b.html": html(1), "a.html.gz": gzip.compress(html(2)), "empty.html": b" \n", "sub/z.jl": ITEM,
        "sub/deep/page?x=1": html(3), "style.css": b"p { color: red }", "package.json": b'{"name": "x"}',
        "font.eot": b"\xb1W\x00\x02\x04<p\xb5",
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    write_warc(folder / "sub/c.warc.gz", [record("response", "http://a/", http(html(4)))])
    contents = read(folder)
    uri = folder.as_uri()
    assert contents.urls == [
        f"{uri}/a.html.gz", f"{uri}/b.html", "http://a/", "u", f"{uri}/sub/deep/page%3Fx%3D1",
    ]  # fmt: skip
    assert [(skipped.origin.path, skipped.reason) for skipped in contents.skipped] == [
        (f"{folder}/empty.html", "empty"),
        *((f"{folder}/{name}", "other_file") for name in ("font.eot", "package.json", "style.css")),
    ]  # fmt: skip
    assert not contents.problems


@pytest.mark.parametrize("others", [1, 4])
def test_a_folder_that_cannot_be_listed_is_told(
    others: int, cached: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside others in a folder of pages, or of caches."""
    for name in ("a/b", "c"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "page.html").write_bytes(html(1))
    if others > 1:
        cached()
    scandir, closed = os.scandir, str(tmp_path / "a")
    monkeypatch.setattr(
        os, "scandir", lambda path: scandir(path if str(path) != closed else f"{closed}/none")
    )
    contents = read(tmp_path)
    assert len(contents.pages) == others
    assert [each.origin.path for each in contents.problems] == [f"{closed}/none"]


def test_several_sources_are_read_by_name_and_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jl").write_text(json.dumps({"url": name, "text": name}))
    (tmp_path / "c.jl").symlink_to(tmp_path / "a.jl")
    a, b, c = (tmp_path / f"{name}.jl" for name in "abc")
    assert read(b, a, c, tmp_path / ".." / tmp_path.name / "b.jl").urls == ["a", "b"]


def test_links_to_files_out_of_a_folder_are_not_followed_unless_they_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "mirror.example"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.html").write_bytes(html(1))
    (tmp_path / "private.html").write_bytes(html(2))
    (tmp_path / "mirror.example.private.html").write_bytes(html(3))
    (folder / "b.html").symlink_to(Path("in", "a.html"))
    (folder / "c.html").symlink_to(tmp_path / "private.html")
    (folder / "d.html").symlink_to(Path("..", "private.html"))
    (folder / "e.html").symlink_to(folder / "c.html")
    (folder / "f.html").symlink_to(tmp_path / "mirror.example.private.html")
    (folder / "loop.html").symlink_to("loop.html")
    (folder / "gone.html").symlink_to("nowhere.html")
    found = read(folder)
    assert sorted(Path(url).name for url in found.urls) == ["a.html", "b.html"]
    (tmp_path / "link").symlink_to(folder)
    assert len(read(tmp_path / "link").pages) == 2
    assert len(read(folder / "c.html").pages) == 1
    with pytest.raises(SourceUnavailable, match="does not exist"):
        read(folder / "loop.html")


PAGE = b"<!DOCTYPE html><html><head><title>t</title></head><body><p>text</p></body></html>"


@pytest.mark.parametrize(
    ("folder", "below", "base", "url"),
    [
        ("mirror", "www.town.example.com/news/index.html", None, "https://www.town.example.com/news/"),
        ("mirror", "A.org:8080/page.php?id=1&b=2.html", None, "https://a.org:8080/page.php?id=1&b=2.html"),
        ("mirror", "a.org/straße und/50%25.html", None, "https://a.org/stra%C3%9Fe%20und/50%25.html"),
        ("copies/a.org/docs", "1.26/index.htm", None, "https://a.org/docs/1.26/"),
        ("mirror", "v1.26/node.js/x.html", None, None),
        ("mirror", "a.org.html", None, None),
        ("mirror/a.org", "x.html", "http://b.org/docs/", "http://b.org/docs/x.html"),
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
        "index.html": PAGE, "x/index.html": PAGE, "index.json": items.encode(),
        "data/table.json": items.encode(), "a.css": b'[{"x"}]{color:red}', "b.css": b"{}*{}",
    }  # fmt: skip
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "items.json").write_text(items)
    contents = read(tmp_path)
    assert contents.urls == ["https://a.org/", "https://a.org/x/", "https://a.org/x/"]
    assert len(contents.records) == len(files) + 1
    skipped = {Path(skipped.origin.path).name for skipped in contents.skipped}
    assert skipped == {"index.json", "table.json", "a.css", "b.css"}
