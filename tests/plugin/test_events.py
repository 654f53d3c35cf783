"""No item is lost, whatever the stats collector, the log, the report file and the signal handlers do."""

from __future__ import annotations

import json
import logging
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.plugin import signals
from scrapy_neardup.plugin.events import EventReporter
from scrapy_neardup.plugin.settings import CrawlOptions
from scrapy_neardup.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

ODD = "https://a.example/\udc80\ud800/é%s\r\n\0"
COPY = Verdict("near", url="https://b.example/\udfff", distance=2, similarity=0.9)


class BrokenError(Exception):
    pass


class Brittle(str):
    """A URL that cannot even be shown."""

    __slots__ = ()

    def __str__(self):
        raise BrokenError

    __format__ = __str__


def fail(*args, **kwargs):
    raise BrokenError("injected")


def reporter(**settings):
    names = {f"NEARDUP_{name.upper()}": value for name, value in settings.items()}
    crawler = SimpleNamespace(stats=None, signals=SignalManager(), spider=SimpleNamespace(name="some"))
    crawler.stats = MemoryStatsCollector(SimpleNamespace(settings=Settings()))
    return EventReporter(crawler, CrawlOptions.from_settings(Settings(names)))


async def tell_all(told, url=ODD):
    """Call every method."""
    told.count("unique")
    told.count("extract_seconds", 0.25)
    told.failed("reserve", url)
    with told.fails_open("item", url):
        fail()
    await told.tell_page(HtmlResponse(url), COPY, "tag")
    told.decided("page", url, COPY, "tag")
    for verdict in (COPY, Verdict("exact"), Verdict("unique"), Verdict("too_short")):
        await told.item_judged({"url": url}, url, verdict)
    told.close()


async def test_copies_of_an_item_with_an_odd_url_all_come_out(site, crawl, pages, text, tmp_path):
    """Under tag, into a feed that takes nothing but UTF-8."""
    original = {"url": "https://a.example/\udc80", "text": text(1)}
    copies = [{"url": f"https://{name}.example/", "text": text(1)} for name in "bcd"]

    class Items(pages):
        def parse(self, response):
            yield dict(original)
            yield from map(dict, copies)

    settings = {
        "NEARDUP_ITEM_FIELDS": ["text"],
        "NEARDUP_POLICY": "tag",
        "NEARDUP_REPORT": "report.jsonl",
        "CONCURRENT_ITEMS": 1,
        "FEEDS": {"items.jsonl": {"format": "jsonlines", "encoding": "utf-8"}},
        "FEED_EXPORT_ENCODING": "utf-8",
    }
    result = await crawl(Items, settings, urls=[site.article("/a")])
    assert len(result.items) == 4
    exported = lines(tmp_path / "items.jsonl")  # the original is beyond the feed's own encoding
    assert [item["url"] for item in exported] == [copy["url"] for copy in copies]
    assert {item["neardup_match"]["url"] for item in exported} == {"https://a.example/\\udc80"}
    told = lines(tmp_path / "report.jsonl")
    assert [(line["url"], line["match"]) for line in told] == [
        (copy["url"], original["url"]) for copy in copies
    ]


@pytest.mark.parametrize("url", [ODD, "", None, 7, b"\xff", object(), ["a"], {1: {2}}, Brittle("x")])
async def test_urls_of_any_kind(tmp_path, url, caplog):
    told = reporter(report=str(tmp_path / "report.jsonl"), debug=True)
    with caplog.at_level(logging.DEBUG):
        for verdict in (COPY, Verdict("revisit", url=url)):
            await told.item_judged({}, url, verdict)
        told.failed("item", url)
        told.close()
    for record in caplog.records:
        record.getMessage().encode()  # what a handler that writes UTF-8 does
    assert told.crawler.stats.get_value("neardup/item/checked") == 2
    for line in lines(tmp_path / "report.jsonl"):
        assert url not in (ODD, "") or line["url"] == url


async def test_a_collector_that_raises(caplog):
    told = reporter(policy="tag")
    told.crawler.stats = SimpleNamespace(inc_value=fail, get_value=fail, set_value=fail)
    with caplog.at_level(logging.WARNING, "scrapy_neardup"):
        await tell_all(told)
    said = [message for message in caplog.messages if "failed (stats)" in message]
    assert len(said) == 3
    assert "neardup/unique is not counted" in said[0]
    assert "no more failures of this kind" in said[2]


@pytest.mark.parametrize("kind", ["handler", "filter"])
async def test_a_log_that_raises(kind, tmp_path):
    logger = logging.getLogger("scrapy_neardup")
    handler = logging.Handler()
    handler.emit = fail
    add, remove, what = {
        "handler": (logger.addHandler, logger.removeHandler, handler),
        "filter": (logger.addFilter, logger.removeFilter, fail),
    }[kind]
    told = reporter(debug=True, report=str(tmp_path / "report.jsonl"))
    level = logger.level
    logger.setLevel(logging.DEBUG)
    add(what)
    try:
        await tell_all(told)
    finally:
        remove(what)
        logger.setLevel(level)
    assert told.crawler.stats.get_value("neardup/error/reserve") == 1
    assert len(lines(tmp_path / "report.jsonl")) == 4


async def test_a_receiver_of_signals_that_raises(caplog):
    told = reporter()
    for each in (signals.page_duplicate, signals.item_duplicate):
        told.crawler.signals.connect(fail, each)
    await tell_all(told)
    assert any("Error caught on signal handler" in message for message in caplog.messages)
    told.crawler.signals = SimpleNamespace(send_catch_log_async=fail)
    await tell_all(told)
    assert told.crawler.stats.get_value("neardup/error/signal") == 3


async def test_a_report_on_a_full_disk(caplog):
    told = reporter(report="/dev/full")
    await tell_all(told)
    assert told.crawler.stats.get_value("neardup/error/report") == 4
    assert any("cannot write /dev/full (No space left on device)" in message for message in caplog.messages)


async def test_a_report_goes_on_once_it_can_be_written(tmp_path):
    path = tmp_path / "deep" / "report.jsonl"
    told = reporter(report=str(path))
    await told.item_judged({}, "https://a.example/", COPY)
    path.parent.mkdir()
    await told.item_judged({}, "https://b.example/", COPY)
    assert [line["url"] for line in lines(path)] == ["https://b.example/"]
    assert told.crawler.stats.get_value("neardup/error/report") == 1


async def test_a_line_that_a_full_disk_has_cut_spoils_no_other_one(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "report.jsonl"
    told = reporter(report=str(path))
    await told.item_judged({}, "https://a.example/", COPY)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 30, limits[1]))
    try:
        for number in range(2):
            await told.item_judged({}, f"https://a.example/{number}", COPY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    for number in range(2):
        await told.item_judged({}, f"https://b.example/{number}", COPY)
    first, cut, *others = path.read_text().splitlines()
    assert json.loads(first)["url"] == "https://a.example/"
    assert len(cut) == 30
    assert [json.loads(line)["url"] for line in others] == ["https://b.example/0", "https://b.example/1"]
    assert told.crawler.stats.get_value("neardup/error/report") == 2


async def test_lines_of_several_reporters_stay_whole(tmp_path):
    path = tmp_path / "report.jsonl"
    many = [reporter(report=str(path)) for _ in range(3)]
    for number in range(20):
        for told in many:
            await told.item_judged({}, "https://a.example/" + "x" * 10_000 + str(number), COPY)
    assert len(lines(path)) == 60


def lines(path: Path):
    return [json.loads(line) for line in path.read_bytes().decode("utf-8").splitlines()]


REVISIT = Verdict("revisit", url="https://b.example/", similarity=0.87, unchanged=True)


@pytest.mark.parametrize(
    ("verdict", "action", "counted"),
    [
        (Verdict("unique"), "passed", {"unique": 1}),
        (Verdict("unique", bounded=True), "passed", {"unique": 1, "bounded": 1}),
        (Verdict("wall"), "passed", {"wall": 1}),
        (Verdict("template", url="https://b.example/"), "passed", {"template": 1}),
        (COPY, "passed", {"duplicate": 1, "duplicate/near": 1, "duplicate/distance/2": 1}),
        (COPY, "tag", {"duplicate": 1, "duplicate/near": 1, "duplicate/distance/2": 1, "tagged": 1}),
        (Verdict("exact", url="u"), "drop_items", {"duplicate": 1, "duplicate/exact": 1}),
        (Verdict("exact", url="u"), "drop_page", {"duplicate": 1, "duplicate/exact": 1, "dropped/page": 1}),
        (REVISIT, "passed", {"revisit": 1, "revisit/unchanged": 1, "revisit/similarity/0.8": 1}),
        (
            Verdict("revisit", url="u", similarity=1.0),
            "passed",
            {"revisit": 1, "revisit/changed": 1, "revisit/similarity/1.0": 1},
        ),
        (
            Verdict("revisit", url="u"),
            "drop_page",
            {"revisit": 1, "revisit/changed": 1, "revisit/similarity/0.0": 1, "dropped/page": 1},
        ),
    ],
)
def test_what_is_counted_and_reported_of_a_page(tmp_path, verdict, action, counted):
    told = reporter(report=str(tmp_path / "report.jsonl"))
    told.decided("page", "https://a.example/", verdict, action)
    stats = told.crawler.stats.get_stats()
    assert {name.removeprefix("neardup/"): count for name, count in stats.items()} == {
        "checked": 1,
        **counted,
    }
    told.close()
    if verdict.kind == "unique":
        assert not (tmp_path / "report.jsonl").exists()
        return
    (line,) = lines(tmp_path / "report.jsonl")
    assert (line["type"], line["verdict"], line["action"]) == ("page", verdict.kind, action)
    assert line["changed"] == (not verdict.unchanged if verdict.kind == "revisit" else None)


@pytest.mark.parametrize(
    ("policy", "action", "counted"),
    [("tag", "tag", {"item/tagged": 1}), ("drop_page", "drop_item", {"item/dropped": 1})],
)
async def test_what_is_counted_and_reported_of_an_item(tmp_path, policy, action, counted):
    told = reporter(policy=policy, report=str(tmp_path / "report.jsonl"))
    await told.item_judged({}, "https://a.example/", COPY)
    await told.item_judged({}, "https://a.example/", Verdict("unique"))
    stats = told.crawler.stats.get_stats()
    assert {name.removeprefix("neardup/"): count for name, count in stats.items()} == {
        "item/checked": 2,
        "item/unique": 1,
        "item/duplicate": 1,
        "item/duplicate/near": 1,
        "item/duplicate/distance/2": 1,
        **counted,
    }
    (line,) = lines(tmp_path / "report.jsonl")
    assert (line["type"], line["action"], line["match"]) == ("item", action, "https://b.example/\udfff")


@pytest.mark.parametrize(
    ("verdict", "signal", "policy"),
    [
        (COPY, signals.page_duplicate, "drop_items"),
        (REVISIT, signals.page_revisited, "drop_items"),
        (Verdict("unique"), None, ""),
        (Verdict("fuller", url="u"), None, ""),
    ],
)
async def test_which_signal_a_verdict_sends(verdict, signal, policy):
    told, heard = reporter(), []
    listeners = {
        each: lambda policy, each=each: heard.append((each, policy))
        for each in (signals.page_duplicate, signals.page_revisited, signals.item_duplicate)
    }
    for each, listener in listeners.items():
        told.crawler.signals.connect(listener, each)
    await told.tell_page(HtmlResponse("https://a.example/"), verdict, "drop_items")
    assert heard == ([] if signal is None else [(signal, policy)])
    heard.clear()
    await told.tell_page(HtmlResponse("https://a.example/"), verdict, "passed")
    assert heard == ([] if signal is None else [(signal, "keep")])


async def test_the_line_that_sums_a_crawl_up(caplog):
    told = reporter(item_fields=["text"])
    for verdict in (Verdict("unique"), Verdict("unique"), COPY, Verdict("wall"), REVISIT):
        told.decided("page", "https://a.example/", verdict, "passed")
    await told.item_judged({}, "https://a.example/", Verdict("too_short"))
    told.count("skipped/no_text", 2)
    told.failed("reserve", "", trace=False)
    with caplog.at_level(logging.INFO):
        told.close()
    begin = "Near-duplicate detection of spider some: "
    aside = "2 skipped (2 no_text), 1 failed (1 reserve)"
    assert caplog.messages[-2:] == [
        f"{begin}5 pages judged, 2 unique, 1 near, 1 wall, 1 revisit, {aside}",
        f"{begin}1 item judged, 1 too short",
    ]


@pytest.mark.parametrize(("debug", "count"), [(False, 3), (True, 5)])
def test_three_failures_of_a_kind_are_logged(caplog, debug, count):
    told = reporter(debug=debug)
    for number in range(5):
        with told.fails_open("item", f"it was {number}"):
            fail()
    told.failed("report", "another", trace=False)
    *said, last = caplog.records
    numbers = [record.getMessage().partition(": it was ")[2][:1] for record in said]
    assert numbers == [*"01234"[:count]]
    no_more = ["no more" in record.getMessage() for record in said]
    assert no_more == [False] * (count - 1) + [not debug]
    assert all(record.exc_info[0] is BrokenError for record in said)
    assert ("(report)" in last.getMessage(), bool(last.exc_info)) == (True, False)


@pytest.mark.parametrize(("debug", "count"), [(False, 1), (True, 3)])
def test_the_first_duplicate_is_an_example(caplog, debug, count):
    told = reporter(debug=debug)
    with caplog.at_level(logging.DEBUG):
        for number in range(3):
            told.decided("page", f"https://a.example/{number}", COPY, "drop_items")
    assert len(caplog.messages) == count
    assert "a.example/0> is a near-duplicate of" in caplog.messages[0]
    assert ["no more duplicates will be shown" in text for text in caplog.messages] == [not debug] * count


def test_each_warning_comes_once(caplog):
    told = reporter()
    for number in range(2):
        for word in ("odd", "even"):
            told.warn_once("<%(url)s> is %(what)s", f"https://a.example/{number}", what=word)
    assert caplog.messages == ["<https://a.example/0> is odd", "<https://a.example/0> is even"]
