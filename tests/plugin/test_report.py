"""A line of the report explains its decision by itself."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.rules import Evidence

DOCS = (Path(__file__).parents[2] / "docs" / "scrapy.md").read_text()


@pytest.fixture
def report(site, crawl, pages, tmp_path):
    async def run(bodies, **settings):
        """Crawl pages one by one; return the line of each but the first."""
        urls = []
        for number, body in enumerate(bodies):
            site.pages[f"/{number}"] = body
            urls.append(f"{site.url}/{number}")
        path = tmp_path / "report.jsonl"
        await crawl(pages, {"CONCURRENT_REQUESTS": 1, "NEARDUP_REPORT": str(path), **settings}, urls=urls)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return sorted(lines, key=lambda line: urls.index(line["url"]))

    return run


async def test_every_drop_is_explained_by_its_line(report, text, page):
    base = text(1, 150)
    bodies = [base, base, base + " and more", text(2, 10), re.sub("a", "1", base)]
    exact, near, short = await report([*map(page, bodies[:4])])
    assert exact["why"]["step"] == "digest"
    assert exact["why"]["found_by"] == ["digest", "fingerprint", "keys"]
    why = near["why"]
    assert near["similarity"] == why["jaccard"] >= why["alike_asked"]
    assert why["step"] in ("fingerprint", "keys")
    assert why["alike"]
    assert why["one_site"] is True
    assert why["substituted"] == 0
    assert why["known"] >= why["known_asked"]
    assert why["length"] >= why["length_asked"]
    assert short["why"] == {"step": "text", "tokens": 10, "tokens_asked": 40}


async def test_every_figure_is_documented(report, text, page):
    (near,) = await report([page(text(1)), page(text(1) + " more")])
    assert set(Evidence._fields) <= set(near["why"])
    assert [name for name in near["why"] if f"`{name}`" not in DOCS] == []


async def test_a_document_is_explained_only_if_somebody_asks(site, crawl, pages, monkeypatch):
    urls = [site.article("/a"), site.article("/b")]
    asked = []
    monkeypatch.setattr(
        type(Detector.open().matcher), "explain", lambda *args: asked.append(args) or {"step": "digest"}
    )
    assert (await crawl(pages, {"CONCURRENT_REQUESTS": 1}, urls=urls))["duplicate"] == 1
    assert not asked


@pytest.mark.parametrize("kind", ["folder", "below a file", "pipe that nobody reads"])
async def test_a_report_that_cannot_be_written_stops_the_crawl(report, page, text, tmp_path, kind):
    path = tmp_path / "there"
    if kind == "folder":
        path.mkdir()
    elif kind == "below a file":
        path.touch()
        path /= "report.jsonl"
    else:
        os.mkfifo(path)
    with pytest.raises(
        ConfigurationError, match=rf"NEARDUP_REPORT is '{path}', which cannot be written \(.*: set"
    ):
        await report([page(text(1)), page(text(1))], NEARDUP_REPORT=str(path))


async def test_a_pipe_that_is_full_holds_nothing_up(site, crawl, pages, tmp_path):
    urls = [site.article("/a"), site.article("/b")]
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        with suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        result = await crawl(pages, {"CONCURRENT_REQUESTS": 1, "NEARDUP_REPORT": str(path)}, urls=urls)
    finally:
        os.close(reader)
        os.close(writer)
    assert result["error/report"] == 1
