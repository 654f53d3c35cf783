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

from scrapy_neardup.audit.output.report import texts as texts_module
from scrapy_neardup.audit.output.report import write_report
from scrapy_neardup.audit.output.report.review import borderline
from scrapy_neardup.audit.output.report.texts import text_blocks, wanted_texts

from .crawl import empty_crawl, hostile_crawl, report_data, small_crawl
from .large import large_crawl

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


ROOM = 10_000_000


def unpacked(content: str) -> dict[str, bytes]:
    blocks = re.findall(
        r'<script type="application/octet-stream" id="data-([\w-]+)">([^<]*)</script>', content
    )
    return {name: gzip.decompress(base64.b64decode(packed)) for name, packed in blocks}


def kept_texts(pieces: Iterable[str]) -> dict[int, str]:
    blocks = unpacked("".join(pieces))
    columns = [np.frombuffer(blocks[f"text-{name}"], "<u4").tolist() for name in ("page", "block", "slot")]
    return {
        page: json.loads(blocks[f"texts-{block}"])[slot] for page, block, slot in zip(*columns, strict=True)
    }


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


def test_texts_are_of_clusters_and_borderline_pairs_only() -> None:
    data = small_crawl()
    wanted = list(wanted_texts(data, borderline(data)))
    in_pairs = {*data.pairs["first"].tolist(), *data.pairs["second"].tolist()}
    assert sorted(wanted) == sorted(in_pairs)
    assert len(wanted) == len(set(wanted))
    kept = kept_texts(text_blocks(wanted, data.text, ROOM))
    assert kept == {page: data.text(page) for page in wanted}


def test_texts_come_from_few_pages_at_a_time() -> None:
    data = large_crawl(2000, 200)
    asked: list[int] = []

    def text(page: int) -> str:
        asked.append(page)
        return f"{page} " * 20_000

    first = next(text_blocks(wanted_texts(data, borderline(data)), text, ROOM))
    assert len(asked) < 40  # two blocks, as the second is packed while the first is written
    assert len(first) < 1_000_000
    assert max(map(len, json.loads(unpacked(first)["texts-0"]))) == texts_module.LONGEST_TEXT


def test_texts_stop_at_the_budget() -> None:
    rng = np.random.default_rng(1)
    pieces = list(text_blocks(range(10_000), lambda page: rng.bytes(2000).hex(), 200_000))
    assert 200_000 <= sum(map(len, pieces)) < 800_000
    assert len(kept_texts(pieces)) < 1000


def test_most_of_a_huge_cluster_is_left_out_and_its_canonical_page_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(texts_module, "MOST_OF_CLUSTER", 3)
    data = report_data(
        [f"https://a.example/{i}" for i in range(9)],
        [0, 1, 1, 1, 1, 1, 0, -1, -1],
        ["unique"] * 9,
        [],
        ["t"] * 9,
    )
    data.clusters["canonical"] = [0, 4]
    assert list(wanted_texts(data, np.zeros(0, np.int64))) == [4, 1, 2, 0, 6]


def test_figures_are_there_without_script(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", small_crawl())
    head = (tmp_path / "report.html").read_text().split("<noscript>")[2]
    assert head.startswith('<p class="note">Charts, comparisons and the rest of the tables need JavaScript')
    assert "<p>30 pages in 3 clusters: 19 unique, 3 exact, 3 near, 0 part, 2 template," in head
    for caption in ("Hosts", "What leads to repeated pages", "Clusters"):
        assert f"<caption>{caption}</caption>" in head
    assert '<td data-column="Host"><bdi>news.example</bdi></td><td data-column="Pages"><bdi>13</bdi>' in head


@pytest.mark.slow
def test_a_report_of_many_pages_leaves_texts_out_and_stays_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = dataclasses.replace(large_crawl(20_000, 2_000), text=lambda page: rng.bytes(2_000).hex())
    write_report(tmp_path / "report.html", data)
    assert 9e6 < (tmp_path / "report.html").stat().st_size < 9.5e6


def test_times_and_similarities_out_of_range_are_unknown(tmp_path: Path) -> None:
    data = report_data(
        ["https://a.example/"] * 4,
        [-1] * 4,
        ["unique"] * 4,
        [],
        [None] * 4,
        fetched=np.array([np.inf, -5, np.nan, 1e12]),
    )
    write_report(tmp_path / "report.html", data)
    blocks = unpacked((tmp_path / "report.html").read_text())
    assert np.frombuffer(blocks["page-time"], "<u4").tolist() == [2**32 - 1] * 4
    assert np.frombuffer(blocks["page-similarity"], "<u2").tolist() == [2**16 - 1] * 4
