"""A revisit says whether it has changed. Unchanged ones may be dropped."""

from __future__ import annotations

import json
import time

import pytest
from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.plugin import NearDuplicatePage, signals

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "NEARDUP_DIR": "seen"}


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


async def test_which_paragraphs_have_changed(site, crawl, pages, text):
    class Noting(pages):
        def parse(self, response):
            yield {"url": response.url, "changed": response.meta.get("neardup_changed")}

    def show(*seeds):
        body = "".join(f"<p>{text(seed, 60)}</p>" for seed in seeds)
        site.pages["/a"] = f"<html><body>{body}</body></html>".encode()

    found = []
    for seeds in ((1, 2, 3), (1, 2, 3), (1, 4, 3), (4, 3)):
        show(*seeds)
        settings = {**ONE_BY_ONE, "NEARDUP_CHANGES": True}
        result = await crawl(Noting, settings, urls=[site.url + "/a"])
        assert result.errors == {}
        found.append(result.items[0]["changed"])
    hashes = {texts: key for each in found for key, texts in each["added"].items()}
    one, two, three, four = (hashes[text(seed, 60)] for seed in (1, 2, 3, 4))
    assert [{**each, "added": [*each["added"]]} for each in found] == [
        {"added": [one, two, three], "kept": [], "removed": []},
        {"added": [], "kept": [one, two, three], "removed": []},
        {"added": [four], "kept": [one, three], "removed": [two]},
        {"added": [], "kept": [four, three], "removed": [one]},
    ]
    assert (await crawl(Noting, ONE_BY_ONE, urls=[site.url + "/a"])).items[0]["changed"] is None
