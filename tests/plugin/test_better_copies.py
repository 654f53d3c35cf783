"""A copy that is longer, or that the stored one names as canonical, may take its place."""

from __future__ import annotations

import json
import time

import pytest
from scrapy.http import HtmlResponse

from scrapy_neardup.plugin.responses import declared_canonical

ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1}


@pytest.fixture
def marking(pages):
    class Marking(pages):
        def parse(self, response):
            better = response.meta.get("neardup_better_than")
            self.note(response)
            yield {"url": response.url, "better": better and better["url"]}

    return Marking


async def test_a_longer_copy(site, crawl, marking, text, page, tmp_path):
    base, more = text(1, 400), text(2, 60)
    site.pages.update(
        {"/a": page(base), "/b": page(f"{base} {more}"), "/c": page(base), "/d": page(base + " x")}
    )
    urls = [f"{site.url}/{name}" for name in "abcd"]
    report = tmp_path / "report.jsonl"
    settings = {**ONE_BY_ONE, "NEARDUP_REPORT": str(report)}
    assert len((await crawl(marking, settings, urls=urls)).items) == 1
    report.unlink()
    result = await crawl(marking, {**settings, "NEARDUP_PREFER_LONGER": 0.1}, urls=urls)
    assert {item["url"]: item["better"] for item in result.items} == {urls[0]: None, urls[1]: urls[0]}
    assert (result["preferred"], result["duplicate"], result["index/documents"]) == (1, 2, 1)
    lines = {line["url"]: line for line in map(json.loads, report.read_text().splitlines())}
    told = {url: (line["verdict"], line["action"]) for url, line in lines.items()}
    # The text of the third is known, so it may overtake the second, and repeat the first.
    assert told.pop(urls[2]) in {("near", "drop_items"), ("exact", "drop_items")}
    assert told == {urls[1]: ("preferred", "passed"), urls[3]: ("near", "drop_items")}
    assert lines[urls[1]]["why"]["length"] > 1.1
    assert result.errors == {}


async def test_a_longer_copy_by_another_site_pushes_nobody_out(site, crawl, marking, text, page):
    """The first page is known at its next visit; else a scraper's padded copy would have it dropped."""
    base = text(1, 400)
    site.pages.update({"/a": page(base), "/b": page(f"{base} {text(2, 60)}")})
    victim, copy = f"{site.url}/a", f"{site.url}/b".replace("127.0.0.1", "localhost")
    settings = {**ONE_BY_ONE, "NEARDUP_PREFER_LONGER": 0.1, "NEARDUP_DIR": "seen"}
    result = await crawl(marking, settings, urls=[victim, copy])
    assert (len(result.items), result["preferred"], result["index/documents"]) == (2, 1, 2)
    again = await crawl(marking, settings, urls=[victim])
    assert (len(again.items), again["revisit/unchanged"]) == (1, 1)


async def test_one_whose_output_is_lost_takes_no_place(site, crawl, marking, text, page):
    class Failing(marking):
        def parse(self, response):
            if response.url.endswith("/b"):
                raise ValueError("broken callback")
            yield from super().parse(response)

    base = text(1, 400)
    site.pages.update({"/a": page(base), "/b": page(f"{base} {text(2, 60)}"), "/c": page(base)})
    urls = [f"{site.url}/{name}" for name in "abc"]
    result = await crawl(Failing, {**ONE_BY_ONE, "NEARDUP_PREFER_LONGER": "0.1"}, urls=urls)
    assert result.urls == urls[:1]
    assert [match["url"] for match in result.spider.matches.values()] == urls[:1]


@pytest.mark.parametrize("where", ["header", "element"])
async def test_the_page_that_its_copy_names(site, crawl, marking, text, where):
    element = '<LINK href="/story?a=1&amp;b=2#x" rel="alternate Canonical">' if where == "element" else ""
    headers = {"Link": '</other>; rel="next", </story?a=1&b=2>; rel="canonical"'} if where == "header" else {}
    body = f"<html><head>{element}</head><body><p>{text(1)}</p></body></html>".encode()
    site.pages.update({"/print": (200, headers, body), "/story": body, "/third": body})
    urls = [f"{site.url}{path}" for path in ("/print", "/third", "/story?a=1&b=2")]
    assert len((await crawl(marking, ONE_BY_ONE, urls=urls)).items) == 1
    result = await crawl(marking, {**ONE_BY_ONE, "NEARDUP_PREFER_CANONICAL": True}, urls=urls)
    assert {item["url"]: item["better"] for item in result.items} == {urls[0]: None, urls[2]: urls[0]}
    assert (result["preferred"], result["index/documents"]) == (1, 1)
    assert result.errors == {}


async def test_nobody_makes_himself_canonical(site, crawl, marking, text):
    """What counts is what the stored page says, not the copy."""
    site.article("/a", 1)
    url = site.url + "/b"
    site.pages["/b"] = f'<html><link rel=canonical href="{url}"><body><p>{text(1)}</p></body></html>'.encode()
    result = await crawl(
        marking, {**ONE_BY_ONE, "NEARDUP_PREFER_CANONICAL": True}, urls=[site.url + "/a", url]
    )
    assert (result["preferred"], len(result.items)) == (0, 1)


@pytest.mark.parametrize(
    ("body", "canonical"),
    [
        ("<link rel=canonical href=/b>", "https://a.example/b"),
        ("<link rel='canonical' href='//c.example/ü'>", "https://c.example/%C3%BC"),
        ('<link\nhref="x" title="y"\nrel="canonical"/>', "https://a.example/x"),
        ("<link rel=canonical href='javascript:x'>", None),
        ("<link rel=canonical href='http://[x'>", None),
        ("<link rel=canonical>", None),
        ("<link rel=alternate href=/b>", None),
        ("<linkrel=canonical href=/b>", None),
        ("</HEAD><link rel=canonical href=/b>", None),
        ("<p></p><body class=x><textarea><link rel=canonical href=/b>", None),
        (f"{' ' * ((1 << 17) - 28)}<link rel=canonical href=/b>", "https://a.example/b"),
        (f"{' ' * ((1 << 17) - 27)}<link rel=canonical href=/b>", None),  # nobody reads on for ever
        (f"{'<link ' * 20000}", None),
        (f"<link {'rel=' * 500}>" * 200, None),
    ],
)
def test_what_a_page_declares(body, canonical):
    response = HtmlResponse("https://a.example/a", body=body.encode())
    assert declared_canonical(response) == canonical


def test_many_long_link_headers_are_not_read_to_their_end():
    """Neither line is longer than Scrapy takes, and reading all of them took two seconds."""
    before = ["</other>; rel=next", '</b>; rel="canonical"']
    lines = [*before, *["<a>," * 4000] * 500]
    for headers, canonical in ((lines, "https://a.example/b"), (lines[::-1], None)):
        response = HtmlResponse("https://a.example/", body=b"<html>", headers={"Link": headers})
        started = time.process_time()
        assert declared_canonical(response) == canonical
        assert time.process_time() - started < 0.2
