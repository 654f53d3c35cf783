"""Borderline pairs: chosen by how unsure the audit was, labelled by buttons and keys, kept, downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.audit.output.report.review import MOST_ALIKE, borderline

from .crawl import hostile_crawl, report_data, small_crawl

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Opened

    Open = Callable[..., Opened]

pytestmark = pytest.mark.slow


def test_nearest_to_the_threshold_first_without_equal_texts() -> None:
    data = small_crawl()
    away = [abs(float(data.pairs["similarity"][i]) - 0.8) for i in borderline(data)]
    assert away == sorted(away)
    assert len(away) == 9


def test_few_pairs_of_the_same_clusters() -> None:
    pairs = [(i, 10 + j, 3, 0.79, "rejected") for i in range(10) for j in range(10)] + [
        (0, 20, 3, 0.5, "rejected")
    ]
    data = report_data(
        [f"https://a.example/{i}" for i in range(21)], [0] * 10 + [1] * 10 + [-1],
        (["unique"] + ["near"] * 9) * 2 + ["unique"], pairs, [None] * 21,
    )  # fmt: skip
    assert borderline(data).tolist() == [*range(MOST_ALIKE), 100]


def test_pairs_without_a_difference_are_not_shown() -> None:
    pairs = [
        (0, 1, 0, 1.0, "near"),
        (2, 3, 0, 0.9996, "template"),
        (4, 5, 1, 1.0, "near"),
        (6, 7, 0, 0.999, "near"),
    ]
    data = report_data(
        [f"https://a.example/{i}" for i in range(8)], [-1] * 8, ["unique"] * 8, pairs, [None] * 8
    )  # fmt: skip
    assert borderline(data).tolist() == [3, 2]


def test_labels_by_buttons_and_keys_are_downloaded(open_report: Open) -> None:
    report = open_report(small_crawl())
    page = report.page
    assert page.locator("#download-labels").is_disabled()
    page.click("#review-one button:text('Different')")
    assert "Pair 2 of 9" in page.inner_text("#review-one .facts")
    page.focus("#review-one")
    for key in ("s", "j", "d", "k", "c"):
        page.keyboard.press(key)
    assert page.inner_text("#download-labels") == "Download 2 labels (TSV)"
    content = report.download("#download-labels")
    assert content.splitlines() == [
        "id1\tid2\tlabel\tkind",
        "https://blog.example/post/2\thttps://blog.example/post/3\t0\tdifferent",
        "https://blog.example/post/0\thttps://blog.example/post/1\t3\tdifferent",
    ]
    assert [row[5] for row in report.rows("review-list")[:4]] == ["different", "same", "–", "–"]


def test_labels_outlive_a_reload(open_report: Open) -> None:
    page = open_report(small_crawl()).page
    page.focus("#review-one")
    page.keyboard.press("s")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#download-labels") == "Download 1 label (TSV)"
    assert page.get_attribute("#review-one .choice >> nth=0", "aria-pressed") == "true"


def test_keys_type_elsewhere(open_report: Open) -> None:
    page = open_report(small_crawl()).page
    page.focus("#search")
    page.keyboard.type("sd")
    assert page.input_value("#search") == "sd"
    assert page.locator("#download-labels").is_disabled()


def test_a_pair_of_the_list_is_opened(open_report: Open) -> None:
    report = open_report(small_crawl())
    page = report.page
    page.click("#review-list button:text-is('3')")
    assert "Pair 3 of 9" in page.inner_text("#review-one .facts")
    assert page.evaluate("document.activeElement.id") == "review-one"
    report.wait("document.querySelector('#review-one .diff ins')?.textContent === 'change1'")


def test_hostile_urls_break_no_line_and_start_no_formula(open_report: Open) -> None:
    report = open_report(hostile_crawl())
    total = int(report.page.inner_text("#review-one strong").split()[-1])
    report.page.focus("#review-one")
    for _ in range(total):
        report.page.keyboard.press("s")
    lines = report.download("#download-labels").split("\n")
    assert lines.pop() == ""
    assert len(lines) == total + 1
    for line in lines:
        cells = line.split("\t")
        assert len(cells) == 4
        assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
