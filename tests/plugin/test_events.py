"""What is counted, logged and reported; no item is lost, whatever the collector, log and file do."""

import json
import logging
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.errors import ConfigurationError, IndexUnavailable
from scrapy_neardup.matching.rules import Evidence
from scrapy_neardup.plugin import signals
from scrapy_neardup.plugin.events import EventReporter
from scrapy_neardup.plugin.settings import CrawlOptions
from scrapy_neardup.verdict import Verdict

DOCS = (Path(__file__).parents[2] / "docs" / "scrapy.md").read_text()
ODD = "https://a.example/\udc80\ud800/é%s\r\n\0"
COPY = Verdict("near", url="https://b.example/\udfff", distance=2, similarity=0.9)
REVISIT = Verdict("revisit", url="https://b.example/", similarity=0.87, unchanged=True)


class BrokenError(Exception):
    pass


def fail(*args, **kwargs):
    raise BrokenError("injected")


def reporter(**settings):
    names = {f"NEARDUP_{name.upper()}": value for name, value in settings.items()}
    crawler = SimpleNamespace(stats=None, signals=SignalManager(), spider=SimpleNamespace(name="some"))
    crawler.stats = MemoryStatsCollector(SimpleNamespace(settings=Settings()))
    return EventReporter(crawler, CrawlOptions.from_settings(Settings(names)))


def counts(told):
    stats = told.crawler.stats.get_stats()
    return {name.removeprefix("neardup/"): count for name, count in stats.items()}


def lines(path):
    return [json.loads(line) for line in path.read_bytes().decode("utf-8").splitlines()]


async def tell_all(told, url=ODD):
    """Call every method."""
    told.count("extract_seconds", 0.25)
    told.failed("reserve", url)
    with told.fails_open("item", url):
        fail()
    await told.tell_page(HtmlResponse(url), COPY, "tag")
    told.decided("page", url, COPY, "tag")
    for verdict in (COPY, Verdict("exact"), Verdict("unique"), Verdict("too_short")):
        told.decided("item", url, verdict, "passed" if verdict.kind != "near" else "drop_item")
    told.close()


@pytest.mark.parametrize("url", [ODD, "", None, b"\xff", {1: {2}}])
def test_urls_of_any_kind(tmp_path, url, caplog):
    told = reporter(report=str(tmp_path / "report.jsonl"))
    with caplog.at_level(logging.DEBUG):
        for verdict in (COPY, Verdict("revisit", url=url)):
            told.decided("item", url, verdict, "passed")
        told.failed("item", url)
        told.close()
    for record in caplog.records:
        record.getMessage().encode()  # what a handler that writes UTF-8 does
    assert counts(told)["item/checked"] == 2
    for line in lines(tmp_path / "report.jsonl"):
        assert url not in (ODD, "") or line["url"] == url


async def test_a_collector_that_raises(caplog):
    told = reporter(policy="tag")
    told.crawler.stats = SimpleNamespace(inc_value=fail, get_value=fail, set_value=fail)
    with caplog.at_level(logging.WARNING, "scrapy_neardup"):
        await tell_all(told)
    said = [message for message in caplog.messages if "failed (stats)" in message]
    assert len(said) == 3
    assert "no more failures of this kind" in said[2]


async def test_a_log_that_raises(tmp_path, monkeypatch):
    told = reporter(report=str(tmp_path / "report.jsonl"))
    monkeypatch.setattr(logging.getLogger("scrapy_neardup"), "log", fail)
    await tell_all(told)
    assert counts(told)["error/reserve"] == 1
    assert len(lines(tmp_path / "report.jsonl")) == 4


async def test_a_receiver_of_signals_that_raises(caplog):
    told = reporter()
    told.crawler.signals.connect(fail, signals.page_duplicate)
    await tell_all(told)
    assert any("Error caught on signal handler" in message for message in caplog.messages)
    told.crawler.signals = SimpleNamespace(send_catch_log_async=fail)
    await tell_all(told)
    assert counts(told)["error/signal"] == 1


async def test_a_report_that_cannot_be_written_goes_on_once_it_can(tmp_path):
    full = reporter(report="/dev/full")
    await tell_all(full)
    assert counts(full)["error/report"] == 4
    path = tmp_path / "deep" / "report.jsonl"
    told = reporter(report=str(path))
    told.decided("item", "https://a.example/", COPY, "tag")
    path.parent.mkdir()
    told.decided("item", "https://b.example/", COPY, "tag")
    assert [line["url"] for line in lines(path)] == ["https://b.example/"]
    assert counts(told)["error/report"] == 1


@pytest.mark.parametrize("place", ["", "none/report.jsonl", "pipe"])
def test_a_report_that_cannot_be_written_is_an_error_at_the_start(tmp_path, place):
    os.mkfifo(tmp_path / "pipe")  # whoever opens it waits for a reader
    path = tmp_path / place
    with pytest.raises(ConfigurationError, match=rf"NEARDUP_REPORT is '{path}', which .*: set it to a file"):
        reporter(report=str(path)).report.require()


@pytest.mark.parametrize("what", ["page", "item"])
@pytest.mark.parametrize(
    ("verdict", "action", "counted"),
    [
        (Verdict("unique"), "passed", {"unique"}),
        (Verdict("unique", bounded=True), "passed", {"unique", "bounded"}),
        (COPY, "tag", {"duplicate", "duplicate/near", "duplicate/distance/2", "tagged"}),
        (COPY, "drop_item", {"duplicate", "duplicate/near", "duplicate/distance/2", "dropped"}),
        (Verdict("exact", url="u"), "drop_page", {"duplicate", "duplicate/exact", "dropped/page"}),
        (REVISIT, "passed", {"revisit", "revisit/unchanged"}),
        (Verdict("revisit", url="u"), "drop_page", {"revisit", "revisit/changed", "dropped/page"}),
    ],
)
def test_what_is_counted_and_reported(tmp_path, what, verdict, action, counted):
    told = reporter(report=str(tmp_path / "report.jsonl"))
    told.decided(what, "https://a.example/", verdict, action)
    prefix = "" if what == "page" else "item/"
    assert counts(told) == {prefix + name: 1 for name in {"checked", *counted}}
    if verdict.kind == "unique":
        assert not told.report.path.exists()
        return
    (line,) = lines(tmp_path / "report.jsonl")
    assert (line["type"], line["verdict"], line["action"]) == (what, verdict.kind, action)
    assert (line["url"], line["match"]) == ("https://a.example/", verdict.url)
    assert line["changed"] == (not verdict.unchanged if verdict.kind == "revisit" else None)


def test_the_line_that_sums_a_crawl_up(caplog):
    told = reporter(item_fields=["text"])
    for verdict in (Verdict("unique"), Verdict("unique"), COPY, Verdict("wall"), REVISIT):
        told.decided("page", "https://a.example/", verdict, "tag" if verdict.is_duplicate else "passed")
    told.decided("item", "https://a.example/", Verdict("too_short"), "passed")
    told.count("skipped/no_text", 2)
    told.failed("reserve", "", trace=False)
    with caplog.at_level(logging.INFO):
        told.close()
    pages, items = caplog.messages[-2:]
    aside = "2 skipped (2 no_text), 1 failed (1 reserve)"
    assert pages.endswith(f"5 pages judged: 2 unique, 1 near, 1 wall, 1 revisit, {aside}; 1 tagged")
    assert items.endswith("1 items judged: 1 too short")


def test_three_failures_of_a_kind_are_logged(caplog):
    told = reporter()
    for number in range(5):
        with told.fails_open("item", f"it was {number}"):
            fail()
    with told.fails_open("flush", "the last fingerprints"):
        raise IndexUnavailable("no space left: free some")
    *said, last = caplog.records
    assert [record.getMessage().partition(": it was ")[2][:1] for record in said] == [*"012"]
    assert ["no more" in record.getMessage() for record in said] == [False, False, True]
    assert all(record.exc_info[0] is BrokenError for record in said)
    assert last.getMessage().endswith("this pass: the last fingerprints: no space left: free some")
    assert not last.exc_info


async def test_every_drop_is_explained_by_its_line(site, crawl, pages, text, page):
    base = text(1, 150)
    bodies = [base, base, base + " and more", text(2, 10)]
    urls = [f"{site.url}/{number}" for number in range(4)]
    site.pages.update({f"/{number}": page(body) for number, body in enumerate(bodies)})
    exact, near, short = (await crawl(pages, urls=urls)).report
    assert exact["why"]["step"] == "digest"
    assert exact["why"]["found_by"] == ["digest", "fingerprint", "keys"]
    why = near["why"]
    assert near["similarity"] == why["jaccard"] >= why["alike_asked"]
    assert why["step"] in ("fingerprint", "keys")
    assert why["alike"]
    assert short["why"] == {"step": "text", "tokens": 10, "tokens_asked": 40}
    assert set(Evidence._fields) <= set(why)
    assert [name for name in why if f"`{name}`" not in DOCS] == []


def test_every_stat_is_documented():
    """Each literal name that the code counts under has its row."""
    names = set()
    for module in Path(__file__).parents[2].joinpath("scrapy_neardup", "plugin").glob("*.py"):
        code = module.read_text()
        names.update(re.findall(r'\.count\(\s*"([\w/]+)"', code))
        names.update(f"error/{stage}" for stage in re.findall(r'(?:failed|fails_open)\(\s*"([\w/]+)"', code))
    assert len(names) > 15
    assert not [name for name in sorted(names) if f"`{name}`" not in DOCS]
