"""A document waits for those in progress; each reservation is settled once, after the feeds are flushed."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.extensions.feedexport import FeedExporter
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_neardup.index.pending import Reservation
from scrapy_neardup.plugin.events import EventReporter
from scrapy_neardup.plugin.reservations import Patience, Reservations
from scrapy_neardup.plugin.settings import CrawlOptions
from scrapy_neardup.verdict import Verdict

URL = "https://a.example/"


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
    def __init__(self, seconds=20.0):
        self.happened, self.active, self.asked = [], set(), 0
        self.exporter = SimpleNamespace(slots=[Feed(self.happened)])
        crawler = SimpleNamespace(
            signals=SignalManager(),
            spider=None,
            stats=MemoryStatsCollector(SimpleNamespace(settings=Settings())),
            engine=SimpleNamespace(scraper=SimpleNamespace(slot=SimpleNamespace(active=self.active))),
            get_extension=lambda kind: self.exporter if kind is FeedExporter else None,
        )
        self.made = Reservations(crawler, EventReporter(crawler, CrawlOptions()))
        self.patience = Patience(seconds)

    def reservation(self, name):
        def settled(reservation):
            how = reservation.note or "confirmed" if reservation.confirmed else "released"
            self.happened.append((name, how))

        return Reservation(name, settled)

    async def judge(self, *verdicts, **options):
        """Ask an index that gives these verdicts in turn; an exception is raised."""
        left = [*verdicts]

        def ask():
            self.asked += 1
            verdict = left.pop(0)
            if isinstance(verdict, Exception):
                raise verdict
            return verdict

        return await self.made.final_verdict(ask, URL, self.patience, **options)

    async def hold(self, name, prefix=""):
        reservation = self.reservation(name)
        await self.judge(Verdict("unique", reservation=reservation), prefix=prefix)
        return reservation

    @property
    def counts(self):
        stats = self.made.crawler.stats.get_stats()
        return {name.removeprefix("neardup/"): count for name, count in stats.items()}


@pytest.fixture
def crawl():
    return Crawl()


def pending_one():
    return Reservation("https://b.example/", lambda _: None)


@pytest.mark.parametrize(
    ("verdict", "revisits_wait", "waits"),
    [
        (Verdict("near", url="u", pending=pending_one()), False, True),
        (Verdict("exact", url="u"), True, False),
        (Verdict("revisit", url="u", unchanged=True, pending=pending_one()), True, True),
        (Verdict("revisit", url="u", unchanged=True, pending=pending_one()), False, False),
        (Verdict("template", url="u", pending=pending_one()), True, False),
    ],
)
async def test_what_waits_for_another_document(verdict, revisits_wait, waits):
    crawl = Crawl(seconds=0.1)
    found = await crawl.judge(verdict, revisits_wait=revisits_wait)
    assert found is (None if waits else verdict)
    assert crawl.counts == ({"waited": 1, "error/pending_timeout": 1} if waits else {})


async def test_all_waits_of_a_page_are_bounded_together():
    crawl = Crawl(seconds=0.4)
    pending = pending_one()
    asyncio.get_running_loop().call_later(0.3, pending.release)
    assert await crawl.made.settled(pending, URL, crawl.patience)
    begun = time.monotonic()
    assert not await crawl.made.settled(pending_one(), URL, crawl.patience)
    assert not await crawl.made.settled(pending_one(), URL, crawl.patience)
    assert time.monotonic() - begun < 0.25


async def test_each_is_settled_once_at_once_or_in_the_next_turn_after_the_feeds_are_flushed(crawl):
    one, two = await crawl.hold("a"), await crawl.hold("b", "item/")
    three, four = await crawl.hold("c"), await crawl.hold("d", "item/")
    other = Reservation("of another crawl", lambda _: pytest.fail("settled"))
    for settle in (crawl.made.release, crawl.made.confirm):
        settle(other)
    crawl.made.release(one)
    crawl.made.confirm(one)
    crawl.made.confirm(two)
    crawl.made.release(two)  # before the next turn
    crawl.made.confirm(three, note=b"note")
    crawl.made.confirm(four)
    released = [("a", "released"), ("b", "released")]
    assert crawl.happened == released
    await asyncio.sleep(0.05)
    crawl.made.close()
    assert crawl.happened == [*released, "flushed", ("c", b"note"), ("d", "confirmed")]
    assert crawl.counts == {"released": 1, "item/released": 1, "confirmed": 1, "item/confirmed": 1}


async def test_at_the_end_of_the_crawl_all_are_settled(crawl):
    request = Request("https://a.example/")
    crawl.active.add(request)
    stored, lost, over = [await crawl.hold(name) for name in ("stored", "lost", "over")]
    assert lost.confirmed is None
    crawl.made.confirm(stored)
    crawl.made.when_done(request, lambda: crawl.made.confirm(over, note=b"note"))
    crawl.made.close()
    assert crawl.happened == ["flushed", ("stored", "confirmed"), ("over", b"note"), ("lost", "released")]
    await asyncio.sleep(0.2)
    assert len(crawl.happened) == 4
