"""A revisit says whether, and which paragraphs, have changed. Unchanged ones may be dropped."""

import time

import pytest
from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from scrapy_neardup.plugin import NearDuplicatePage, signals

SETTINGS = {"NEARDUP_DIR": "seen"}


@pytest.fixture
def listening(pages):
    """A spider that notes what it hears of revisits, and what stands in their meta."""

    class Listening(pages):
        async def start(self):
            self.heard, self.revisits = {}, {}
            self.crawler.signals.connect(self.hear, signals.page_revisited)
            async for request in super().start():
                yield request

        def hear(self, response, verdict, policy, spider):
            self.heard[response.url] = (verdict.unchanged, round(verdict.similarity, 4), policy)

        def parse(self, response):
            self.revisits[response.url] = response.meta.get("neardup_revisit")
            yield from super().parse(response)

    return Listening


@pytest.mark.parametrize("revisits", ["keep", "drop_items", "drop_page"])
async def test_whether_a_page_has_changed_and_what_becomes_of_it(
    site, crawl, listening, text, page, revisits
):
    site.article("/end", 9)
    same, other = site.article("/same", 1, links=("/end",)), site.article("/other", 2)
    settings = {**SETTINGS, "NEARDUP_REVISITS": revisits}
    first = await crawl(listening, settings, urls=[same, other])
    assert (first.spider.heard, len(first.items)) == ({}, 3)
    site.pages["/other"] = page(text(2) + text(3, 60))
    result = await crawl(listening, settings, urls=[same, other])
    unchanged = 1 if revisits == "drop_page" else 2  # links of pages that are dropped are not followed
    assert result.counts("revisit/unchanged", "revisit/changed", "duplicate") == [unchanged, 1, 0]
    assert site.hits["/end"] == unchanged
    assert result.urls == sorted([same, other, f"{site.url}/end"] if revisits == "keep" else [other])
    assert result["dropped/item"] == (2 if revisits == "drop_items" else 0)
    mark = result.spider.revisits[other]
    assert (mark["url"], mark["kind"], mark["policy"], mark["changed"]) == (other, "revisit", "keep", True)
    assert 0.5 < mark["similarity"] < 0.9
    similarity = round(mark["similarity"], 4)
    assert result.spider.heard[same] == (True, 1.0, revisits)
    assert result.spider.heard[other] == (False, similarity, "keep")
    lines = {line["url"]: line for line in result.report}
    assert (lines[same]["changed"], lines[other]["changed"]) == (False, True)
    assert lines[other]["similarity"] == similarity
    assert not result.spider.matches
    assert [each.type for each in result.spider.failures] == [NearDuplicatePage] * (revisits == "drop_page")


@pytest.mark.parametrize("revisits", ["drop_items", "drop_page"])
async def test_a_page_that_has_stored_no_item_is_visited_again(site, crawl, pages, revisits):
    """Such as a list of links, or one whose items were not found last time."""
    urls = [site.article("/list", 1, links=("/end",)), site.article("/end", 2)]

    class Listing(pages):
        finds = ("end",)

        def parse(self, response):
            yield from response.follow_all(css="a")
            if response.url.endswith(tuple(self.finds)):
                yield {"url": response.url}

    settings = {**SETTINGS, "NEARDUP_REVISITS": revisits}
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
        async def parse(self, response):
            self.note(response)
            first = len(self.seen) == 1
            await run_in_thread(time.sleep, 0.3)
            if fails and first:
                raise ValueError("broken callback")
            yield {"url": response.url}

    settings = {"NEARDUP_REVISITS": "drop_items"}
    result = await crawl(Twice, settings, urls=[site.article("/a")] * 2, at_once=2, raises=fails)
    assert result.counts("index/documents", "dropped/item") == [1, 1 - fails]
    assert len(result.items) == 1


@pytest.mark.parametrize(
    ("revisits", "rules"),
    [("drop_items", []), ("drop_page", []), ("drop_items", [{"url": "", "policy": "drop_items"}])],
)
async def test_carried_items_of_unchanged_revisits_are_kept(site, crawl, pages, revisits, rules):
    class Shop(pages):
        async def start(self):
            for number in range(3):
                item = {"name": f"Lamp {number}"}
                yield Request(self.urls[0], self.parse, dont_filter=True, cb_kwargs={"item": item})

        def parse(self, response, item):
            yield item

    settings = {"NEARDUP_REVISITS": revisits, "NEARDUP_RULES": rules}
    result = await crawl(Shop, settings, urls=[site.article("/shipping")])
    assert len(result.items) == 3


async def test_which_paragraphs_have_changed(site, crawl, pages, text):
    class Noting(pages):
        def parse(self, response):
            yield {"url": response.url, "changed": response.meta.get("neardup_changed")}

    async def changed(*seeds, **settings):
        body = "".join(f"<p>{text(seed, 60)}</p>" for seed in seeds)
        site.pages["/a"] = f"<html><body>{body}</body></html>".encode()
        return (await crawl(Noting, SETTINGS | settings, urls=[site.url + "/a"])).items[0]["changed"]

    every = ((1, 2, 3), (1, 2, 3), (1, 4, 3), (4, 3))
    found = [await changed(*seeds, NEARDUP_CHANGES=True) for seeds in every]
    hashes = {texts: key for each in found for key, texts in each["added"].items()}
    one, two, three, four = (hashes[text(seed, 60)] for seed in (1, 2, 3, 4))
    assert [{**each, "added": [*each["added"]]} for each in found] == [
        {"added": [one, two, three], "kept": [], "removed": []},
        {"added": [], "kept": [one, two, three], "removed": []},
        {"added": [four], "kept": [one, three], "removed": [two]},
        {"added": [], "kept": [four, three], "removed": [one]},
    ]
    assert await changed(4, 3) is None
