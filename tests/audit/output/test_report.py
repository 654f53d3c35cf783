"""The report opens without a network, shows right figures at any size, and nothing in a crawl harms it."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from scrapy_neardup.audit.model import clustered
from scrapy_neardup.audit.output import report as written
from scrapy_neardup.audit.output.report import write_report
from tests.audit.corpora import edited, text

from .conftest import Opened
from .crawl import HOSTILE, RTL, Audited, hostile_crawl, large_crawl, pairs_of, small_crawl, with_texts

if TYPE_CHECKING:
    Open = Callable[..., Opened]

in_browser = pytest.mark.slow


def joined(path: Path, name: str) -> list[Any]:
    """Return what the blocks of a report hold."""
    found = re.findall(rf'id="data-{name}-\d+">([^<]*)</script>', path.read_text("utf-8"))
    return [row for packed in found for row in json.loads(gzip.decompress(base64.b64decode(packed)))]


def test_pages_of_clusters_with_their_texts(tmp_path: Path, audited: Audited) -> None:
    data, path = small_crawl(audited), tmp_path / "report.html"
    write_report(path, data)
    rows = clustered(data.pages).tolist()
    assert [page[0] for page in joined(path, "pages")] == data.pages["url"][rows].tolist()
    assert joined(path, "texts") == [data.text(page) for page in rows]
    assert joined(path, "pages")[0][7:] == [5, 1, 2, 0, 2]  # of the cluster that it leads
    assert 'class="note">So that' not in path.read_text()


def test_most_of_a_huge_cluster_is_left_out_and_its_canonical_page_is_not(
    tmp_path: Path, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"url": f"https://a.example/{n}", "text": text(each)} for n, each in enumerate("baaaaabcd")]
    monkeypatch.setattr(written, "OF_CLUSTER", 3)
    write_report(tmp_path / "report.html", audited(rows, urls=("*/4",)))
    assert [page[0][-1] for page in joined(tmp_path / "report.html", "pages")] == ["4", "1", "2", "0", "6"]
    assert "lists 5 of 7 pages of clusters, in 2 of 2" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("what", ["addresses", "texts"])
def test_the_size_is_bounded(
    tmp_path: Path, audited: Audited, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice, data, path = np.random.default_rng(0), large_crawl(audited), tmp_path / "report.html"
    if what == "addresses":
        data.pages["url"] = [f"https://a.example/{dice.bytes(115).hex()}" for _ in data.pages]
    monkeypatch.setattr(written, "SIZE", 900_000)
    monkeypatch.setattr(written, "TEXTS", 550_000)
    write_report(path, with_texts(data, [dice.bytes(500).hex() for _ in data.pages]))
    assert 600_000 < path.stat().st_size < 900_000
    assert (len(joined(path, "pages")) < 1_150) == (what == "addresses")


@in_browser
def test_small_crawl_at_a_glance(open_report: Open, audited: Audited) -> None:
    report = open_report(small_crawl(audited))
    page = report.page
    assert page.inner_text(".headline") == "20 % of this crawl repeats itself: 6 of 30 pages."
    expected = {
        "pages": 30, "unique": 18, "near copies": 3, "exact copies": 3, "clusters": 3, "of one template": 2,
        "walls": 2, "too short": 1, "revisits": 1, "repeats to fix": 6,
    }  # fmt: skip
    assert {label: report.figure(label) for label in expected} == expected
    assert [[cell for cell in row if cell] for row in report.rows("Host")] == [
        ["news.example", "13", "4", "30.8 %"], ["wire.example", "2", "2", "100 %"],
        ["blog.example", "15", "0", "0 %"],
    ]  # fmt: skip
    searches = {"": [0, 4, 7], "BRIDGE-to-be-built": [4], "no such page": [], "story 7": [7]}
    for wanted, found in searches.items():
        page.fill("#search", wanted)
        report.wait(f"document.querySelectorAll('#cluster-list .opener').length === {len(found)}")
        titles = [row[1].split("\n")[0] for row in report.rows("Clusters")]
        assert titles == [f"Story {number}" for number in found]
    plain = page.context.browser.new_page(java_script_enabled=False)  # type: ignore[union-attr]
    plain.goto(page.url)
    assert plain.locator("noscript table tbody tr").count() == 3
    assert plain.get_by_role("cell", name="news.example").first.is_visible()
    plain.close()


@in_browser
def test_figures_are_of_all_pages_whatever_is_listed(
    open_report: Open, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = large_crawl(audited)
    every = open_report(data)
    monkeypatch.setattr(written, "PAGES", 500)
    some = open_report(data)
    assert [some.rows(name) for name in ("Host", "URL")] == [every.rows(name) for name in ("Host", "URL")]
    assert some.page.inner_text(".totals") == every.page.inner_text(".totals")
    assert "lists 500 of 1,250 pages of clusters" in some.page.inner_text(".note >> nth=0")
    assert len(some.rows("Clusters")) == 20
    some.page.click("button:text('Show more')")
    assert len(some.rows("Clusters")) == 40
    some.page.click(".opener >> nth=0")
    assert "100 pages more in clusters.jsonl" in some.page.inner_text(".detail")


@in_browser
def test_hostile_titles_and_urls_are_inert(open_report: Open, audited: Audited) -> None:
    report = open_report(hostile_crawl(audited))
    page = report.page
    report.compare()
    assert page.locator(".diff").count() == len(HOSTILE)
    assert page.evaluate("window.hacked") is None
    inserted = "main :is(img, iframe, object, embed, form, base, script, style)"
    assert page.locator(inserted).count() == 0
    links = page.locator("a").evaluate_all("all => all.map(a => [a.protocol, a.rel].join(' '))")
    assert {*links} <= {f"{scheme}: noopener noreferrer nofollow" for scheme in ("http", "https")}
    shown = page.inner_text("body")
    assert "<script>window.hacked = 1</script>" in shown
    assert "⟨U+202E⟩fdp.exe" in shown
    assert "␛[31mred" in shown
    assert not set(shown) & {RTL, "\x1b", "\x07"}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@in_browser
def test_policy_refuses_scripts_styles_and_requests(open_report: Open, audited: Audited) -> None:
    report = open_report(small_crawl(audited))
    # The browser, not the report, is what stops these.
    blocked = report.page.evaluate(
        """async () => {
            const script = document.createElement("script");
            let refused = 0;
            const violated = new Set();
            document.addEventListener(
                "securitypolicyviolation", (event) => violated.add(event.effectiveDirective));
            try { script.text = "window.hacked = 1"; document.body.append(script); } catch { refused++; }
            try { await fetch("https://a.example/"); } catch { refused++; }
            const link = document.createElement("a");
            link.href = "javascript:window.hacked = 1";
            link.click();
            new Image().src = "https://a.example/x.png";
            const style = document.createElement("style");
            style.textContent = "body { display: none }";
            document.body.append(style);
            await new Promise((resolve) => setTimeout(resolve, 100));
            return [refused, window.hacked, [...violated].sort()];
        }"""
    )
    directives = ["connect-src", "img-src", "require-trusted-types-for", "script-src-elem", "style-src-elem"]
    assert blocked == [2, None, directives]
    report.complaints.clear()


@in_browser
def test_a_cluster_is_opened_and_compared_by_keys_alone(open_report: Open, audited: Audited) -> None:
    page = open_report(small_crawl(audited)).page
    page.focus("#search")

    def tab_to(expression: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate(expression):
                break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")

    tab_to("document.activeElement.className === 'opener'")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    tab_to("document.activeElement.ariaLabel?.includes('road-to-be-widened')")
    page.wait_for_selector(".diff")
    assert "4 only on the left, 4 only on the right" in page.inner_text(".comparison")
    words = [" ".join(page.locator(each).all_inner_texts()).split() for each in ("del", "ins")]
    assert words == [each.split()[150:154] for each in (text(0), edited(text(0), 4))]


@in_browser
def test_comparison_shows_both_texts_whole_unless_they_are_very_long(
    open_report: Open, audited: Audited
) -> None:
    """Texts with nothing in common do not freeze the page."""
    story = "\n".join(f"{text(paragraph, 36)}. " for paragraph in range(4))
    texts = [story, edited(story, 4).replace(" ", "  ", 1) + "\nA new paragraph at the end."]
    for dice in (random.Random(1), random.Random(2)):
        texts += ["".join(chr(dice.randrange(0x4E00, 0x9000)) for _ in range(30_000))]
    report = open_report(pairs_of(audited, texts))
    report.compare()
    for fold in report.page.locator(".fold button").all():
        fold.click()
    for side, original in (("left", texts[0]), ("right", texts[1])):
        shown = " ".join(report.page.locator(f".diff >> nth=0 >> .{side}").all_text_contents())
        assert shown.split() == original.split()
    assert "Only the first 20,000 characters are compared." in report.page.inner_text("#cluster-list")


@in_browser
def test_alignment_is_the_longest_common_subsequence(open_report: Open, audited: Audited) -> None:
    """The comparison of words that the page shows has as many equal words as dynamic programming finds."""
    dice, texts = random.Random(4), []
    for _ in range(20):
        left = [f"w{dice.randrange(6)}" for _ in range(dice.randrange(8, 30))]
        kept = (word for word in left if dice.random() < 0.9)  # drawn by turns with the next
        right = [word if dice.random() < 0.8 else f"w{dice.randrange(6)}" for word in kept]
        texts += [" ".join(left), " ".join(right)]
    report = open_report(pairs_of(audited, texts))
    report.compare()
    said = report.page.locator(".comparison > p").all_inner_texts()
    for sentence, left, right in zip(said, texts[::2], texts[1::2], strict=True):
        common = "The texts are equal." if left == right else str(_common(left.split(), right.split()))
        assert sentence.split(" word")[0] == common


def _common(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        diagonal = 0
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], diagonal + 1 if x == y else max(row[j], row[j - 1])
    return row[-1]
