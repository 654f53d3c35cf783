"""Reading sources into lists, and a cache that a real crawl of a loopback site has filled."""

from __future__ import annotations

import gzip
import random
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import brotli
import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler

from scrapy_neardup.audit.sources import BrokenRecord, CrawledPage, Skipped, open_sources

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

_WORDS = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


@dataclass
class Contents:
    """What sources gave, by type."""

    records: list[Any]
    pages: list[CrawledPage] = field(default_factory=list)
    problems: list[BrokenRecord] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def __post_init__(self) -> None:
        for record in self.records:
            lists = {CrawledPage: self.pages, BrokenRecord: self.problems, Skipped: self.skipped}
            lists[type(record)].append(record)  # type: ignore[attr-defined]

    @property
    def urls(self) -> list[str]:
        return [page.url for page in self.pages]

    @property
    def texts(self) -> list[str | None]:
        return [page.text for page in self.pages]


@pytest.fixture
def read() -> Callable[..., Contents]:
    """``read(path, …, **options)``."""
    return lambda *paths, **options: Contents(list(open_sources(paths, **options)))


@pytest.fixture
def text() -> Callable[..., str]:
    def make(seed: int, count: int = 30) -> str:
        rng = random.Random(seed)
        return " ".join("".join(rng.choices(_WORDS, k=3)) for _ in range(count))

    return make


@pytest.fixture
def html(text: Callable[..., str]) -> Callable[..., bytes]:
    return lambda seed, count=30: f"<html><body><p>{text(seed, count)}</p></body></html>".encode()


class Site:
    """Pages by path: status, headers, body."""

    def __init__(self, html: Callable[..., bytes]) -> None:
        page = {"Content-Type": "text/html; charset=utf-8"}
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {
            "/robots.txt": (200, page, b"User-agent: *\nAllow: /\n"),
            "/plain": (200, page, html(1)),
            "/gzip": (200, {**page, "Content-Encoding": "gzip"}, gzip.compress(html(2), mtime=0)),
            "/brotli": (200, {**page, "Content-Encoding": "br"}, brotli.compress(html(3))),
            "/moved": (301, {**page, "Location": "/target"}, b"<html>moved</html>"),
            "/target": (200, page, html(4)),
            "/missing": (404, page, b"<html>not found</html>"),
            "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n"),
            "/empty": (200, page, b""),
            "/latin": (
                200,
                {"Content-Type": "text/html; charset=latin-1"},
                "<html>café</html>".encode("latin-1"),
            ),
        }
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, headers, body = site.pages[self.path]
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def site(html: Callable[..., bytes]) -> Iterator[Site]:
    site = Site(html)
    yield site
    site.server.shutdown()
    site.server.server_close()


class Visit(Spider):
    name = "visit"
    handle_httpstatus_list = (404,)
    urls: tuple[str, ...] = ()

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Any) -> None:
        pass


@pytest.fixture
def crawl(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Path]]:
    """Visit the whole site with Scrapy and return the directory of its HTTP cache."""
    monkeypatch.chdir(tmp_path)

    async def run(**settings: Any) -> Path:
        directory = tmp_path / "httpcache"
        defaults = {
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_DIR": str(directory),
            "ROBOTSTXT_OBEY": True,
            "TWISTED_REACTOR_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
        crawler = Crawler(Visit, {**defaults, **settings})
        urls = [site.url + path for path in site.pages if path not in ("/robots.txt", "/target")]
        await crawler.crawl_async(urls=urls)
        return directory

    return run
