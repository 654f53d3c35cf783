"""Of equal pages in flight at once exactly one is unique under every policy, and none is lost if it fails."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import call_later, run_in_thread

from scrapy_neardup.index.reservation import Reservation
from scrapy_neardup.plugin import NearDuplicatePage
from scrapy_neardup.plugin.eventloop import wait_done, wait_through_stop
from scrapy_neardup.plugin.pending import Document, PendingResolver
from scrapy_neardup.verdict import Verdict

POLICIES = ["tag", "drop_items", "drop_page"]
SIX = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}


def check_one_unique(result, policy, callbacks):
    """*callbacks*: calls of the callback under drop_page."""
    assert result["unique"] == 1 + result["released"]
    assert result["duplicate"] == 5 - result["released"]
    assert result["confirmed"] == 1
    assert not [name for name in result.stats if name.startswith("neardup/error")]
    seen = result.spider.seen
    assert len(seen) == len(set(seen)) == (callbacks if policy == "drop_page" else 6)


@pytest.mark.parametrize("policy", POLICIES)
async def test_six_at_once(site, crawl, pages, policy):
    result = await crawl(pages, {**SIX, "NEARDUP_POLICY": policy}, urls=site.copies(6))
    check_one_unique(result, policy, callbacks=1)
    assert len(result.items) == (6 if policy == "tag" else 1)
    assert len(result.spider.matches) == (0 if policy == "drop_page" else 5)
    assert len(result.spider.failures) == (5 if policy == "drop_page" else 0)
    assert all(failure.request.callback == result.spider.parse for failure in result.spider.failures)


@pytest.mark.parametrize("policy", POLICIES)
async def test_those_that_come_while_the_first_is_in_progress_wait(site, crawl, pages, policy):
    class Slow(pages):
        async def parse(self, response):
            self.note(response)
            if len(self.seen) == 1:
                await run_in_thread(time.sleep, 3)
            yield {"url": response.url}

    result = await crawl(Slow, {**SIX, "NEARDUP_POLICY": policy}, urls=site.copies(6))
    check_one_unique(result, policy, callbacks=1)
    assert result["waited"] == 5


@pytest.mark.parametrize("policy", POLICIES)
async def test_callback_of_the_first_fails(site, crawl, pages, policy):
    class Failing(pages):
        def parse(self, response):
            first = not self.seen
            self.note(response)
            if first:
                raise ValueError("broken callback")
            yield {"url": response.url}

    result = await crawl(Failing, {**SIX, "NEARDUP_POLICY": policy}, urls=site.copies(6))
    assert result["released"] == 1
    check_one_unique(result, policy, callbacks=2)
    assert len(result.items) == (5 if policy == "tag" else 1)


class FailFirst:
    def __init__(self):
        self.count = 0

    def process_item(self, item):
        self.count += 1
        if self.count == 1:
            raise ValueError("broken pipeline")
        return item


class DropFirst(FailFirst):
    def process_item(self, item):
        self.count += 1
        if self.count == 1:
            raise DropItem("invalid")
        return item


@pytest.mark.parametrize("pipeline", [FailFirst, DropFirst])
@pytest.mark.parametrize("policy", POLICIES)
async def test_item_of_the_first_fails(site, crawl, pages, policy, pipeline):
    settings = {**SIX, "NEARDUP_POLICY": policy, "ITEM_PIPELINES": {pipeline: 300}}
    result = await crawl(pages, settings, urls=site.copies(6))
    assert result["released"] == 1
    check_one_unique(result, policy, callbacks=2)
    assert len(result.items) == (5 if policy == "tag" else 1)


async def test_all_fail(site, crawl, pages):
    class Failing(pages):
        def parse(self, response):
            self.note(response)
            raise ValueError("broken callback")

    result = await crawl(Failing, SIX, urls=site.copies(6))
    assert len(result.spider.seen) == 6  # each had its chance
    assert (result["unique"], result["released"], result["duplicate"]) == (6, 6, 0)
    assert result["index/documents"] == 0


class Kinds:
    """Callbacks of each kind that Scrapy takes; each yields one item."""

    def generator(self, response):
        self.note(response)
        yield {"url": response.url}

    def listing(self, response):
        self.note(response)
        return [{"url": response.url}]

    def single(self, response):
        self.note(response)
        return {"url": response.url}

    async def coroutine(self, response):
        self.note(response)
        return [{"url": response.url}]

    async def asyncgen(self, response):
        self.note(response)
        yield {"url": response.url}

    def nothing(self, response):
        self.note(response)

    def arguments(self, response, name):
        assert name == "value"
        yield from self.generator(response)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "kind", ["generator", "listing", "single", "coroutine", "asyncgen", "nothing", "arguments", "parse"]
)
async def test_callback_kinds(site, crawl, pages, policy, kind):
    class Kind(Kinds, pages):
        async def start(self):
            callback = None if kind == "parse" else getattr(self, kind)  # None: the spider's parse
            kwargs = {"name": "value"} if kind == "arguments" else {}
            for url in self.urls:
                yield Request(url, callback, cb_kwargs=kwargs)

    result = await crawl(Kind, {**SIX, "NEARDUP_POLICY": policy}, urls=site.copies(6))
    check_one_unique(result, policy, callbacks=1)
    assert len(result.items) == (0 if kind == "nothing" else 6 if policy == "tag" else 1)
    assert "log_count/ERROR" not in result.stats


async def test_latecomer_failing_in_its_own_callback_is_an_ordinary_error(site, crawl, pages):
    class Failing(pages):
        def parse(self, response):
            self.note(response)
            if "neardup_match" in response.meta:
                raise ValueError("broken")
            yield {"url": response.url}

    result = await crawl(Failing, {**SIX, "NEARDUP_POLICY": "tag"}, urls=site.copies(6))
    assert result.stats["spider_exceptions/ValueError"] == 5
    assert len(result.items) == 1


@pytest.mark.parametrize("way", ["yields", "raises", "returns_failure", "raises_other"])
async def test_errback_of_a_latecomer(site, crawl, pages, way):
    class Errback(pages):
        def failed(self, failure):
            super().failed(failure)
            assert failure.check(NearDuplicatePage)
            if way == "raises":
                failure.raiseException()
            if way == "raises_other":
                raise KeyError("broken errback")
            if way == "returns_failure":
                return failure
            return [{"url": failure.value.response.url, "copy": True}]

    result = await crawl(Errback, {**SIX, "NEARDUP_POLICY": "drop_page"}, urls=site.copies(6))
    assert len(result.spider.failures) == 5
    assert len(result.items) == (6 if way == "yields" else 1)
    assert result.stats.get("spider_exceptions/count", 0) == (5 if way == "raises_other" else 0)
    assert result.stats.get("log_count/ERROR", 0) == (5 if way == "raises_other" else 0)


async def test_callback_sees_the_request_as_it_was(site, crawl, pages):
    class Copying(pages):
        def parse(self, response):
            self.note(response)
            assert response.request.callback == self.parse
            url = response.url.replace("/together/", "/other/")
            yield response.request.replace(url=url, callback=self.other)

        def other(self, response):
            assert response.url not in self.matches
            self.note(response)

    for number in range(6):
        site.article(f"/other/{number}", seed=number + 1)
    result = await crawl(Copying, {**SIX, "NEARDUP_POLICY": "tag"}, urls=site.copies(6))
    assert len(result.spider.seen) == 12
    assert len(result.spider.matches) == 5  # copied meta marks nobody
    assert result["unique"] == 7
    assert "spider_exceptions/count" not in result.stats


async def test_waits_no_longer_than_the_limit(site, crawl, pages):
    class Slow(pages):
        async def parse(self, response):
            self.note(response)
            if len(self.seen) == 1:
                await run_in_thread(time.sleep, 1.5)
            yield {"url": response.url}

    settings = {**SIX, "NEARDUP_PENDING_TIMEOUT": 0.3, "NEARDUP_POLICY": "drop_page"}
    result = await crawl(Slow, settings, urls=site.copies(6))
    assert result["error/pending_timeout"] == 5
    assert len(result.items) == 6


# Without a crawl


class Index:
    """Gives the verdicts it was told, in turn, and notes what it was asked."""

    def __init__(self, *verdicts):
        self.index = SimpleNamespace(remote=False)
        self.verdicts, self.asked = [*verdicts], []

    def reserve(self, signature, url, **options):
        self.asked.append((signature, url, options))
        verdict = self.verdicts.pop(0)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict


def resolver(*verdicts, seconds=20.0, drops_revisits=False):
    happened = []
    reporter = SimpleNamespace(
        fails_open=lambda stage, url: suppress(ValueError),
        failed=lambda stage, message, trace: happened.append((stage, message, trace)),
    )
    reservations = SimpleNamespace(hold=lambda *arguments: happened.append(arguments))
    made = PendingResolver(Index(*verdicts), reservations, reporter, seconds, drops_revisits=drops_revisits)
    return made, happened


def pending_one(url="https://b.example/"):
    return Reservation(url, lambda _: None)


PAGE = Document("signature", "https://a.example/", "scope")
ITEM = replace(PAGE, is_item=True, beside=frozenset({("https://c.example/", b"")}), preference="preference")


@pytest.mark.parametrize("document", [PAGE, ITEM])
def test_what_the_index_is_asked(document):
    reservation = pending_one()
    made, happened = resolver(
        Verdict("unique", reservation=reservation), Verdict("exact", url="u"), ValueError()
    )
    assert made.reserve(document).kind == "unique"
    assert happened == [(reservation, "item/" if document.is_item else "")]
    assert made.reserve(document).kind == "exact"
    assert made.reserve(document) is None  # what has failed passes
    assert len(happened) == 1
    options = {
        "scope": "scope",
        "beside": document.beside,
        "keep_fragment": True,
        "preference": document.preference,
    }
    assert made.detector.asked == [("signature", "https://a.example/", options)] * 3


@pytest.mark.parametrize(
    ("verdict", "drops", "page", "item"),
    [
        (Verdict("near", url="u", pending=pending_one()), False, True, True),
        (Verdict("exact", url="u", pending=pending_one()), True, True, True),
        (Verdict("near", url="u"), True, False, False),
        (Verdict("revisit", url="u", unchanged=True, pending=pending_one()), True, True, False),
        (Verdict("revisit", url="u", unchanged=True, pending=pending_one()), False, False, False),
        (Verdict("revisit", url="u", pending=pending_one()), True, False, False),
        (Verdict("template", url="u", pending=pending_one()), True, False, False),
    ],
)
def test_what_depends_on_another_document(verdict, drops, page, item):
    made, _ = resolver(drops_revisits=drops)
    assert (made.depends(PAGE, verdict), made.depends(ITEM, verdict)) == (page, item)


async def test_the_last_verdict_counts():
    first, second = pending_one(), pending_one()
    verdicts = [Verdict("near", url="u", pending=each) for each in (first, second)]
    made, _ = resolver(*verdicts, Verdict("unique"))
    first.release()
    call_later(0.05, second.release)
    assert (await made.settle(PAGE)).kind == "unique"
    assert len(made.detector.asked) == 3


@pytest.mark.parametrize(("document", "stage"), [(PAGE, "pending_timeout"), (ITEM, "item_pending_timeout")])
async def test_a_document_that_is_never_settled_is_waited_for_so_long(document, stage):
    made, happened = resolver(Verdict("near", url="u", pending=pending_one()), seconds=0.2)
    started = time.monotonic()
    assert 0 < made.deadline() - started < 5
    assert await made.settle(document) is None
    assert time.monotonic() - started > 0.15
    assert happened == [
        (stage, "https://a.example/ waited 0 seconds for https://b.example/ to be stored", False)
    ]


async def test_an_index_that_fails_after_the_wait():
    other = pending_one()
    other.release()
    made, _ = resolver(Verdict("near", url="u", pending=other), ValueError("injected"))
    assert await made.settle(PAGE) is None
    made.close()


async def test_a_time_that_has_passed_is_no_error_with_any_reactor(monkeypatch):
    def strict(delay, function, *arguments):
        assert delay >= 0  # as Twisted's reactors do
        return call_later(delay, function, *arguments)

    monkeypatch.setattr("scrapy_neardup.plugin.eventloop.call_later", strict)
    assert not await wait_done(lambda _: None, -1.0)


@pytest.mark.parametrize(("stopped", "known"), [(False, False), (True, True)])
async def test_what_is_done_while_the_process_was_stopped_is_not_given_up(monkeypatch, stopped, known):
    now = [0.0]
    monkeypatch.setattr("scrapy_neardup.plugin.eventloop.time", SimpleNamespace(monotonic=lambda: now[0]))
    subscribed = []

    def subscribe(done):
        if subscribed:
            done(None)
        subscribed.append(done)
        now[0] += 60.0 if stopped else 0.01

    assert await wait_through_stop(subscribe, 0.01) is known
