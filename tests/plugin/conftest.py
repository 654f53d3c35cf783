"""A way to crawl a loopback site whose texts repeat each other."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler

from scrapy_neardup import detector
from scrapy_neardup.plugin import NearDupExtension
from tests.helpers.kept_servers import KeptServer
from tests.helpers.site import Site, html, words

#: How the stats of failures begin: of this package, and of the user's code.
ERRORS = ("neardup/error", "log_count/ERROR")


class QuickExtension(NearDupExtension):
    """Takes its workers from a server that crawls of several tests share."""

    fork_server = KeptServer


#: As fast as possible: no trafilatura to import, one worker process.
SETTINGS = {
    "ADDONS": {"scrapy_neardup.addon.Addon": 700},
    "EXTENSIONS": {NearDupExtension: None, QuickExtension: 0},
    "NEARDUP_EXTRACTOR": "plain",
    "NEARDUP_WORKERS": 1,
    "NEARDUP_REPORT": "report.jsonl",
    "TWISTED_REACTOR_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "RETRY_TIMES": 1,
    "LOG_LEVEL": "DEBUG",
}


@dataclass
class Result:
    """What a crawl left behind."""

    stats: dict[str, Any]
    items: list[Any] = field(default_factory=list)
    spider: Any = None
    #: The lines of NEARDUP_REPORT.
    report: list[dict[str, Any]] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        return self.stats.get(f"neardup/{name}", 0)

    def counts(self, *names: str) -> list[Any]:
        return [self[name] for name in names]

    @property
    def urls(self) -> list[str]:
        """Those of the items, sorted: Scrapy promises no order between items of two pages."""
        return sorted(item["url"] for item in self.items)

    @property
    def errors(self) -> dict[str, Any]:
        return {name: count for name, count in self.stats.items() if count and name.startswith(ERRORS)}


class Pages(Spider):
    """Visits ``urls``, yields an item per page and follows its links; ``seen`` are those of its callback."""

    name = "pages"
    urls: Sequence[str] = ()
    meta: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[str] = []
        self.failures: list[Any] = []
        self.matches: dict[str, Any] = {}

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url, self.parse, errback=self.failed, meta=dict(self.meta), dont_filter=True)

    def parse(self, response: Any) -> Any:
        self.note(response)
        yield {"url": response.url}
        yield from response.follow_all(css="a")

    def note(self, response: Any) -> None:
        self.seen.append(response.url)
        if "neardup_match" in response.meta:
            assert "neardup" in response.flags
            self.matches[response.url] = response.meta["neardup_match"]

    def failed(self, failure: Any) -> None:
        self.failures.append(failure)


def _taken(report: Path) -> list[dict[str, Any]]:
    with suppress(FileNotFoundError):
        lines = report.read_text("utf-8").splitlines()
        report.unlink()
        return [json.loads(line) for line in lines]
    return []


async def _crawl(
    spider: type[Spider],
    settings: dict[str, Any] | None = None,
    *,
    at_once: int = 1,
    raises: bool = False,
    fails: bool = False,
    **kwargs: Any,
) -> Result:
    own = {"CONCURRENT_REQUESTS": at_once, "CONCURRENT_REQUESTS_PER_DOMAIN": at_once, **(settings or {})}
    crawler = Crawler(spider, SETTINGS | own)
    result = Result({})

    def scraped(item: Any) -> None:
        result.items.append(item)

    crawler.signals.connect(scraped, signals.item_scraped)
    await crawler.crawl_async(**kwargs)
    result.stats = crawler.stats.get_stats()
    result.spider = crawler.spider
    result.report = _taken(Path(SETTINGS["NEARDUP_REPORT"]))
    allowed = ERRORS if fails else ERRORS[1:] if raises else ()
    assert {name for name in result.errors if not name.startswith(allowed)} == set()
    return result


@pytest.fixture(autouse=True)
def seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all indexes draw one seed: under one in some thousands a copy of these short texts is no copy."""
    monkeypatch.setattr(detector, "secrets", SimpleNamespace(randbits=lambda _: 7))


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        yield server


@pytest.fixture
def crawl(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Result]]:
    """Run ``await crawl(spider class, settings, **spider arguments)`` in this process, without a reactor.

    It asks for one page *at_once*. Nothing may fail unless the user's code *raises*, or this package *fails*.
    """
    monkeypatch.chdir(tmp_path)
    return _crawl


@pytest.fixture
def pages() -> type[Pages]:
    return Pages


@pytest.fixture
def text() -> Callable[..., str]:
    return words


@pytest.fixture
def page() -> Callable[..., bytes]:
    return html


@pytest.fixture
def environment() -> dict[str, str]:
    """For a Python subprocess that imports this package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
