"""The list of clusters: searched, filtered, sorted, opened by mouse and keys; the comparison of two texts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from .crawl import report_data, small_crawl, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Opened

    Open = Callable[..., Opened]

pytestmark = pytest.mark.slow

ROWS = "document.querySelectorAll('#cluster-list > .scroll > table > tbody > tr:not(.opened)').length"


def names(report: Opened) -> list[str]:
    return [row[1].split("\n")[0] for row in report.rows("cluster-list") if len(row) > 1]


def test_search_finds_members_by_url_and_title(open_report: Open) -> None:
    report = open_report(small_crawl())
    assert names(report) == ["Story 0", "Story 4", "Story 7"]
    report.page.fill("#search", "BRIDGE-to-be-built")
    report.wait(f"{ROWS} === 1")
    assert names(report) == ["Story 4"]
    report.page.fill("#search", "story 8")
    report.wait(f"{ROWS} === 1 && document.querySelector('#cluster-list .title').textContent === 'Story 7'")
    report.page.fill("#search", "no such page")
    report.wait(f"{ROWS} === 0")
    assert report.page.locator("#cluster-list .nothing").is_visible()


def test_filters(open_report: Open) -> None:
    report = open_report(small_crawl())
    report.page.fill("#least", "3")
    report.wait(f"{ROWS} === 2")
    assert names(report) == ["Story 0", "Story 4"]
    report.page.fill("#least", "2")
    report.page.select_option("#reach", "one")
    report.wait(f"{ROWS} === 1")
    assert names(report) == ["Story 7"]
    report.page.select_option("#content", "exact")
    report.wait(f"{ROWS} === 0")


def test_sorted_by_any_column_and_back(open_report: Open) -> None:
    report = open_report(small_crawl())
    head = report.page.locator("#cluster-list thead button:text-is('Least alike')")
    head.click()
    assert names(report) == ["Story 7", "Story 0", "Story 4"]
    assert head.locator("..").get_attribute("aria-sort") == "descending"
    head.click()
    assert names(report) == ["Story 4", "Story 0", "Story 7"]
    assert report.page.locator("#cluster-list thead [aria-sort]").count() == 1


def test_a_cluster_is_opened_and_compared_by_keys_alone(open_report: Open) -> None:
    page = open_report(small_crawl()).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    page.focus("#content")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "opener":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    for _ in range(40):
        page.keyboard.press("Tab")
        if "road-to-be-widened" in (page.evaluate("document.activeElement.ariaLabel") or ""):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#cluster-list .diff")
    assert "4 only on the left, 4 only on the right" in page.inner_text("#cluster-list .comparison")
    assert page.locator("#cluster-list del").count() == page.locator("#cluster-list ins").count() == 4
    assert set(page.locator("#cluster-list ins").all_inner_texts()) == {"change1"}


def test_comparison_shows_both_texts_whole(open_report: Open) -> None:
    texts = [text(1), text(1, 5).replace(". ", ".  ", 1) + "\nA new paragraph at the end."]
    data = report_data(
        ["https://a.example/1", "https://a.example/2"],
        [0, 0],
        ["unique", "near"],
        [(0, 1, 2, 0.9, "near")],
        texts,
    )
    page = open_report(data).page
    page.click("#cluster-list .opener")
    page.click("#cluster-list .detail button:text('Compare')")
    page.wait_for_selector("#cluster-list .diff")
    for fold in page.locator("#cluster-list .fold button").all():
        fold.click()
    for side, original in (("left", texts[0]), ("right", texts[1])):
        shown = " ".join(page.locator(f"#cluster-list .diff .{side}").all_text_contents())
        assert shown.split() == original.split()
    assert "A new paragraph at the end" in page.locator("#cluster-list ins").last.inner_text()


def test_texts_with_nothing_in_common_do_not_freeze_the_page(open_report: Open) -> None:
    han = [
        "".join(chr(random.Random(seed).randrange(0x4E00, 0x9000)) for _ in range(30_000)) for seed in (1, 2)
    ]
    words = [
        " ".join(str(random.Random(seed + i).randrange(5000)) for i in range(4500)) for seed in (1, 20_000)
    ]
    urls = [f"https://a.example/{i}" for i in range(4)]
    pairs = [(0, 1, 3, 0.8, "near"), (2, 3, 3, 0.8, "near")]
    report = open_report(report_data(urls, [0, 0, 1, 1], ["unique", "near"] * 2, pairs, [*han, *words]))
    page = report.page
    for opener in page.locator("#cluster-list .opener").all():
        opener.click()
        page.locator("#cluster-list .detail button:text('Compare')").last.click()
    report.wait("document.querySelectorAll('#cluster-list .diff').length === 2")
    assert "Only the first 20,000 characters are compared." in page.inner_text("#cluster-list")


def test_alignment_is_the_longest_common_subsequence(open_report: Open) -> None:
    """The comparison of words that the page shows has as many equal words as dynamic programming finds."""
    dice = random.Random(4)
    pairs, urls, texts = [], [], []
    for number in range(0, 40, 2):
        left = [f"w{dice.randrange(6)}" for _ in range(dice.randrange(8, 30))]
        right = [
            word if dice.random() < 0.8 else f"w{dice.randrange(6)}" for word in left if dice.random() < 0.9
        ]
        texts += [" ".join(left), " ".join(right)]
        urls += [f"https://a.example/{number}", f"https://a.example/{number + 1}"]
        pairs.append((number, number + 1, 2, 0.9, "near"))
    clusters = [i // 2 for i in range(40)]
    report = open_report(report_data(urls, clusters, ["unique", "near"] * 20, pairs, texts))
    page = report.page
    for opener in page.locator("#cluster-list .opener").all():
        opener.click()
    for compare in page.locator("#cluster-list .detail button:text('Compare')").all():
        compare.click()
    report.wait("document.querySelectorAll('#cluster-list .diff').length === 20")
    said = page.locator("#cluster-list .comparison > p").all_inner_texts()
    for sentence, left, right in zip(said, texts[::2], texts[1::2], strict=True):
        if left == right:
            assert sentence == "The texts are equal."
        else:
            assert sentence.split(" word")[0] == str(_common(left.split(), right.split()))


def _common(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], diagonal + 1 if x == y else max(row[j], row[j - 1])
    return row[-1]


def test_texts_that_are_not_in_the_file_are_said_to_be_missing(open_report: Open) -> None:
    data = report_data(
        ["https://a.example/1", "https://a.example/2"],
        [0, 0],
        ["unique", "near"],
        [(0, 1, 2, 0.9, "near")],
        [None, "a"],
    )
    page = open_report(data).page
    page.click("#cluster-list .opener")
    page.click("#cluster-list .detail button:text('Compare')")
    page.wait_for_selector("#cluster-list .comparison .note")
