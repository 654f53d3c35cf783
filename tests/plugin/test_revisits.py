"""A revisit says whether it has changed; unchanged ones may be dropped; the crawl may end where nothing is new."""

from __future__ import annotations

import json
import time

import pytest
from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread

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
    assert [item["url"] for item in result.items] == urls[1:]
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
    assert [item["url"] for item in result.items] == urls[:1]
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

    for revisits in ("drop_items", "drop_page"):
        settings = {**ONE_BY_ONE, "NEARDUP_DIR": revisits, "NEARDUP_REVISITS": revisits}
        result = await crawl(Shop, settings, urls=[site.article("/shipping")])
        assert len(result.items) == 3
        assert result.errors == {}


async def test_the_crawl_ends_where_nothing_is_new(site, crawl, pages):
    urls = [site.article(f"/{number}", number, links=(f"/{number + 1}",)) for number in range(12)]
    settings = {**ONE_BY_ONE, "NEARDUP_REVISITS": "drop_items", END: 3}
    first = await crawl(pages, settings, urls=urls[4:5])
    assert (first["unique"], first.stats["finish_reason"]) == (8, "finished")
    result = await crawl(pages, settings, urls=urls[:1])
    assert result.stats["finish_reason"] == "neardup_closespider_pagecount_no_new"
    assert [item["url"] for item in result.items] == urls[:4]
    assert 3 <= result["revisit"] <= 4  # the last one was on its way
    assert result["index/documents"] == 12
    assert result.errors == {}


async def test_another_site_with_nothing_but_copies_ends_no_crawl(site, crawl, pages):
    """Its pages are all known, and come in a row; the stories of the other site come after."""
    other = site.url.replace("127.0.0.1", "localhost")
    copies = [site.article(f"/copy/{number}", 99).replace(site.url, other) for number in range(8)]
    urls = [site.article(f"/story/{number}", number) for number in range(3)]
    result = await crawl(pages, {**ONE_BY_ONE, END: 3}, urls=[urls[0], *copies, *urls[1:]])
    assert result.stats["finish_reason"] == "finished"
    assert [item["url"] for item in result.items] == [urls[0], copies[0], *urls[1:]]
    assert result["duplicate"] == 7


def verdicts(pages, *judged, most_sites=10):
    rows = NoNewPages(pages, most_sites)
    return [rows.judged(f"https://{site}.example/", Verdict(kind)) for site, kind in judged]


def test_rows_are_those_of_each_site():
    known, new, short = "near", "unique", "too_short"
    assert verdicts(2, ("a", known), ("a", known)) == [False, True]
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
    assert verdicts(1, ("a", new), ("b", known), ("b", known), ("a", known)) == [False, False, False, True]
    for kind in ("fuller", "preferred", "template"):
        assert verdicts(2, ("a", known), ("a", kind), ("a", known)) == [False] * 3
    assert verdicts(0, ("a", known), ("a", known)) == [False, False]


def test_more_sites_than_can_be_followed_end_no_crawl():
    known = [(f"site{number}", "near") for number in range(4)]
    assert not any(verdicts(2, *known, *known[:3], most_sites=3))
