"""The file: the same for the same data, there only when it is complete, and of bounded size."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.audit.output.report import Limits, write_report

from .crawl import empty_crawl, hostile_crawl, large_crawl, report_data, small_crawl

if TYPE_CHECKING:
    from pathlib import Path


def unpacked(path: Path) -> dict[str, Any]:
    """Return what the blocks of a report hold, by their names."""
    found = re.findall(r'id="data-([\w-]+)">([^<]*)</script>', path.read_text("utf-8"))
    return {name: json.loads(gzip.decompress(base64.b64decode(packed))) for name, packed in found}


def joined(blocks: dict[str, Any], name: str) -> list[Any]:
    return [row for key in blocks if re.fullmatch(rf"{name}-\d+", key) for row in blocks[key]]


@pytest.mark.parametrize("crawl", [empty_crawl, small_crawl, hostile_crawl])
def test_same_bytes_for_the_same_data(tmp_path: Path, crawl: Any) -> None:
    write_report(tmp_path / "a.html", crawl())
    write_report(str(tmp_path / "b.html"), crawl())
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_failure_leaves_the_earlier_report(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("earlier")

    def fail(page: int) -> str:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        write_report(path, dataclasses.replace(small_crawl(), text=fail))
    assert path.read_text() == "earlier"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_pages_of_clusters_with_their_texts(tmp_path: Path) -> None:
    data = small_crawl()
    write_report(tmp_path / "report.html", data)
    blocks = unpacked(tmp_path / "report.html")
    assert [page[0] for page in joined(blocks, "pages")] == data.pages["url"][:9].tolist()
    assert joined(blocks, "texts") == [data.text(page) for page in range(9)]
    assert joined(blocks, "pages")[0][7:] == [4, 2, 1, 2, 0.91]  # of the cluster that it leads
    assert "left-out" not in (tmp_path / "report.html").read_text().split("<style>")[2]


def test_most_of_a_huge_cluster_is_left_out_and_its_canonical_page_is_not(tmp_path: Path) -> None:
    urls = [f"https://a.example/{i}" for i in range(9)]
    data = report_data(urls, [0, 1, 1, 1, 1, 1, 0, -1, -1], ["unique"] * 9, [], ["t"] * 9)
    data.clusters["canonical"] = [0, 4]
    write_report(tmp_path / "report.html", data, Limits(of_cluster=3))
    pages = joined(unpacked(tmp_path / "report.html"), "pages")
    assert [page[0][-1] for page in pages] == ["4", "1", "2", "0", "6"]
    assert "lists 5 of 7 pages of clusters, in 2 of 2 clusters" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("what", ["addresses", "texts"])
def test_the_size_is_bounded(tmp_path: Path, what: str) -> None:
    random = np.random.default_rng(0)
    data = large_crawl(1_000)
    if what == "addresses":
        data.pages["url"] = [f"https://a.example/{random.bytes(200).hex()}" for _ in data.pages]
    data = dataclasses.replace(data, text=lambda page: random.bytes(5_000).hex())
    write_report(tmp_path / "report.html", data, Limits(size=2_500_000, texts=1_500_000))
    assert 2_000_000 < (tmp_path / "report.html").stat().st_size < 2_500_000
    listed = len(joined(unpacked(tmp_path / "report.html"), "pages"))
    assert (listed < 3_600) == (what == "addresses")


def test_times_and_similarities_out_of_range_are_unknown(tmp_path: Path) -> None:
    times = np.array([np.inf, -5, np.nan, 1e12])
    urls, verdicts = ["https://a.example/"] * 4, ["unique"] * 4
    data = report_data(urls, [0] * 4, verdicts, [], [None] * 4, fetched=times)
    write_report(tmp_path / "report.html", data)
    assert [page[4:7:2] for page in joined(unpacked(tmp_path / "report.html"), "pages")] == [[None, None]] * 4
