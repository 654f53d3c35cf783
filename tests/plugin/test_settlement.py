"""Each reservation is settled once: confirmed after the feeds are flushed, or released."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.extensions.feedexport import FeedExporter
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.plugin.events import EventReporter
from scrapy_neardup.plugin.settings import CrawlOptions
from scrapy_neardup.plugin.settlement import ReservationTracker


class Feed:
    """A feed with a file that notes when it is flushed."""

    def __init__(self, happened, error=None):
        self.happened, self.error = happened, error
        self.file = self

    def flush(self):
        self.happened.append("flushed")
        if self.error is not None:
            raise self.error


class Crawl:
    def __init__(self):
        self.happened, self.active = [], set()
        self.exporter = SimpleNamespace(slots=[Feed(self.happened)])
        crawler = SimpleNamespace(
            signals=SignalManager(),
            spider=None,
            stats=MemoryStatsCollector(SimpleNamespace(settings=Settings())),
            engine=SimpleNamespace(
                scraper=SimpleNamespace(slot=SimpleNamespace(active=self.active)),
            ),
            get_extension=lambda kind: self.exporter if kind is FeedExporter else None,
        )
        self.tracker = ReservationTracker(crawler, EventReporter(crawler, CrawlOptions()))

    def hold(self, name, *prefix):
        def settled(reservation):
            how = reservation.note or "confirmed" if reservation.confirmed else "released"
            self.happened.append((name, how))

        reservation = Reservation(name, settled)
        self.tracker.hold(reservation, *prefix)
        return reservation

    @property
    def counts(self):
        stats = self.tracker.crawler.stats.get_stats()
        return {name.removeprefix("neardup/"): count for name, count in stats.items()}


@pytest.fixture
def crawl():
    return Crawl()


async def test_confirmed_in_the_next_turn_after_the_feeds_are_flushed(crawl):
    crawl.tracker.confirm(crawl.hold("a"))
    crawl.tracker.confirm(crawl.hold("b"), note=b"note")
    crawl.tracker.confirm(crawl.hold("c", "item/"))
    assert crawl.happened == []
    await asyncio.sleep(0.05)
    assert crawl.happened == ["flushed", ("a", "confirmed"), ("b", b"note"), ("c", "confirmed")]
    assert crawl.counts == {"confirmed": 2, "item/confirmed": 1}
    crawl.tracker.confirm(crawl.hold("d"))
    await asyncio.sleep(0.05)
    assert crawl.happened[4:] == ["flushed", ("d", "confirmed")]


async def test_released_at_once(crawl):
    crawl.tracker.release(crawl.hold("a"))
    crawl.tracker.release(crawl.hold("b", "item/"))
    assert crawl.happened == [("a", "released"), ("b", "released")]
    assert crawl.counts == {"released": 1, "item/released": 1}


async def test_each_is_settled_once(crawl):
    one, two, other = crawl.hold("a"), crawl.hold("b"), Reservation("other", lambda _: pytest.fail("settled"))
    for settle in (crawl.tracker.release, crawl.tracker.confirm):
        settle(other)  # of another crawl
    crawl.tracker.release(one)
    crawl.tracker.confirm(one)
    crawl.tracker.confirm(two)
    crawl.tracker.release(two)  # before the next turn
    await asyncio.sleep(0.05)
    crawl.tracker.close()
    assert [each for each in crawl.happened if each != "flushed"] == [("a", "released"), ("b", "released")]
    assert crawl.counts == {"released": 2}


async def test_what_is_over_is_told(crawl):
    requests = [Request(f"https://a.example/{number}") for number in range(3)]
    crawl.active.update(requests)
    done = []
    for number, request in enumerate(requests):
        crawl.tracker.when_done(request, lambda number=number: done.append(number))
    await asyncio.sleep(0.2)
    assert done == []
    crawl.active.discard(requests[1])
    await asyncio.sleep(0.2)
    assert done == [1]
    crawl.active.clear()
    await asyncio.sleep(0.2)
    assert done == [1, 0, 2]
    crawl.tracker.when_done(requests[0], lambda: done.append("again"))
    await asyncio.sleep(0.2)
    assert done == [1, 0, 2, "again"]


async def test_at_the_end_of_the_crawl_all_are_settled(crawl):
    request = Request("https://a.example/")
    crawl.active.add(request)
    stored, lost, over = crawl.hold("stored"), crawl.hold("lost"), crawl.hold("over")
    assert lost.confirmed is None
    crawl.tracker.confirm(stored)
    crawl.tracker.when_done(request, lambda: crawl.tracker.confirm(over, note=b"note"))
    crawl.tracker.close()
    assert crawl.happened == ["flushed", ("stored", "confirmed"), ("over", b"note"), ("lost", "released")]
    await asyncio.sleep(0.2)
    assert len(crawl.happened) == 4


@pytest.mark.parametrize("error", [OSError(28, "full"), ValueError("closed"), AttributeError("flush")])
async def test_feeds_that_cannot_be_flushed_keep_nothing_from_being_confirmed(crawl, error):
    crawl.exporter.slots = [Feed(crawl.happened, error), SimpleNamespace(file=None), Feed(crawl.happened)]
    crawl.tracker.confirm(crawl.hold("a"))
    await asyncio.sleep(0.05)
    assert crawl.happened == ["flushed", "flushed", ("a", "confirmed")]
    assert crawl.counts == {"confirmed": 1}


async def test_without_feeds(crawl):
    crawl.exporter = None
    crawl.tracker.confirm(crawl.hold("a"))
    await asyncio.sleep(0.05)
    assert crawl.happened == [("a", "confirmed")]


async def test_a_reservation_that_cannot_be_settled_stops_no_other(crawl):
    def fail(_):
        raise RuntimeError("injected")

    broken = Reservation("broken", fail)
    crawl.tracker.hold(broken)
    crawl.tracker.confirm(broken)
    crawl.tracker.confirm(crawl.hold("a"))
    await asyncio.sleep(0.05)
    assert ("a", "confirmed") in crawl.happened
    assert crawl.counts == {"confirmed": 1, "error/settle": 1}
