"""Each policy does to pages, items and links what it says; walls, fuller pages and templates keep theirs."""

import pytest

from scrapy_neardup.plugin import NearDuplicatePage

POLICIES = ("tag", "drop_items", "drop_page")


def two_copies(site):
    site.article("/end", seed=7)
    site.article("/next", seed=8)
    return [site.article("/a", links=("/end",)), site.article("/b", links=("/next",))]


@pytest.mark.parametrize("errback", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
async def test_what_becomes_of_a_copy(site, crawl, pages, policy, errback):
    class Some(pages):
        failed = pages.failed if errback else None

    urls = two_copies(site)
    end, following = f"{site.url}/end", f"{site.url}/next"
    kept = {
        "tag": [*urls, end, following],
        "drop_items": [urls[0], end, following],
        "drop_page": [urls[0], end],
    }
    result = await crawl(Some, {"NEARDUP_POLICY": policy}, urls=urls)
    assert result.urls == sorted(kept[policy])
    assert sorted(result.spider.seen) == sorted(kept["drop_page" if policy == "drop_page" else "tag"])
    match = {"url": urls[0], "kind": "exact", "distance": 0, "similarity": 1.0, "policy": policy}
    assert result.spider.matches == ({} if policy == "drop_page" else {urls[1]: match})
    pages_stored = 2 if policy == "drop_page" else 3
    assert result.counts("unique", "confirmed", "index/documents") == [pages_stored] * 3
    assert result.counts("duplicate", "duplicate/exact", "duplicate/distance/0") == [1] * 3
    assert result.counts("tagged", "dropped/item", "dropped/page") == [policy == each for each in POLICIES]
    dropped = result.stats.get("item_dropped_reasons_count/NearDuplicateItem", 0)
    assert dropped == (policy == "drop_items")
    found = [(each.type, each.value.response.url, each.value.verdict.url) for each in result.spider.failures]
    assert found == [(NearDuplicatePage, urls[1], urls[0])] * (errback and policy == "drop_page")


async def test_meta_overrides_policy_and_skips(site, crawl, pages):
    urls = two_copies(site)
    result = await crawl(pages, {"NEARDUP_POLICY": "drop_page"}, urls=urls, meta={"neardup": "tag"})
    assert result["tagged"] == 1
    assert urls[1] in result.spider.seen
    wrong = await crawl(pages, urls=urls, meta={"neardup": "dorp"}, fails=True)
    assert wrong.counts("error/meta", "dropped/item") == [2, 1]
    skipped = await crawl(pages, urls=urls, meta={"neardup": False})
    assert skipped["skipped/meta"] == 2
    assert not skipped.spider.matches


@pytest.mark.parametrize(
    ("scope", "meta", "duplicates"),
    [
        ("global", {}, 1),
        ("host", {}, 0),
        (lambda url, spider: url[-1], {}, 0),
        ("host", {"neardup_scope": "all"}, 1),
    ],
)
async def test_scope(site, crawl, pages, scope, meta, duplicates):
    urls = [site.article("/a"), site.article("/b").replace("127.0.0.1", "localhost")]
    result = await crawl(pages, {"NEARDUP_SCOPE": scope}, urls=urls, meta=meta)
    assert result.counts("checked", "duplicate") == [2, duplicates]


async def test_index_is_kept_in_a_directory(site, crawl, pages, tmp_path):
    urls = two_copies(site)
    settings = {"NEARDUP_DIR": "seen"}
    assert (await crawl(pages, settings, urls=urls[:1]))["unique"] == 2
    assert (tmp_path / ".scrapy" / "seen").exists()
    again = await crawl(pages, settings, urls=urls)
    assert again.counts("unique", "revisit", "duplicate") == [1, 2, 1]
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


@pytest.mark.parametrize("policy", POLICIES)
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
    copies = {"/copy", "/report/2/copy"}
    site.pages.update({path: page(body) for path, body in bodies.items()})
    result = await crawl(pages, {"NEARDUP_POLICY": policy}, urls=[site.url + path for path in bodies])
    assert result.counts("checked", "unique", "wall", "template") == [8, 3, 1, 2]
    assert result.counts("duplicate/exact", "duplicate/near") == [2, 0]
    assert result["confirmed"] == 5  # templates are stored, and so is the first wall
    kept = {item["url"].removeprefix(site.url) for item in result.items}
    assert kept == (set(bodies) if policy == "tag" else set(bodies) - copies)
    matches = set() if policy == "drop_page" else {site.url + path for path in copies}
    assert set(result.spider.matches) == matches
