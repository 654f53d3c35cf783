"""No hook of this project holds the event loop for more than a few milliseconds, on 200 real pages.

Without NEARDUP_DATA or ../shared/data the pages are made up, and as large.
"""

import asyncio
import gzip
import itertools
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_neardup.extraction import Workers
from scrapy_neardup.plugin import NearDupSpiderMiddleware
from scrapy_neardup.plugin.page import CrawledPage
from scrapy_neardup.plugin.reservations import Reservations

from .site import SETTINGS, page

pytestmark = pytest.mark.slow

PAGES = 200
DATA = Path(os.environ.get("NEARDUP_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = DATA / "derived_syndication" / "pages.jsonl.gz"


def write_pages(folder: Path) -> None:
    if REAL.exists():
        with gzip.open(REAL, "rt", encoding="utf-8") as lines:
            pages = [json.loads(line)["html"].encode() for line in itertools.islice(lines, PAGES)]
    else:
        script = b"<script>" + b"var x = [1, 2, 3];" * 5000 + b"</script>"
        pages = [page(number // 2, "ab"[number % 2]) + script for number in range(PAGES)]
    for number, body in enumerate(pages):
        (folder / f"{number}.html").write_bytes(body)


@pytest.mark.timeout(300)
async def test_no_hook_holds_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pages(tmp_path)
    times: dict[str, list[float]] = {}

    def timed(owner: type, name: str) -> None:
        original = getattr(owner, name)
        spent = times.setdefault(f"{owner.__name__}.{name}", [])

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            # The thread's own time: the workers keep all cores of a small machine busy, which is not our
            # doing.
            start = time.thread_time()
            try:
                return original(*args, **kwargs)
            finally:
                spent.append(time.thread_time() - start)

        monkeypatch.setattr(owner, name, wrapper)

    timed(NearDupSpiderMiddleware, "process_spider_input")
    timed(CrawledPage, "settle")
    timed(Workers, "submit")
    timed(Reservations, "confirm_stored")

    class Pages(Spider):
        name = "pages"
        start_urls = [(tmp_path / f"{number}.html").as_uri() for number in range(PAGES)]

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    crawler = Crawler(Pages, SETTINGS | {"NEARDUP_DIR": str(tmp_path / "index")})
    await crawler.crawl_async()

    assert crawler.stats is not None
    assert crawler.stats.get_value("neardup/checked") > PAGES // 2
    for name, spent in times.items():
        milliseconds = np.array(spent) * 1000
        print(
            f"{name}: n {len(spent)}, p50 {np.median(milliseconds):.2f} ms, max {milliseconds.max():.2f} ms"
        )
        assert np.percentile(milliseconds, 99) < 5, name
        assert milliseconds.max() < 20, name


@pytest.mark.timeout(300)
async def test_pages_that_are_done_are_handled_in_different_turns(tmp_path: Path) -> None:
    """Callbacks that take longer than extraction: when one has ended, all other pages in flight are ready."""
    for number in range(100):
        (tmp_path / f"{number}.html").write_bytes(page(number, "a"))
    turn = 0
    turns: list[int] = []

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    class Pages(Spider):
        name = "pages"
        start_urls = [(tmp_path / f"{number}.html").as_uri() for number in range(100)]

        def parse(self, response: Any) -> Any:
            turns.append(turn)
            time.sleep(0.02)
            yield {"url": response.url}

    counting = asyncio.create_task(count_turns())
    await Crawler(Pages, SETTINGS | {"NEARDUP_EXTRACTOR": "plain"}).crawl_async()
    counting.cancel()
    together = np.bincount(turns).max()
    print(f"at most {together} pages in one turn of {turn}")
    assert len(turns) == 100
    assert together <= 2
