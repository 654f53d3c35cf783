"""The sliders: figures at any threshold are those of a plain recomputation, and as audited at the start."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from .crawl import report_data, small_crawl
from .large import large_crawl

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_neardup.audit.output.report import ReportData

    from .conftest import Opened

    Open = Callable[..., Opened]

pytestmark = pytest.mark.slow

LABELS = {"Unique": "unique", "Near copies": "near", "Exact copies": "exact", "Of one template": "template"}


def slide(report: Opened, distance: int, similarity: int) -> None:
    report.page.evaluate(
        """([distance, similarity]) => {
            document.getElementById("distance").value = distance;
            document.getElementById("similarity").value = similarity;
            document.getElementById("similarity").dispatchEvent(new Event("input", {bubbles: true}));
        }""",
        [distance, similarity],
    )
    report.wait(
        f"document.getElementById('distance-now').textContent.startsWith('{distance} ')"
        f" && document.getElementById('similarity-now').textContent === '{similarity} %'"
    )


def recompute(data: ReportData, distance: int, similarity: int) -> dict[str, int]:
    """Group pages by search through the graph of pairs; returns the figures."""
    pages, pairs = data.pages, data.pairs
    least, asked = similarity / 100, data.particulars.min_similarity
    edges: dict[int, list[tuple[int, bool]]] = {page: [] for page in range(len(pages))}
    for a, b, bits, alike, name in zip(
        *(pairs[column].tolist() for column in ("first", "second", "distance", "similarity", "kind")),
        strict=True,
    ):
        alike = round(alike, 4)
        if name in ("rejected", "template"):
            continue
        near = bits <= distance or bits > data.particulars.max_distance
        if name == "exact" or (near and (alike >= least - 1e-9 or least <= asked)):
            edges[a].append((b, name == "exact"))
            edges[b].append((a, name == "exact"))

    def reached(page: int, exact_only: bool) -> set[int]:
        seen, stack = {page}, [page]
        while stack:
            new = {p for p, exact in edges[stack.pop()] if exact or not exact_only} - seen
            seen |= new
            stack.extend(new)
        return seen

    verdicts = ["unique" if name in ("near", "part", "exact") else name for name in pages["verdict"].tolist()]
    done: set[int] = set()
    sizes = []
    for page in range(len(pages)):
        if page in done or not edges[page]:
            continue
        members = reached(page, False)
        done |= members
        sizes.append(len(members))
        keep = min(members, key=lambda p: int(pages["rank"][p]))
        equal = reached(keep, True)
        for member in members - {keep}:
            if verdicts[member] != "revisit":
                verdicts[member] = "exact" if member in equal else "near"
    counts = Counter(verdicts)
    figures = {label: counts[name] for label, name in LABELS.items()}
    return figures | {"Clusters": len(sizes), "Largest cluster": max(sizes, default=0)}


@pytest.mark.parametrize("crawl", [small_crawl, lambda: large_crawl(3000, 300)], ids=["small", "large"])
def test_figures_follow_as_recomputed(open_report: Open, crawl: Callable[[], ReportData]) -> None:
    data = crawl()
    report = open_report(data)
    seen = set()
    for distance in (0, 1, 2, 3):
        for similarity in (80, 81, 86, 92, 100):
            if (distance, similarity) == (3, 80):
                continue  # as audited, the next test
            slide(report, distance, similarity)
            expected = recompute(data, distance, similarity)
            assert {label: report.figure(label) for label in expected} == expected, (distance, similarity)
            seen.add(tuple(expected.values()))
            repeats = sum(int(row[3].replace(",", "")) for row in report.rows("hosts"))
            assert repeats == expected["Near copies"] + expected["Exact copies"]
    assert len(seen) > 2


def test_as_audited_a_chain_is_no_cluster(open_report: Open) -> None:
    report = open_report(small_crawl())
    note = report.page.locator("#threshold-note")
    assert "checked against the page to keep" in note.inner_text()
    assert report.figure("Near copies") == 3
    slide(report, 3, 81)  # the pair of 0.72 goes, the end of the chain comes
    assert report.figure("Near copies") == 3
    assert "even through others" in note.inner_text()
    assert report.figure("Clusters") == 3
    report.page.fill("#search", "chain")
    report.wait("document.querySelectorAll('#cluster-list > .scroll > table > tbody > tr').length === 1")
    assert report.rows("cluster-list")[0][2] == "3"
    report.page.click("#cluster-list .opener")
    members = report.page.locator("#cluster-list .detail tbody tr").evaluate_all(
        "all => all.map(r => r.innerText)"
    )
    assert "near" in members[0]
    assert "0.930" in members[0]
    assert "0.930" not in members[1]  # it is there through another
    report.page.click("#audited")
    assert report.figure("Near copies") == 3
    assert report.page.locator("#audited").is_disabled()


def test_what_the_audit_refused_joins_at_no_threshold(open_report: Open) -> None:
    """Nobody has checked the names of refused pairs: a browser cannot judge with less than the audit."""
    urls = [f"https://a.example/{i}" for i in range(6)]
    pairs = [(0, 1, 3, 0.79, "rejected"), (2, 3, 9, 0.99, "rejected"), (4, 5, 0, 0.99, "template")]
    verdicts = ["unique"] * 4 + ["template"] * 2
    report = open_report(report_data(urls, [-1] * 6, verdicts, pairs, [None] * 6))
    page = report.page
    for slider, end in (("distance", "End"), ("similarity", "Home")):
        page.focus(f"#{slider}")
        page.keyboard.press(end)
    assert [page.input_value(f"#{slider}") for slider in ("distance", "similarity")] == ["3", "80"]
    for distance in range(4):
        for similarity in (80, 90, 100):
            slide(report, distance, similarity)
            assert [report.figure(name) for name in ("Unique", "Of one template", "Clusters")] == [4, 2, 0]
    assert "What the audit refused stays refused here" in page.inner_text("#threshold-note")


def test_pairs_found_by_their_phrases_stay_at_any_distance(open_report: Open) -> None:
    pairs = [(0, 1, 9, 0.95, "near"), (2, 3, 3, 0.95, "near")]
    urls = [f"https://a.example/{i}" for i in range(4)]
    report = open_report(report_data(urls, [0, 0, 1, 1], ["unique", "near"] * 2, pairs, [None] * 4))
    slide(report, 1, 80)
    assert report.figure("Near copies") == 1
    slide(report, 1, 96)
    assert report.figure("Near copies") == 0


def test_by_keys_alone_and_announced(open_report: Open) -> None:
    report = open_report(small_crawl())
    page = report.page
    page.focus("#similarity")
    before = page.inner_text("#announcement")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    report.wait("document.getElementById('similarity-now').textContent === '92 %'")
    assert page.inner_text("#announcement") != before
    assert page.get_attribute("#announcement", "aria-live") == "polite"
    expected = recompute(small_crawl(), 3, 92)
    assert {label: report.figure(label) for label in expected} == expected
