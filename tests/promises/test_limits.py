"""A page that hangs, kills or bloats its extractor reaches its callback within the limit and a second."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider, signals
from scrapy.crawler import Crawler

from .site import SETTINGS, page

pytestmark = pytest.mark.slow

LIMIT = 2.0
#: 13 kB in which trafilatura is busy for over 20 seconds.
TABLE = (
    b"<html><body><table>"
    + b"<tr><td colspan=1000 rowspan=1000>x</td></tr>" * 300
    + b"</table></body></html>"
)


def dies(html: str, url: str | None) -> str | None:
    if "Story 1<" in html:
        os.kill(os.getpid(), signal.SIGSEGV)
    return html


def bloats(html: str, url: str | None) -> str | None:
    return " ".join(["much"] * 10**9) if "Story 1<" in html else html


@pytest.mark.parametrize(
    ("extractor", "bad", "reason"),
    [
        ("trafilatura", TABLE, "timeout"),
        (f"{__name__}.dies", page(1, "a"), "crash"),
        (f"{__name__}.bloats", page(1, "a"), "memory"),
    ],
)
async def test_bad_page_reaches_its_callback(
    extractor: str, bad: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker processes import this module by its name.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(__file__).rsplit("/tests/", 1)[0]]))
    bodies = [page(5, "a"), bad, *(page(number, "a") for number in range(10, 16))]
    for number, body in enumerate(bodies):
        (tmp_path / f"{number}.html").write_bytes(body)
    arrived: dict[str, float] = {}
    waited: dict[str, float] = {}

    class Pages(Spider):
        name = "pages"
        start_urls = [(tmp_path / f"{number}.html").as_uri() for number in range(len(bodies))]

        def parse(self, response: Any) -> Any:
            waited[response.url] = time.monotonic() - arrived[response.url]
            yield {"url": response.url}

    crawler = Crawler(
        Pages,
        SETTINGS
        | {
            "NEARDUP_EXTRACTOR": extractor,
            "NEARDUP_EXTRACT_TIMEOUT": LIMIT,
            "NEARDUP_EXTRACT_MEMORY": "256M",
            "NEARDUP_WORKERS": 2,
            # One at a time, after the workers have started: a page's wait is then its own.
            "CONCURRENT_REQUESTS": 1,
        },
    )
    crawler.signals.connect(
        lambda response: arrived.setdefault(response.url, time.monotonic()),
        signals.response_downloaded,
        weak=False,
    )
    await crawler.crawl_async()

    assert crawler.stats is not None
    assert len(waited) == len(bodies)
    assert crawler.stats.get_value(f"neardup/error/extract/{reason}") == 1
    assert crawler.stats.get_value("neardup/unique") == len(bodies) - 1
    longest = waited[(tmp_path / "1.html").as_uri()]
    print(f"{reason}: {longest:.2f} s")
    assert longest <= LIMIT + 1
