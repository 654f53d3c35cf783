"""A revisit says whether it has changed.

Unchanged ones may be dropped; the crawl may end where nothing is new.
"""

from __future__ import annotations

import json
import time

import pytest
from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.matching.sites import site_key
from scrapy_neardup.plugin import NearDuplicatePage, signals
from scrapy_neardup.plugin.closing import NoNewPages
from scrapy_neardup.verdict import Verdict

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "NEARDUP_DIR": "seen"}
END = "NEARDUP_CLOSESPIDER_PAGECOUNT_NO_NEW"


@pytest.fixture
def listening(pages):
    """A spider that notes what it hears of revisits, and what stands in their meta."""

    class Listening(pages):
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.heard, spider.revisits = {}, {}
            crawler.signals.connect(spider.hear, signals.page_revisited)
            return spider

        def hear(self, response, verdict, policy, spider):
            self.heard[response.url] = (verdict.unchanged, round(verdict.similarity, 4), policy)

        def parse(self, response):
            self.revisits[response.url] = response.meta.get("neardup_revisit")
            yield from super().parse(response)

    return Listening


async def test_whether_and_how_much_a_page_has_changed(site, crawl, listening, text, page, tmp_path):
    same, other = site.article("/same", 1), site.article("/other", 2)
    report = tmp_path / "report.jsonl"
    settings = {**ONE_BY_ONE, "NEARDUP_REPORT": str(report)}
    first = await crawl(listening, settings, urls=[same, other])
    assert first.spider.heard == {}
    site.pages["/other"] = page(text(2) + text(3, 60))
    result = await crawl(listening, settings, urls=[same, other])
    assert (result["revisit"], result["revisit/unchanged"], result["revisit/changed"]) == (2, 1, 1)
    assert len(result.items) == 2
    mark = result.spider.revisits[other]
    assert mark == {
        "url": other, "kind": "revisit", "distance": mark["distance"], "similarity": mark["similarity"],
        "policy": "keep", "changed": True,
    }  # fmt: skip
    assert 0.5 < mark["similarity"] < 0.9
    assert result[f"revisit/similarity/0.{int(10 * mark['similarity'])}"] == 1
    assert result["revisit/similarity/1.0"] == 1
    assert result.spider.heard == {
        same: (True, 1.0, "keep"),
        other: (False, round(mark["similarity"], 4), "keep"),
    }
    lines = {line["url"]: line for line in map(json.loads, report.read_text().splitlines())}
    assert (lines[same]["changed"], lines[other]["changed"]) == (False, True)
    assert lines[other]["similarity"] == round(mark["similarity"], 4)
    assert "neardup_match" not in result.spider.matches
    assert result.errors == {}


async def test_items_of_unchanged_revisits_are_dropped(site, crawl, listening, text, page):
    site.article("/end", 9)
    urls = [site.article("/same", 1, links=("/end",)), site.article("/other", 2)]
    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": "drop_items"}
    assert len((await crawl(listening, settings, urls=urls)).items) == 3
    site.pages["/other"] = page(text(2) + " updated")
    result = await crawl(listening, settings, urls=urls)
    assert result.urls == urls[1:]
    assert site.hits["/end"] == 2  # links are followed
    assert result["dropped/item"] == 2
    assert result.stats["item_dropped_reasons_count/NearDuplicateItem"] == 2
    assert result.spider.revisits[urls[0]]["policy"] == "drop_items"
    assert result.spider.heard[urls[0]][2] == "drop_items"
    assert result.errors == {}


async def test_unchanged_revisits_are_dropped_as_pages(site, crawl, listening):
    urls = [site.article("/same", 1), site.article("/other", 2)]
    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": "drop_page"}
    await crawl(listening, settings, urls=urls[:1])
    result = await crawl(listening, settings, urls=urls)
    assert result.spider.seen == urls[1:]
    (failure,) = result.spider.failures
    assert failure.check(NearDuplicatePage)
    assert "is an unchanged revisit of" in str(failure.value)
    assert result["dropped/page"] == 1


@pytest.mark.parametrize("revisits", ["drop_items", "drop_page"])
async def test_a_page_that_has_stored_no_item_is_visited_again(site, crawl, listening, revisits):
    """Such as a list of links, or one whose items were not found last time."""
    urls = [site.article("/list", 1, links=("/end",)), site.article("/end", 2)]

    class Listing(listening):
        finds = ("end",)

        def parse(self, response):
            yield from response.follow_all(css="a")
            if response.url.endswith(tuple(self.finds)):
                yield {"url": response.url}

    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": revisits}
    await crawl(Listing, settings, urls=urls[:1])
    hits = site.hits["/end"]
    result = await crawl(Listing, settings, urls=urls[:1], finds=("end", "list"))
    assert site.hits["/end"] == hits + 1
    assert result.urls == urls[:1]
    # Now it has stored one.
    again = await crawl(Listing, settings, urls=urls[:1], finds=("end", "list"))
    assert again.items == []
    assert again["revisit/unchanged"] == 1 + (revisits == "drop_items")


@pytest.mark.parametrize("fails", [False, True])
async def test_a_revisit_of_a_page_in_progress_waits(site, crawl, pages, fails):
    """One URL asked for twice at once: if the first visit fails, the second is stored."""

    class Twice(pages):
        tries = 0

        async def start(self):
            for number in range(2):
                yield Request(self.urls[0], self.parse, dont_filter=True, cb_kwargs={"number": number})

        async def parse(self, response, number):
            Twice.tries += 1
            first = Twice.tries == 1
            await run_in_thread(time.sleep, 0.3)
            if fails and first:
                raise ValueError("broken callback")
            yield {"url": response.url}

    settings = {"NEARDUP_REVISITS": "drop_items"}
    result = await crawl(Twice, settings, urls=[site.article("/a")])
    assert len(result.items) == 1
    assert result["index/documents"] == 1
    assert result["dropped/item"] == (0 if fails else 1)


async def test_a_changed_revisit_that_fails_is_still_changed_the_next_time(site, crawl, pages, text, page):
    urls = [site.article("/a", 1)]
    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": "drop_items"}

    class Refuse:
        def process_item(self, item):
            raise DropItem("not today")

    await crawl(pages, settings, urls=urls)
    site.pages["/a"] = page(text(2))
    await crawl(pages, {**settings, "ITEM_PIPELINES": {Refuse: 1}}, urls=urls)
    result = await crawl(pages, settings, urls=urls)
    assert (len(result.items), result["revisit/changed"]) == (1, 1)


async def test_carried_items_of_unchanged_revisits_are_kept(site, crawl, pages):
    class Shop(pages):
        async def start(self):
            for number in range(3):
                item = {"name": f"Lamp {number}"}
                yield Request(self.urls[0], self.parse, dont_filter=True, cb_kwargs={"item": item})

        def parse(self, response, item):
            yield item

    urls = [site.article("/shipping")]
    for revisits, rules, kept in (
        ("drop_items", [], 3),
        ("drop_page", [], 3),
        ("drop_items", [{"url": "/shipping", "policy": "drop_items"}], 3),
    ):
        settings = {"CONCURRENT_REQUESTS": 1, "NEARDUP_REVISITS": revisits, "NEARDUP_RULES": rules}
        result = await crawl(Shop, settings, urls=urls)
        assert len(result.items) == kept
        assert result.errors == {}


async def test_the_crawl_ends_where_nothing_is_new(site, crawl, pages):
    urls = [site.article(f"/{number}", number, links=(f"/{number + 1}",)) for number in range(12)]
    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": "drop_items", END: 3}
    first = await crawl(pages, settings, urls=urls[4:5])
    assert (first["unique"], first.stats["finish_reason"]) == (8, "finished")
    result = await crawl(pages, settings, urls=urls[:1])
    assert result.stats["finish_reason"] == "neardup_closespider_pagecount_no_new"
    assert result.urls == urls[:4]
    assert 3 <= result["revisit"] <= 4  # the last one was on its way
    assert result["index/documents"] == 12
    assert result.errors == {}


async def test_a_site_with_nothing_but_copies_ends_no_crawl_of_others(site, crawl, pages):
    """It answers first, and the other site begins with a page that is not judged."""
    other = site.url.replace("127.0.0.1", "localhost")
    copies = [site.article(f"/copy/{number}", 99).replace(site.url, other) for number in range(8)]
    urls = [site.article(f"/story/{number}", number) for number in range(3)]
    short = site.article("/short", 5, count=5)
    result = await crawl(pages, {**ONE_BY_ONE, END: 3}, urls=[short, *copies, *urls])
    found = [item["url"] for item in result.items]
    assert set(found) == {short, copies[0], *urls}
    assert result["duplicate"] < 7
    assert (result["ended/site"], result["ended/request"] > 0) == (1, True)
    assert result.stats["finish_reason"] == "neardup_closespider_pagecount_no_new"
    assert result.errors == {}


@pytest.mark.parametrize("way", ["link", "redirect"])
async def test_links_of_another_site_to_old_stories_do_not_end_the_crawl_of_theirs(site, crawl, pages, way):
    """They lead to an archive, which leads on; the new stories come after."""
    attacker = site.url.replace("127.0.0.1", "localhost")
    old = [site.article(f"/old/{number}", number) for number in range(5)]
    links = tuple(f"/old/{number}" for number in range(5))
    site.article("/archive", 50, links=links)
    settings = {**ONE_BY_ONE, END: 3}
    await crawl(pages, settings, urls=[*old, site.url + "/archive"])
    new = [site.article(f"/new/{number}", 100 + number) for number in range(2)]
    site.article("/evil", 51, links=(site.url + "/archive",))
    if way == "redirect":
        site.pages["/evil"] = (302, {"Location": site.url + "/archive"}, b"")
    site.article("/front", 52, links=tuple(url.replace(site.url, "") for url in new))

    class Later(pages):
        async def start(self):
            yield Request(attacker + "/evil", self.parse, priority=10)
            yield Request(site.url + "/front", self.parse, priority=-10)

    result = await crawl(Later, settings)
    assert {*new} <= {item["url"] for item in result.items}
    assert result["revisit"] == 6
    assert result["ended/site"] == 0
    assert result.errors == {}


@pytest.mark.parametrize("way", ["link", "redirect"])
async def test_links_of_a_site_that_was_linked_to_count_as_that_site_s(site, crawl, pages, way):
    """The crawl begins with the honest site only, whose readers name the other one."""
    attacker = site.url.replace("127.0.0.1", "localhost")
    old = [site.article(f"/old/{number}", number) for number in range(5)]
    settings = {**ONE_BY_ONE, END: 3}
    await crawl(pages, settings, urls=old)
    new = tuple(f"/new/{number}" for number in range(2))
    for number, path in enumerate(new):
        site.article(path, 100 + number)
    evil = [f"/evil/{number}" for number in range(5)]
    for path, target in zip(evil, old, strict=True):
        site.pages[path] = (302, {"Location": target}, b"")
    site.article("/evil", 51, links=tuple(old))
    front = site.article("/front", 52, links=tuple(attacker + path for path in evil))
    if way == "link":
        site.article("/front", 52, links=(attacker + "/evil",))
    site.article("/latest", 53, links=new)

    class Later(pages):
        async def start(self):
            yield Request(front, self.parse, priority=10)
            yield Request(site.url + "/latest", self.parse, priority=-10)

        def parse(self, response):
            for output in super().parse(response):
                yield output.replace(priority=5) if isinstance(output, Request) else output

    result = await crawl(Later, settings)
    assert {site.url + path for path in new} <= {item["url"] for item in result.items}
    assert result["revisit"] == 5
    assert result["ended/site"] == 0
    assert result.errors == {}


async def test_a_site_that_copies_the_newest_pages_of_another_does_not_end_its_crawl(site, crawl, pages):
    attacker = site.url.replace("127.0.0.1", "localhost")
    copies = [site.article(f"/copy/{number}", number).replace(site.url, attacker) for number in range(5)]
    newest = [site.article(f"/newest/{number}", number) for number in range(5)]
    others = [site.article(f"/other/{number}", 100 + number) for number in range(3)]
    result = await crawl(pages, {**ONE_BY_ONE, END: 3}, urls=[*copies, *newest, *others])
    assert {item["url"] for item in result.items} == {*copies, *others}
    assert (result["duplicate"], result["ended/site"]) == (5, 0)
    assert result.errors == {}


async def test_an_item_on_its_way_is_completed_after_the_end(site, crawl, pages):
    class Shop(pages):
        async def start(self):
            yield Request(self.urls[0], self.parse)

        def parse(self, response):
            yield from response.follow_all(css="a")
            if response.url.endswith("/3"):  # the last before the end
                item = {"name": "Lamp", "url": response.url}
                yield response.follow("/shipping", self.shipping, cb_kwargs={"item": item}, priority=-1)

        def shipping(self, response, item):
            yield item

    urls = [site.article(f"/{number}", number, links=(f"/{number + 1}",)) for number in range(6)]
    site.article("/shipping", 50)
    await crawl(pages, ONE_BY_ONE, urls=urls)
    result = await crawl(Shop, {**ONE_BY_ONE, END: 4}, urls=urls)
    assert [item["name"] for item in result.items] == ["Lamp"]
    assert (result["ended/site"], result["revisit"], result["unique"]) == (1, 4, 1)


def verdicts(pages, *judged, most_sites=10):
    rows = NoNewPages(pages, most_sites)
    found = []
    for site, kind, *origin in judged:
        url = f"https://{site}.example/"
        ends = rows.judged(url, site_key(f"https://{(origin or [site])[0]}.example/"), Verdict(kind))
        assert not ends or rows.has_ended(url)
        found.append(ends)
    assert rows.any_has_ended is any(found)
    return found


def test_rows_are_those_of_each_site():
    known, new, short = "near", "unique", "too_short"
    assert verdicts(2, ("a", known), ("a", known), ("a", known)) == [False, True, False]
    assert verdicts(2, ("a", known), ("a", new), ("a", known), ("a", "revisit")) == [
        False,
        False,
        False,
        True,
    ]
    assert verdicts(2, ("a", known), ("a", short), ("a", "wall"), ("a", "exact")) == [
        False,
        False,
        False,
        True,
    ]
    assert verdicts(2, ("a", known), ("b", new), ("a", known), ("b", known)) == [False, False, True, False]
    for kind in ("fuller", "preferred", "template"):
        assert verdicts(2, ("a", known), ("a", kind), ("a", known)) == [False] * 3
    assert verdicts(2, ("a", known, "b"), ("a", known, "b"), ("a", known, "b")) == [False] * 3
    assert verdicts(0, ("a", known), ("a", known)) == [False, False]


def test_only_the_site_that_has_ended_has_ended():
    url, other = "https://a.example/1", "https://b.example/1"
    ends, seen = NoNewPages(2), Verdict("near", url="https://www.a.example/3")
    assert [ends.judged(url, site_key(url), seen) for _ in range(2)] == [False, True]
    assert ends.any_has_ended
    assert [ends.has_ended(each) for each in (url, "https://www.a.example/2", other)] == [True, True, False]
    assert not NoNewPages(2).has_ended(url)
    assert not NoNewPages(2).any_has_ended


def test_so_many_sites_are_counted():
    known = [(f"site{number % 4}", "near") for number in range(8)]
    assert verdicts(2, *known, most_sites=3) == [False] * 4 + [True] * 3 + [False]
