"""The report opens without a network, shows right figures at any size, and nothing in a crawl harms it."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

import pytest

from scrapy_neardup.audit.output.report import Limits, write_report

from .crawl import HOSTILE, RTL, empty_crawl, hostile_crawl, large_crawl, small_crawl, unique_crawl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

    from .conftest import Opened

    Open = Callable[..., Opened]

pytestmark = pytest.mark.slow

PLAIN_TAGS = set(b"p div table caption thead tbody tr th td bdi noscript".split())
#: Elements that reach beyond the right edge of the window, but for those in a box that scrolls.
BEYOND = """() => [...document.querySelectorAll("main *")].filter((e) =>
    !e.closest("svg, .unseen") && e.getBoundingClientRect().right > innerWidth + 1 &&
    !e.closest(".scroll, .diff, .numbers")).map((e) => e.outerHTML.slice(0, 100))"""


def test_small_crawl_at_a_glance(open_report: Open) -> None:
    report = open_report(small_crawl())
    assert report.page.inner_text("#headline") == "20 % of this crawl repeats itself: 6 of 30 pages."
    expected = {
        "Pages": 30, "Unique": 19, "Near copies": 3, "Exact copies": 3, "Clusters": 3, "Largest cluster": 4,
        "Of one template": 2, "Walls": 1, "Too short": 1, "Revisits": 1,
    }  # fmt: skip
    assert {label: report.figure(label) for label in expected} == expected
    hosts = [[cell for cell in row if cell] for row in report.rows("hosts")]
    assert hosts == [
        ["news.example", "13", "4", "31 %"],
        ["wire.example", "2", "2", "100 %"],
        ["blog.example", "15", "0", "0 %"],
    ]
    assert report.rows("host-pairs")[0][:4] == ["wire.example", "news.example", "2", "0"]
    cause = report.rows("cause-list")[0]
    assert cause[:5] == ["utm_source", "parameter", "2", "2", "100 %"]
    assert "the same in 2 of 2 comparisons" in cause[5]


def test_bars_have_the_widths_of_their_counts(open_report: Open) -> None:
    report = open_report(small_crawl())
    widths = report.page.locator("#whole rect").evaluate_all(
        "all => all.map(r => [r.getAttribute('class'), parseFloat(r.getAttribute('width'))])"
    )
    assert widths == [
        ["unique", pytest.approx(100 * 19 / 30)],
        ["near", pytest.approx(10)],
        ["exact", pytest.approx(10)],
        ["other", pytest.approx(100 * 5 / 30)],
    ]


@pytest.mark.parametrize(
    ("crawl", "headline"),
    [
        (empty_crawl, "There are no pages in this audit."),
        (unique_crawl, "No page of 30 repeats another."),
    ],
)
def test_nothing_to_show(open_report: Open, crawl: Callable[[], object], headline: str) -> None:
    report = open_report(crawl())
    assert report.page.inner_text("#headline") == headline
    assert report.figure("Clusters") == 0
    assert "No cluster is like that." in report.page.inner_text("#cluster-list")
    assert report.page.locator("#no-pairs").is_visible()
    assert report.page.locator("#likeness svg").count() == 0


def test_large_crawl_stays_usable(open_report: Open) -> None:
    report = open_report(large_crawl(2_000))
    assert report.figure("Pages") == 2 * 7_200
    assert len(report.rows("cluster-list")) == 20
    assert report.page.locator("tr").count() < 500
    report.page.click("#cluster-list .pager button >> nth=3")
    assert re.search(r"of 2,001$", report.page.inner_text("#cluster-list .pager span"))
    report.page.click("#cluster-list .opener >> nth=0")
    report.page.click("#cluster-list .detail button:text('Compare') >> nth=0")
    report.page.wait_for_selector("#cluster-list .diff")


def test_figures_are_of_all_pages_whatever_is_listed(open_report: Open) -> None:
    data = large_crawl(300)
    every, some = open_report(data), open_report(data, limits=Limits(pages=500))
    for table in ("hosts", "host-pairs", "cause-list"):
        assert some.rows(table) == every.rows(table)
    assert some.page.inner_text("#totals") == every.page.inner_text("#totals")
    assert "lists 500 of 1,250 pages of clusters" in some.page.inner_text("#left-out")
    assert some.rows("cluster-list")[0] == every.rows("cluster-list")[0]
    some.page.click("#cluster-list .opener >> nth=0")
    assert "100 pages more in clusters.jsonl" in some.page.inner_text("#cluster-list .detail")


def test_hostile_titles_and_urls_are_inert(open_report: Open) -> None:
    report = open_report(hostile_crawl())
    page = report.page
    for opener in page.locator("#cluster-list > .scroll > table > tbody > tr .opener").all():
        opener.click()
    for compare in page.locator("#cluster-list .detail button:text('Compare')").all():
        compare.click()
    report.wait(f"document.querySelectorAll('#cluster-list .diff').length === {len(HOSTILE)}")
    assert page.evaluate("window.hacked") is None
    assert (
        page.locator("main :is(img, iframe, object, embed, form[action], base, script, style)").count() == 0
    )
    links = page.locator("a[target]").evaluate_all("all => all.map(a => [a.protocol, a.rel])")
    assert links
    assert {tuple(link) for link in links} <= {
        ("http:", "noopener noreferrer nofollow"),
        ("https:", "noopener noreferrer nofollow"),
    }
    shown = page.inner_text("body")
    assert "<script>window.hacked = 1</script>" in shown
    assert "⟨U+202E⟩fdp.exe" in shown
    assert "␛[31mred" in shown
    assert not set(shown) & {RTL, "\x1b", "\x07"}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_file_holds_nothing_of_the_crawl_that_is_markup(open_report: Open) -> None:
    content = open_report(hostile_crawl()).path.read_bytes()
    # Only the tables for those without scripts have some of it, escaped: no tag, and no attribute.
    plain = re.search(rb"<p>[^<]*pages in .*?</noscript>", content, re.DOTALL)
    assert plain
    assert b"hacked" not in content.replace(plain[0], b"")
    tags = {tag.split()[0] for tag in re.findall(rb"<([^>]*)>", plain[0])}
    assert not any(tag.strip(b"/") not in PLAIN_TAGS for tag in tags), tags
    assert b"hacked" not in b"".join(re.findall(rb"<[^>]*>", plain[0]))
    assert not re.search(rb"\son[a-z]+\s*=", content.split(b"<script")[0])
    assert content.count(b"<script>") == content.count(b"</script>") - content.count(b"<script type=") == 1


def test_policy_refuses_scripts_styles_and_requests(open_report: Open) -> None:
    report = open_report(small_crawl())
    # The browser, not the report, is what stops these.
    blocked = report.page.evaluate(
        """async () => {
            const script = document.createElement("script");
            let refused = 0;
            const violated = new Set();
            document.addEventListener(
                "securitypolicyviolation", (event) => violated.add(event.effectiveDirective));
            try { script.text = "window.hacked = 1"; document.body.append(script); } catch { refused++; }
            try { document.body.innerHTML += "<img src=x onerror='window.hacked = 1'>"; } catch { refused++; }
            try { setTimeout("window.hacked = 1"); } catch { refused++; }
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
    assert blocked == [4, None, directives]
    assert any("javascript" in complaint.lower() for complaint in report.complaints)
    report.complaints.clear()


def test_tables_are_saved_as_csv_without_formulas(open_report: Open) -> None:
    report = open_report(hostile_crawl())
    report.page.click("#cluster-list .opener >> nth=3")
    for table in ("source-list", "problems", "cluster-list", "hosts"):
        content = report.download(f"#{table} > .under > .save").removeprefix("\ufeff")
        head, *rows = csv.reader(io.StringIO(content, newline=""))
        assert rows
        for row in rows:
            assert len(row) == len(head)
            for cell in row:
                assert not re.match(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]", cell), cell
    assert report.page.locator("#host-pairs .save").is_hidden()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("crawl", [small_crawl, hostile_crawl, empty_crawl])
def test_nothing_is_wider_than_the_window(open_report: Open, crawl: Callable[[], object], width: int) -> None:
    page = open_report(crawl(), viewport={"width": width, "height": 800}).page
    for opener in page.locator("#cluster-list > .scroll > table > tbody > tr > td > .opener").all()[:2]:
        opener.click()
    page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })')
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_tables_are_there(browser: Browser, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", small_crawl())
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.locator("noscript table").count() == 3
    assert page.get_by_role("cell", name="news.example").first.is_visible()
    assert page.locator("#theme").is_hidden()
    assert page.locator("#clusters").is_hidden()
    context.close()


def test_theme_follows_the_system_until_the_reader_chooses(open_report: Open) -> None:
    page = open_report(small_crawl(), color_scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert sum(map(int, re.findall(r"\d+", dark))) < 150
    assert sum(map(int, re.findall(r"\d+", light))) > 600
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(background) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(open_report: Open, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    page = open_report(small_crawl(), color_scheme=scheme).page
    pairs = page.evaluate(
        """() => {
            const style = getComputedStyle(document.documentElement);
            const value = (name) => style.getPropertyValue(name).trim();
            const on = [["--ink", "--paper"], ["--soft", "--paper"], ["--soft", "--raised"],
                ["--accent", "--paper"],
                        ["--accent", "--raised"], ["--ink", "--gone"], ["--ink", "--come"]];
            return on.map(([a, b]) => [a + " on " + b, value(a), value(b)]);
        }"""
    )
    for name, ink, paper in pairs:
        low, high = sorted((_luminance(ink), _luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_controls_and_tables_have_names(open_report: Open) -> None:
    page = open_report(small_crawl()).page
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll(
                "button, input, select, a, svg[role=img], section, nav, table")]
            .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length || e.caption))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.locator("table").count() == page.locator("table > caption").count()
    assert page.locator("section").evaluate_all(
        "all => all.every(s => document.getElementById(s.getAttribute('aria-labelledby')))"
    )
    assert {"banner", "main", "navigation", "region"} <= set(
        re.findall(r"^\s*- (\w+)", page.locator("body").aria_snapshot(), re.MULTILINE)
    )


def test_print_shows_figures_without_controls(open_report: Open) -> None:
    page = open_report(small_crawl(), color_scheme="dark").page
    page.emulate_media(media="print")
    assert page.locator("#headline").is_visible()
    assert page.locator("#hosts svg >> nth=0").is_visible()
    assert (
        page.locator("button:visible, input[type=range]:visible").count()
        == page.locator("th button:visible, .opener:visible").count()
    )
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
