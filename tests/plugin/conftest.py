"""A loopback site, texts that repeat each other, and a way to crawl them."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Spider, signals
from scrapy.crawler import Crawler

from scrapy_neardup import detector
from scrapy_neardup.plugin import NearDupExtension
from tests.helpers.kept_servers import KeptServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence


class QuickExtension(NearDupExtension):
    """Takes its workers from a server that crawls of several tests share."""

    fork_server = KeptServer


#: As fast as possible: no trafilatura to import, one worker process.
SETTINGS = {
    "ADDONS": {"scrapy_neardup.addon.Addon": 700},
    "EXTENSIONS": {NearDupExtension: None, QuickExtension: 0},
    "NEARDUP_EXTRACTOR": "plain",
    "NEARDUP_WORKERS": 1,
    "TWISTED_REACTOR_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "RETRY_TIMES": 1,
    "LOG_LEVEL": "DEBUG",
}
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


def words(seed: int, count: int = 200) -> str:
    """A text of its own for each *seed*."""
    rng = random.Random(seed)
    return " ".join("".join(rng.choices(SYLLABLES, k=3)) for _ in range(count))


def html(text: str, links: tuple[str, ...] = (), title: str = "Title") -> bytes:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    return f"<html><head><title>{title}</title></head><body><p>{text}</p>{anchors}</body></html>".encode()


class Site:
    """An HTTP server on a free port of 127.0.0.1.

    A page is HTML, or (status, headers, body), or a function that returns one of these.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        self.hits: Counter[str] = Counter()
        self.barrier: threading.Barrier | None = None
        #: From path and body of a POST to the text of the page, or to a page.
        self.answer: Callable[[str, bytes], Any] | None = None
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path
                site.hits[path] += 1
                if path.startswith("/together/") and site.barrier is not None:
                    site.barrier.wait(20)
                self.answer(site.pages.get(path.partition("?")[0], (404, {}, b"<html>none</html>")))

            def do_POST(self) -> None:
                site.hits[self.path] += 1
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert site.answer is not None
                page = site.answer(self.path, body)
                self.answer(html(page) if isinstance(page, str) else page)

            def answer(self, page: Any) -> None:
                page = page() if callable(page) else page
                status, headers, body = page if isinstance(page, tuple) else (200, {}, page)
                self.send_response(status)
                for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def article(self, path: str, seed: int = 0, links: tuple[str, ...] = (), count: int = 200) -> str:
        self.pages[path] = html(words(seed, count), links)
        return self.url + path

    def copies(self, count: int) -> list[str]:
        """URLs of *count* equal pages, none of which is answered before all are asked for."""
        self.barrier = threading.Barrier(count)
        return [self.article(f"/together/{number}") for number in range(count)]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@dataclass
class Result:
    """What a crawl left behind."""

    stats: dict[str, Any]
    items: list[Any] = field(default_factory=list)
    spider: Any = None

    def __getitem__(self, name: str) -> Any:
        return self.stats.get(f"neardup/{name}", 0)

    @property
    def urls(self) -> list[str]:
        """Those of the items, sorted: Scrapy promises no order between items of two pages."""
        return sorted(item["url"] for item in self.items)

    @property
    def errors(self) -> dict[str, Any]:
        return {
            k: v for k, v in self.stats.items() if k.startswith("neardup/error") or k == "log_count/ERROR"
        }


class Pages(Spider):
    """Visits ``urls``, yields an item per page and follows its links.

    ``seen`` are the pages of its callback.
    """

    name = "pages"
    urls: Sequence[str] = ()
    meta: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[str] = []
        self.failures: list[Any] = []
        self.matches: dict[str, Any] = {}

    async def start(self) -> Any:
        from scrapy import Request

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


async def _crawl(spider: type[Spider], settings: dict[str, Any] | None = None, **kwargs: Any) -> Result:
    crawler = Crawler(spider, {**SETTINGS, **(settings or {})})
    result = Result({})

    def scraped(item: Any) -> None:
        result.items.append(item)

    crawler.signals.connect(scraped, signals.item_scraped)
    await crawler.crawl_async(**kwargs)
    result.stats = crawler.stats.get_stats()
    result.spider = crawler.spider
    return result


@pytest.fixture(autouse=True)
def seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all indexes draw one seed: under one in some thousands a copy of these short texts is no copy."""
    monkeypatch.setattr(detector, "secrets", SimpleNamespace(randbits=lambda _: 7))


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    yield server
    server.close()


@pytest.fixture
def crawl(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Result]]:
    """Run ``await crawl(spider class, settings, **spider arguments)`` in this process, without a reactor."""
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
