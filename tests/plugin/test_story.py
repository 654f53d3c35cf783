"""The better copy is kept; copies share an identifier (NEARDUP_CLUSTER_FIELD), and listeners hear of them."""

import re
from datetime import datetime

import pytest

from scrapy_neardup.matching.items import pack, unpack
from scrapy_neardup.plugin import signals
from scrapy_neardup.plugin.story import Story, identify
from tests.helpers.site import html, words

SETTINGS = {"NEARDUP_CLUSTER_FIELD": "story_id"}


def naming(canonical, more=""):
    link = f"<link rel=canonical href='{canonical}'>" if canonical else ""
    return html(words(1) + more, head=link)


@pytest.fixture
def story(site, crawl, pages):
    """Crawl pages of one story; return what was kept, in order, what listeners were told, and the report."""

    async def run(*paths, settings=None):
        told = []

        class Stories(pages):
            async def start(self):
                self.crawler.signals.connect(self.copy_seen, signals.copy_seen)
                async for request in super().start():
                    yield request

            async def copy_seen(self, url, host, kept, story, seen, spider):
                assert (host, type(seen)) == ("127.0.0.1", datetime)
                told.append((url.removeprefix(site.url), kept.removeprefix(site.url), story))

            def parse(self, response):
                price = response.css("i::text").get()
                yield {"url": response.url, "title": response.css("title::text").get(), "price": price}

        urls = [site.url + path for path in paths]
        result = await crawl(Stories, {**SETTINGS, **(settings or {})}, urls=urls)
        kept = {item["url"].removeprefix(site.url): item["story_id"] for item in result.items}
        return kept, told, result.report

    site.pages |= dict.fromkeys(["/print", "/amp", "/story", "/copy"], naming("/story"))
    return run


@pytest.mark.parametrize("kept_index", [False, True])
async def test_the_page_that_the_print_version_names_is_kept_and_has_its_identifier(story, site, kept_index):
    settings = {"NEARDUP_DIR": "seen"} if kept_index else {}
    kept, told, report = await story("/print", "/amp", "/story", "/copy", settings=settings)
    name = identify(f"{site.url}/print").hex()
    assert kept == {"/print": name, "/story": name}
    # Outputs of pages may end in another order, for copies are told of when their callbacks have ended. The
    # story may be in progress when the copy comes, and the print version still in the index.
    told, pairs = sorted(told), [("/amp", "/print", name), ("/print", "/story", name)]
    assert told in [sorted([*pairs, ("/copy", which, name)]) for which in ("/story", "/print")]
    lines = {line["url"].removeprefix(site.url): line for line in report}
    assert len(lines) == len(report)
    said = [(lines[path]["verdict"], lines[path]["story"]) for path in ("/amp", "/story", "/copy")]
    assert said == [("exact", name), ("preferred", name), ("exact", name)]
    assert len(report) == 3
    assert lines["/story"]["replaces"] == [f"{site.url}/print"]
    if kept_index:  # what was learned outlives the crawl, through two links of the chain
        kept, told, report = await story("/new", "/story", "/amp", settings=settings)
        assert kept == {"/story": name}
        assert told == [("/amp", "/story", name)]


async def test_a_page_named_in_an_earlier_crawl_is_kept_in_a_later_one(story, site):
    first, _, _ = await story("/print", settings={"NEARDUP_DIR": "seen"})
    second, told, _ = await story("/story", settings={"NEARDUP_DIR": "seen"})
    assert [*first.values()] == [*second.values()] == [identify(f"{site.url}/print").hex()]
    assert [each[:2] for each in told] == [("/print", "/story")]
    kept, _, _ = await story("/print", "/story", settings={"NEARDUP_PREFER_CANONICAL": False})
    assert [*kept] == ["/print"]


@pytest.mark.parametrize(
    ("policy", "paths", "more"),
    [
        ("tag", ["/red", "/blue", "/story"], ["12.90", "14.90", "11.90"]),
        ("drop_items", ["/red", "/blue", "/story"], ["12.90", "14.90", "11.90"]),
        ("drop_items", ["/story", "/red"], [f"{words(2, 60)} {colour}" for colour in ("blue", "red")]),
    ],
)
async def test_an_item_that_says_something_else_is_another_story(story, site, policy, paths, more):
    """Variants of a product name one page as canonical, and a database must keep them all."""
    for path, text in zip(paths, more, strict=True):
        site.pages[path] = naming("/story", more=f"<i>{text}</i>")
    kept, told, _ = await story(*paths, settings={"NEARDUP_POLICY": policy})
    assert kept == {path: identify(site.url + path).hex() for path in paths}
    assert told == []


async def test_copies_that_are_tagged_have_the_identifier_too(story, site):
    site.pages["/far"] = naming(site.url.replace("127.0.0.1", "localhost") + "/story")
    kept, told, _ = await story("/far", "/story", "/other", settings={"NEARDUP_POLICY": "tag"})
    name = identify(f"{site.url}/far").hex()
    assert kept == {"/far": name, "/story": name}  # another site's page is not named
    assert told == [("/story", "/far", name)]


async def test_further_items_of_a_page_have_other_identifiers(site, crawl, pages):
    class Lists(pages):
        def parse(self, response):
            yield from ({"name": number} for number in range(3))
            yield 7  # what cannot have the field passes

    result = await crawl(Lists, SETTINGS, urls=[site.article("/list")])
    name = identify(f"{site.url}/list").hex()
    found = [item["story_id"] for item in result.items if item != 7]
    assert found[0] == name
    assert len({*found}) == 3
    assert all(re.fullmatch(f"{name}-[0-9a-f]{{8}}", each) for each in found[1:])
    assert result["untaggable"] == 1


async def test_a_list_that_begins_with_another_item_overwrites_none(site, crawl, pages):
    """An upsert by the identifier keeps each item, also of the page that the first one names as canonical."""
    said = {"v=1": ["alpha", "beta", "gamma"], "": ["beta", "gamma"]}

    class Lists(pages):
        def parse(self, response):
            yield from ({"name": name} for name in said[response.url.partition("?")[2]])

    site.pages["/list"] = naming("/list")
    result = await crawl(Lists, SETTINGS, urls=[f"{site.url}/list?v=1", f"{site.url}/list"])
    kept = {item["story_id"]: item["name"] for item in result.items}
    assert sorted(kept.values()) == ["alpha", "beta", "gamma"]


def test_what_a_note_has_behind_its_items():
    assert identify("https://a.example/").hex() == "34bc8ac3d59297805ee3a13b"  # in each process
    items = [{1: b"abcd"}, {2: b"efgh", 3: b"ijkl"}]
    for story in (Story(identify("a")), Story(identify("b")), Story(identify("a"), identify("c"))):
        note = pack(items, story.noted("a"))
        assert (unpack(note)[0], Story.of("a", note)) == (items, story)
    assert Story(identify("a")).noted("a") == unpack(b"")[1] == b""
    full = pack([{1: bytes(250)}] * 64, bytes(24))
    assert (len(full) <= 4096, unpack(full)[1]) == (True, bytes(24))
