"""The sliders: figures at any threshold are those of a plain recomputation, and as audited at the start."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from .crawl import small_crawl
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
        if name in ("near", "part", "exact"):
            bits, alike = min(bits, data.particulars.max_distance), max(alike, asked)
        elif bits <= data.particulars.max_distance and alike >= asked:
            alike = asked - 0.0001
        if name != "template" and (name == "exact" or (bits <= distance and alike >= least - 1e-9)):
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
    for distance in (0, 2, 3, 4, 7)[: 5 if len(data.pages) > 30 else 4]:
        for similarity in (62, 79, 80, 81, 92, 100):
            if (distance, similarity) == (3, 80):
                continue  # as audited, the next test
            slide(report, distance, similarity)
            expected = recompute(data, distance, similarity)
            assert {label: report.figure(label) for label in expected} == expected, (distance, similarity)
            seen.add(tuple(expected.values()))
            repeats = sum(int(row[3].replace(",", "")) for row in report.rows("hosts"))
            assert repeats == expected["Near copies"] + expected["Exact copies"]
    assert len(seen) > 4


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


def test_templates_join_at_no_threshold(open_report: Open) -> None:
    report = open_report(small_crawl())
    slide(report, 5, 55)
    assert report.figure("Of one template") == 2


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
