"""A report that lists a part of the pages: of bounded size, with figures of all, saying what is not there."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.audit.output.report import Limits, write_report
from scrapy_neardup.audit.output.report.extent import part
from scrapy_neardup.audit.output.report.review import borderline
from tests.examples import examples

from .crawl import hostile_crawl, report_data
from .large import large_crawl
from .test_write import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .conftest import Opened

    Open = Callable[..., Opened]

FEW = Limits(pages=500)
LABELS = (
    "Pages", "Unique", "Near copies", "Exact copies", "Clusters", "Largest cluster", "Of one template",
    "Walls", "Too short", "Revisits",
)  # fmt: skip
#: Tables of all pages, but for their examples, which may be left out.
TABLES = {"hosts": slice(None), "host-pairs": slice(0, 4), "patterns": slice(0, 5), "thin": slice(0, 3)}
CHARTS = ("time", "similarities", "distances", "sizes")


def said(path: Path) -> str:
    """Return what the file says of what it leaves out, where no script runs."""
    found = re.search(r'<p id="left-out" class="note">(.*?)</p>', path.read_text("utf-8"))
    return found[1] if found else ""


def shown(report: Opened) -> dict[str, object]:
    figures: dict[str, object] = {label: report.figure(label) for label in LABELS}
    tables = {name: [row[columns] for row in report.rows(name)] for name, columns in TABLES.items()}
    charts = {name: report.page.locator(f"#{name} table").inner_html() for name in CHARTS}
    return figures | tables | charts | {"headline": report.page.inner_text("#headline")}


@pytest.mark.slow
def test_figures_and_tables_are_of_all_pages(open_report: Open) -> None:
    """A browser counts what a report lists; of more pages the audit does: both ways give the same figures."""
    data = large_crawl(5000, 600)
    every, some = open_report(data), open_report(data, limits=FEW)
    assert shown(some) == shown(every)
    assert every.page.locator("#left-out").count() == 0
    sentence = some.page.inner_text("#left-out")
    assert "lists 500 of 5,000 pages" in sentence
    assert "4,500 pages and" in sentence
    assert (
        "All pages are in pages.jsonl, all clusters in clusters.jsonl, all pairs in pairs.jsonl." in sentence
    )
    assert some.page.locator("#distance").is_disabled()
    assert "rethreshold" in some.page.inner_text("#threshold-note")
    # The largest cluster is larger than what is listed of it; its row says how large it is.
    assert some.rows("cluster-list")[0] == every.rows("cluster-list")[0]
    some.page.click("#cluster-list .opener >> nth=0")
    assert re.search(r"\d+ pages? more in clusters.jsonl", some.page.inner_text("#cluster-list .detail"))
    assert len(some.download("#download-pages").splitlines()) == 501


@pytest.mark.slow
def test_pairs_to_review_are_listed_with_their_texts(open_report: Open) -> None:
    data = large_crawl(5000, 600)
    few, review = dataclasses.replace(FEW, pages=2000), borderline(data)
    report = open_report(data, limits=few)
    assert f"Pair 1 of {len(review)}" in report.page.inner_text("#review-one .facts")
    report.wait("document.querySelector('#review-one .diff') !== null")
    pair = data.pairs[review[0]]
    links = report.page.locator("#review-one .heads a").evaluate_all("all => all.map(a => a.textContent)")
    assert links == [data.pages["url"][pair["first"]], data.pages["url"][pair["second"]]]


@pytest.mark.slow
def test_hostile_pages_and_hosts_beyond_the_limits(open_report: Open) -> None:
    report = open_report(hostile_crawl(), limits=Limits(pages=7, hosts=1))
    assert report.figure("Pages") == 30
    assert [row[0] for row in report.rows("hosts")][1:] == ["(2 other hosts)"]
    assert sum(int(row[2]) for row in report.rows("hosts")) == 30


def test_a_report_of_all_pages_says_nothing_of_it(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", large_crawl(500, 60), limits=FEW)
    assert said(tmp_path / "report.html") == ""


def test_the_size_is_bounded_whatever_the_addresses_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    urls = [f"https://a.example/{rng.bytes(100).hex()}" for _ in range(3000)]
    data = report_data(urls, [-1] * 3000, ["unique"] * 3000, [], [None] * 3000)
    write_report(tmp_path / "report.html", data, Limits(size=300_000, texts=50_000))
    assert 200_000 < (tmp_path / "report.html").stat().st_size < 300_000
    assert re.search(r"lists [\d,]+ of 3,000 pages", said(tmp_path / "report.html"))


def test_too_many_pairs_are_left_out_and_counted(tmp_path: Path) -> None:
    data = large_crawl(500, 60)
    write_report(tmp_path / "report.html", data, Limits(pairs=100))
    blocks = unpacked((tmp_path / "report.html").read_text("utf-8"))
    assert len(blocks["pair-kind"]) == len(borderline(data)) < len(data.pairs)
    assert f"and {len(borderline(data))} of {len(data.pairs)} pairs" in said(tmp_path / "report.html")


@examples(60)
@given(
    st.lists(st.tuples(st.integers(-1, 6), st.sampled_from(["unique", "template", "wall"])), max_size=40),
    st.integers(0, 40),
)
def test_duplicates_first_then_what_is_set_aside_then_unique_pages(
    rows: list[tuple[int, str]], most: int
) -> None:
    numbers = {label: number for number, label in enumerate(sorted({c for c, _ in rows if c >= 0}))}
    labels = [numbers.get(cluster, -1) for cluster, _ in rows]
    verdicts = ["near" if cluster >= 0 else verdict for cluster, verdict in rows]
    for number in numbers.values():
        verdicts[labels.index(number)] = "unique"
    data = report_data([str(i) for i in range(len(rows))], labels, verdicts, [], [None] * len(rows))
    extent = part(data, np.zeros(0, np.int64), [], most)
    held = set(np.flatnonzero(extent.row >= 0).tolist())
    assert len(held) <= most
    kinds = [0 if labels[i] >= 0 else 1 if verdicts[i] != "unique" else 2 for i in range(len(rows))]
    left = [kinds[i] for i in range(len(rows)) if i not in held]
    if left:
        assert all(kinds[i] <= min(left) for i in held)
        assert len(held) == most
    sizes = {number: labels.count(number) for number in numbers.values()}
    listed = {labels[i] for i in held} - {-1}
    assert extent.clusters.tolist() == sorted(listed)
    assert all(sizes[a] >= sizes[b] for a in listed for b in set(sizes) - listed)
    # The tables of the part say the same of its pages as those of all.
    for i in held:
        row = extent.data.pages[extent.row[i]]
        assert row["url"] == data.pages["url"][i]
        if labels[i] >= 0:
            canonical = data.clusters["canonical"][labels[i]]
            assert (
                extent.data.clusters["canonical"][row["cluster"]] == extent.row[canonical] == row["canonical"]
            )
