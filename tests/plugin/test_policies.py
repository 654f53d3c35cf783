"""Each policy does to pages, items and links what it says; walls, fuller pages and templates keep theirs."""

from __future__ import annotations

import pytest

from scrapy_neardup.plugin.outcome import NearDuplicatePage

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}


def two_copies(site):
    site.article("/end", seed=7)
    site.article("/next", seed=8)
    return [site.article("/a", links=("/end",)), site.article("/b", links=("/next",))]


async def test_tag_marks_the_copy_and_keeps_all(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "tag"}, urls=urls)
    assert len(result.items) == 4
    match = result.spider.matches.pop(urls[1])
    assert match == {"url": urls[0], "kind": "exact", "distance": 0, "similarity": 1.0, "policy": "tag"}
    assert not result.spider.matches
    assert (result["checked"], result["unique"], result["duplicate"], result["tagged"]) == (4, 3, 1, 1)
    assert result["duplicate/exact"] == result["duplicate/distance/0"] == 1
    assert result["confirmed"] == 3
    assert result["index/documents"] == 3
    assert result.errors == {}


async def test_drop_items_drops_the_items_and_follows_the_links(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, ONE_BY_ONE, urls=urls)
    assert result.urls == [urls[0], f"{site.url}/end", f"{site.url}/next"]
    assert (
        result.stats["item_dropped_count"]
        == result.stats["item_dropped_reasons_count/NearDuplicateItem"]
        == 1
    )
    assert list(result.spider.matches) == [urls[1]]
    assert result["dropped/item"] == 1
    assert result["tagged"] == result["dropped/page"] == 0
    assert result.errors == {}


async def test_drop_page_calls_the_errback_instead_of_the_callback(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "drop_page"}, urls=urls)
    assert result.spider.seen == [urls[0], f"{site.url}/end"]
    assert "/next" not in site.hits
    (failure,) = result.spider.failures
    assert failure.check(NearDuplicatePage)
    assert failure.value.response.url == urls[1]
    assert failure.value.verdict.url == urls[0]
    assert failure.request.url == urls[1]
    assert result["dropped/page"] == 1
    assert result.errors == {}


async def test_drop_page_without_errback_is_silent(site, crawl, pages):
    class NoErrback(pages):
        failed = None

    result = await crawl(NoErrback, {**ONE_BY_ONE, "NEARDUP_POLICY": "drop_page"}, urls=two_copies(site))
    assert result["dropped/page"] == 1
    assert not [name for name in result.stats if name.startswith(("spider_exceptions", "log_count/ERROR"))]


async def test_meta_overrides_policy_and_skips(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(
        pages, {**ONE_BY_ONE, "NEARDUP_POLICY": "drop_page"}, urls=urls, meta={"neardup": "tag"}
    )
    assert result["tagged"] == 1
    assert urls[1] in result.spider.seen
    wrong = await crawl(pages, ONE_BY_ONE, urls=urls, meta={"neardup": "dorp"})
    assert (wrong["error/meta"], wrong["dropped/item"]) == (2, 1)
    skipped = await crawl(pages, ONE_BY_ONE, urls=urls, meta={"neardup": False})
    assert skipped["skipped/meta"] == 2
    assert not skipped.spider.matches


async def test_scope(site, crawl, pages):
    urls = [site.article("/a"), site.article("/b").replace("127.0.0.1", "localhost")]
    for scope, meta, duplicates in (
        ("global", {}, 1),
        ("host", {}, 0),
        (lambda url, spider: url[-1], {}, 0),
        ("host", {"neardup_scope": "all"}, 1),
    ):
        result = await crawl(pages, {**ONE_BY_ONE, "NEARDUP_SCOPE": scope}, urls=urls, meta=meta)
        assert (result["checked"], result["duplicate"], result.errors) == (2, duplicates, {})


async def test_index_is_kept_in_a_directory(site, crawl, pages, tmp_path):
    urls = two_copies(site)
    settings = {**ONE_BY_ONE, "NEARDUP_DIR": "seen"}
    assert (await crawl(pages, settings, urls=urls[:1]))["unique"] == 2
    assert (tmp_path / ".scrapy" / "seen").exists()
    again = await crawl(pages, settings, urls=urls)
    assert (again["unique"], again["revisit"], again["duplicate"]) == (1, 2, 1)
    assert (await crawl(pages, {**settings, "NEARDUP_RESET": True}, urls=urls[:1]))["unique"] == 2


WALL = (
    "Before you go on, please prove that you are human. We have noticed unusual traffic from your network. "
    "Tick the box and solve the captcha below to return to the page that you asked for, and accept our "
    "apologies for the trouble."
)


def filled(words: str, value: int) -> str:
    """The same text with other numbers at four places."""
    parts = words.split()
    for place in range(20, 280, 65):
        parts.insert(place, str(value * place))
    return " ".join(parts)


@pytest.mark.parametrize("policy", ["tag", "drop_items", "drop_page"])
async def test_walls_and_templates_keep_their_items(site, crawl, pages, text, page, policy):
    words = text(3, 300)
    bodies = {
        "/article": text(1),
        "/copy": text(1),
        "/wall/1": WALL,
        "/wall/2": WALL,
        "/report/1": filled(words, 7),
        "/report/2": filled(words, 11),
        "/report/3": filled(words, 13),
        "/report/2/copy": filled(words, 11),
    }
    site.pages.update({path: page(body) for path, body in bodies.items()})
    settings = {**ONE_BY_ONE, "NEARDUP_POLICY": policy}
    result = await crawl(pages, settings, urls=[site.url + path for path in bodies])
    counts = {
        name: result[name]
        for name in ("checked", "unique", "duplicate/exact", "duplicate/near", "wall", "template")
    }
    assert counts == {
        "checked": 8, "unique": 3, "duplicate/exact": 2, "duplicate/near": 0, "wall": 1, "template": 2,
    }  # fmt: skip
    assert result["confirmed"] == 5  # templates are stored, and so is the first wall
    assert not result.errors
    kept = {item["url"].removeprefix(site.url) for item in result.items}
    assert kept == (set(bodies) if policy == "tag" else set(bodies) - {"/copy", "/report/2/copy"})
    assert set(result.spider.matches) == (
        set() if policy == "drop_page" else {f"{site.url}/copy", f"{site.url}/report/2/copy"}
    )
