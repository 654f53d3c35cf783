"""The files of the results say the same thing, and what a hostile crawl puts into them does nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from scrapy_neardup.audit import audit
from scrapy_neardup.audit.output import files as results
from tests.audit.corpora import crawl, edited, feed, text


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("results")
    rows = crawl()
    rows.append({"url": "https://a.example/\u2028line\ud800", "text": text("strange")})
    with audit(feed(directory / "a.jl", rows), directory / "out"):
        return directory / "out"


def test_pages(out: Path) -> None:
    pages = lines(out / "pages.jsonl")
    assert list(pages[0]) == [
        "url", "verdict", "cluster", "canonical", "distance", "similarity", "tokens", "fetched", "title",
        "noindex", "declared", "hreflang", "handled", "copies",
    ]  # fmt: skip
    by_url = {page["url"]: page for page in pages}
    copy, own = by_url["https://b.example/copy/0"], by_url["https://a.example/0"]
    compared = ("verdict", "canonical", "distance", "similarity")
    assert [copy[name] for name in compared] == ["exact", own["url"], 0, 1.0]
    assert [own[name] for name in compared] == ["unique", own["url"], None, None]
    alone = by_url["https://a.example/7"]
    assert (alone["cluster"], alone["canonical"], alone["copies"]) == (None, None, 0)
    clusters = {row["cluster"]: row["size"] for row in lines(out / "clusters.jsonl")}
    assert copy["copies"] == own["copies"] == clusters[own["cluster"]] - 1


def test_clusters_and_pairs_fit_the_pages(out: Path) -> None:
    pages = {page["url"]: page for page in lines(out / "pages.jsonl")}
    clusters = lines(out / "clusters.jsonl")
    sizes = [cluster["size"] for cluster in clusters]
    assert sizes == sorted(sizes, reverse=True)
    for number, cluster in enumerate(clusters):
        assert cluster["cluster"] == number
        assert cluster["members"][0] == cluster["canonical"]
        assert len(cluster["members"]) == cluster["size"]
        assert {pages[url]["cluster"] for url in cluster["members"]} == {number}
        assert cluster["size"] == 1 + cluster["exact"] + cluster["near"] + cluster["revisit"]
    for pair in lines(out / "pairs.jsonl"):
        if pair["kind"] == "exact":
            assert pages[pair["url1"]]["cluster"] == pages[pair["url2"]]["cluster"]


def test_urls_to_drop(tmp_path: Path) -> None:
    story = text("drop")
    rows = [
        {"url": "https://a.example/1", "text": story + " and more of it"},
        {"url": "https://a.example/2", "text": story + " and more of it"},
        # Fetched again, it was another page: it stays.
        {"url": "https://a.example/2", "text": text("other")},
        {"url": "https://a.example/3", "text": edited(story, 3)},
        {"url": "https://a.example/3#part", "text": edited(story, 3)},
        {"url": "ftp://a.example/4", "text": story},
        {"url": "https://a.example/5\nhttps://victim.example/", "text": story},
        {"url": "https://a.example/6 7", "text": story},
        {"text": story},
    ]
    with audit(feed(tmp_path / "a.jl", rows), tmp_path / "out") as found:
        assert len(found.clusters) == 1
    assert (tmp_path / "out" / "drop.txt").read_text() == (
        f"{tmp_path}/a.jl, line 9\nftp://a.example/4\nhttps://a.example/3\n"
    )


def test_identifiers_to_drop(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    story, words = text("page"), text("identifiers")
    for name in ("a", "b c"):
        (tmp_path / "pages" / f"{name}.html").write_text(f"<html><body><article><p>{story}</p></article>")
    names = ["1", "doc 2", "doc#3", "doc#4", "5\n6", "7\u20288", "\x1b[2J8", "9", "a\x85b", "=10"]
    rows = [*({"id": name, "text": words} for name in names), {"id": "9", "text": text("another")}]
    with audit([feed(tmp_path / "a.jl", rows), tmp_path / "pages"], tmp_path / "out") as found:
        assert found.clusters["size"].tolist() == [10, 2]
    dropped = (tmp_path / "out" / "drop.txt").read_text(encoding="utf-8").split("\n")
    uri = (tmp_path / "pages" / "b c.html").as_uri()
    assert dropped == ["=10", "doc 2", "doc#3", "doc#4", uri, ""]


def test_a_full_disk_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = feed(tmp_path / "a.jl", crawl())
    with audit(path, tmp_path / "out"):
        before = (tmp_path / "out" / "pages.jsonl").read_bytes()

    full = Mock(side_effect=['{"url": "half"}\n', OSError(28, "No space left on device")])
    monkeypatch.setattr(results, "_lines", full)
    monkeypatch.setattr(results, "_ROWS", 1)
    with pytest.raises(OSError, match="No space"):
        audit(path, tmp_path / "out")
    assert (tmp_path / "out" / "pages.jsonl").read_bytes() == before
    assert not list((tmp_path / "out").glob("*.part"))
