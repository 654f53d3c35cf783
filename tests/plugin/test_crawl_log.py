"""What would come with every page is logged once or a few times, unless everything is asked for."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from scrapy_neardup.plugin.events import CrawlLog
from scrapy_neardup.verdict import Verdict

SPIDER = SimpleNamespace(name="some")
COPY = Verdict("near", url="https://b.example/", distance=2, similarity=0.912)


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG, "scrapy_neardup")
    return lambda debug=False: CrawlLog(SimpleNamespace(spider=SPIDER), debug=debug)


def test_three_failures_of_a_kind_are_logged(log, caplog):
    some = log()
    for number in range(5):
        some.failure("item", f"it was {number}", trace=False)
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(": it was ")[2][:1] for text in said] == ["0", "1", "2"]
    start = "Near-duplicate detection of spider some failed (item) and lets this pass: "
    assert all(text.startswith(start) for text in said)
    assert ["no more failures of this kind" in text for text in said] == [False, False, True]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert all(record.spider is SPIDER for record in caplog.records)
    assert not any(record.exc_info for record in caplog.records)


def test_many_failures_of_one_kind_hide_no_others(log, caplog):
    some = log()
    for stage in ("extract/timeout", "extract/timeout", "extract/timeout", "extract/timeout", "report"):
        some.failure(stage, "it was this", trace=False)
    said = [record.getMessage() for record in caplog.records]
    assert ["(report)" in text for text in said] == [False, False, False, True]
    assert ["no more failures of this kind" in text for text in said] == [False, False, True, False]


def test_all_failures_are_logged_if_asked_for(log, caplog):
    some = log(debug=True)
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        for number in range(5):
            some.failure("item", f"it was {number}", trace=True)
    assert len(caplog.records) == 5
    assert not any("no more" in record.getMessage() for record in caplog.records)
    assert all(record.exc_info[0] is ZeroDivisionError for record in caplog.records)


@pytest.mark.parametrize(("debug", "count"), [(False, 1), (True, 3)])
def test_the_first_duplicate_is_an_example(log, caplog, debug, count):
    some = log(debug)
    for number in range(3):
        some.duplicate(f"https://a.example/{number}", COPY, "drop_items")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == count
    assert said[0].startswith(
        "<https://a.example/0> is a near-duplicate of <https://b.example/> (distance 2, similarity 0.91): "
        "drop_items"
    )
    assert ["no more duplicates will be shown" in text for text in said] == [not debug] * count
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    assert not any(record.exc_info for record in caplog.records)


def test_each_warning_comes_once(log, caplog):
    some = log()
    for number in range(2):
        some.warn_once("<%(url)s> is odd", f"https://a.example/{number}")
        some.warn_once("<%(url)s> is even", f"https://a.example/{number}")
    assert [record.getMessage() for record in caplog.records] == [
        "<https://a.example/0> is odd",
        "<https://a.example/0> is even",
    ]
