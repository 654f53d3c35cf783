"""A cache that Scrapy has filled."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest
from scrapy import Request
from scrapy.extensions.httpcache import FilesystemCacheStorage
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from .archives import html


@pytest.fixture
def site() -> dict[str, tuple[int, dict[str, str], bytes]]:
    """Responses by URL: status, headers, body."""
    page, latin = ({"Content-Type": f"text/html; charset={name}"} for name in ("utf-8", "latin-1"))
    pages = {
        "/robots.txt": (200, page, b"User-agent: *\nAllow: /\n"),
        "/plain": (200, page, html(1)),
        "/gzip": (200, {**page, "Content-Encoding": "gzip"}, gzip.compress(html(2), mtime=0)),
        "/brotli": (200, {**page, "Content-Encoding": "br"}, brotli.compress(html(3))),
        "/moved": (301, {**page, "Location": "/target"}, b"<html>moved</html>"),
        "/missing": (404, page, b"<html>not found</html>"),
        "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n"),
        "/empty": (200, page, b""),
        "/latin": (200, latin, "<html>café</html>".encode("latin-1")),
    }
    return {f"http://a.example{path}": response for path, response in pages.items()}


@pytest.fixture
def cached(site: Any, tmp_path: Path) -> Callable[..., Path]:
    """``cached(compressed)`` has Scrapy file the whole site, and returns the directory of its HTTP cache."""

    def store(compressed: bool = False) -> Path:
        settings = {"HTTPCACHE_DIR": str(tmp_path / "httpcache"), "HTTPCACHE_GZIP": compressed}
        crawler = get_crawler(settings_dict=settings)
        spider = crawler._create_spider("visit")
        storage = FilesystemCacheStorage(crawler.settings)
        storage.open_spider(spider)
        for url, (status, headers, body) in site.items():
            headers = {**headers, "Content-Length": str(len(body))}
            storage.store_response(spider, Request(url), HtmlResponse(url, status, headers, body))
        return tmp_path / "httpcache"

    return store
