"""Stories are the clusters in time: who was first, who copied, what says more; as lines and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser

from scrapy_neardup.audit import audit
from tests.audit.corpora import edited, feed, text
from tests.cli.test_cli import run

#: Host, day of publication ("" if not known), text.
TOLD = [
    ("late.example", 9, text("harbour")),
    ("agency.example", 1, text("harbour")),
    ("paper.example", 3, edited(text("harbour"), 6)),
    ("daily.example", "", text("harbour")),
    ("long.example", 5, text("bridge")),
    ("one.example", 2, text("bridge", 180)),
    ("two.example", 4, text("bridge", 180)),
    ("alone.example", 1, text("alone")),
    ("alone.example", 1, text("alone")),
]


def told(folder: Path) -> Path:
    names = ("url", "title", "published", "text")
    rows = [
        dict(zip(names, (f"https://{host}/{n}", f"<b>{host}", day and f"2026-11-0{day}", words), strict=True))
        for n, (host, day, words) in enumerate(TOLD)
    ]
    audit(feed(folder / "a.jl", rows), folder / "out", seed=0).close()
    return folder / "out"


def lines(*arguments: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("stories", *arguments, "--json").stdout.splitlines()]


def test_who_was_first_and_who_says_more(tmp_path: Path) -> None:
    out = told(tmp_path)
    harbour, bridge = lines(out)
    assert harbour["sources"] == ["agency.example", "paper.example", "late.example", "daily.example"]
    assert (harbour["first_seen"], harbour["last_seen"]) == tuple(
        f"2026-11-0{day}T00:00:00+00:00" for day in (1, 9)
    )
    assert [page["first"] for page in harbour["copies"]] == [True, False, False, False]
    assert (bridge["sources"], [page["url"] for page in bridge["fuller"]]) == (
        ["one.example", "two.example"], ["https://long.example/4"],
    )  # fmt: skip
    assert [each["sources"] for each in lines(out, "--sources", 1)][2:] == [["alone.example"]]
    row = "2026-11-01T00:00:00+00:00\tagency.example\t<b>agency.example\t4\t4\t0\n"
    assert row in run("stories", out).stdout
    for name in ("pages", "pairs"):  # as Spark writes them
        rows = [*map(json.loads, (out / f"{name}.jsonl").read_text("utf-8").splitlines())]
        pq.write_table(pa.Table.from_pylist(rows), out / f"{name}.parquet")
        (out / f"{name}.jsonl").unlink()
    assert lines(out) == [harbour, bridge]


def test_without_times_urls_are_in_order(tmp_path: Path) -> None:
    rows = [{"url": f"https://{host}.example/", "text": text(1)} for host in "cab"]
    audit(feed(tmp_path / "a.jl", rows), tmp_path / "out").close()
    (story,) = lines(tmp_path / "out")
    assert (story["first_seen"], story["sources"]) == (None, ["a.example", "b.example", "c.example"])


def test_what_is_no_audit_is_one_sentence(tmp_path: Path) -> None:
    out = told(tmp_path)
    for spoil in ("no json\n", '{"url": "https://a.example/"}\n', "[]\n"):
        (out / "pages.jsonl").write_text(spoil)
        for folder, command in ((out, "stories"), (out, "rules"), (tmp_path, "stories")):
            result = run(command, folder)
            assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
            assert "run the audit again" in result.stderr


@pytest.mark.slow
def test_the_picture_has_time_across_and_sources_down(browser: Browser, tmp_path: Path) -> None:
    run("stories", told(tmp_path))
    page, said = browser.new_page(viewport={"width": 390, "height": 800}), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "out" / "stories.html").as_uri())
    assert page.inner_text(".headline") == "2 texts were told by several sources."
    assert page.locator("b").count() == 0
    picture = page.locator(".picture").nth(1)
    assert picture.locator("div > div").all_inner_texts()[0] == "agency.example"
    dots = picture.locator("circle").evaluate_all(
        "all => all.map((e) => [parseFloat(e.getAttribute('cx')), +e.getAttribute('cy')])"
    )
    assert sorted(dots) == [[1, 10], [25.5, 30], [99, 50]]
    assert picture.locator("circle.first").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert said == []
    page.close()
