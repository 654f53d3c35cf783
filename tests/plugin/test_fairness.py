"""Pages of one site that hang their extractor do not hold up those of other sites, and pass unjudged."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.slow

LIMIT = 1.0
HOSTILE = 20
#: Sleeps where the page says so.
EXTRACTOR = """
import time
from scrapy_neardup.extraction.libraries import Plain

plain = Plain()

def extract(html, url):
    if "<p>hang" in html:
        time.sleep(600)
    return plain(html, url)
"""
SETTINGS = {
    "NEARDUP_EXTRACTOR": "hanging.extract",
    "NEARDUP_WORKERS": 2,
    "NEARDUP_EXTRACT_TIMEOUT": LIMIT,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,  # so that the site takes up all of CONCURRENT_REQUESTS
}


@pytest.fixture
def sites(site):
    """A hostile site and three others: another port is another site."""
    servers = [site, *(type(site)() for _ in range(3))]
    yield servers
    for server in servers[1:]:
        server.close()


async def test_site_whose_pages_hang(sites, crawl, pages, page, tmp_path, monkeypatch):
    (tmp_path / "hanging.py").write_text(EXTRACTOR)
    monkeypatch.syspath_prepend(tmp_path)

    class Timed(pages):
        def note(self, response):
            super().note(response)
            self.times = {**getattr(self, "times", {}), response.url: time.monotonic()}

    innocent = [
        server.article(f"/{number}", seed=number * 10 + place)
        for number in range(20)
        for place, server in enumerate(sites[1:])
    ]
    hostile = []
    for number in range(HOSTILE):
        sites[0].pages[f"/{number}"] = page(f"hang {number}")
        hostile.append(f"{sites[0].url}/{number}")

    started = time.monotonic()
    result = await crawl(Timed, SETTINGS, urls=innocent)
    alone = max(result.spider.times.values()) - started
    assert result["unique"] == len(innocent)

    started = time.monotonic()
    result = await crawl(Timed, SETTINGS, urls=[*hostile, *innocent])
    among = max(result.spider.times[url] for url in innocent) - started
    print(f"{len(innocent)} pages: {alone:.1f} s alone, {among:.1f} s after {HOSTILE} that hang")

    assert sorted(result.spider.seen) == sorted([*hostile, *innocent])
    assert len(result.items) == len(hostile) + len(innocent)
    assert result["unique"] == len(innocent)
    assert 1 <= result["error/extract/timeout"] <= 4
    assert result["error/extract/timeout"] + result["skipped/slow_site"] == HOSTILE
    # With no turns it is all of them, by two at a time.
    assert among - alone < HOSTILE * LIMIT / 2 / 2
