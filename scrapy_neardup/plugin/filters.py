"""Which pages are looked at, and which runs of Scrapy are crawls."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from .settings import CrawlOptions

#: Keys of ``response.meta`` with the kind of the verdict and, for a duplicate, its match; its flag in
#: ``response.flags``.
VERDICT_KEY = "neardup_verdict"
MATCH_KEY = "neardup_match"
FLAG = "neardup"


def is_crawl(crawler: Crawler) -> bool:
    """Whether pages count: not for ``scrapy check``, ``shell``, ``fetch``, ``view`` and ``parse``."""
    if os.environ.get("SCRAPY_CHECK") or crawler.spider is None:  # the shell has settings, but no spider yet
        return False
    start = getattr(type(crawler.spider), "start", None)
    return not getattr(start, "__module__", "").startswith("scrapy.commands.")


def is_scrapy_command() -> bool:
    """Whether this process is ``scrapy …``, which runs one crawl, and not a program that crawls among other things."""
    program = Path(sys.argv[0])
    return program.stem == "scrapy" or program.parts[-2:] == ("scrapy", "__main__.py")


def is_for_spider(request: Request) -> bool:
    """Whether the response goes to a callback: false for robots.txt and for media pipelines."""
    return request.callback is not NO_CALLBACK


def skip_reason(request: Request, response: Response, config: CrawlOptions) -> str | None:
    """Why this page is not examined, as in the stats ``neardup/skipped/…``; None if it is."""
    if request.meta.get("neardup") is False:
        return "meta"
    if not 200 <= response.status < 300:
        return "status"
    if not isinstance(response, HtmlResponse):
        return "not_html"
    if not response.body:
        return "empty"
    if len(response.body) > config.max_body_size:
        return "too_large"
    return None


def clear_match(request: Request, response: Response | None = None) -> None:
    """Remove an earlier result, which redirects, retries and callbacks carry over with a copied meta."""
    request.meta.pop(MATCH_KEY, None)
    request.meta.pop(VERDICT_KEY, None)
    if response is not None and FLAG in response.flags:
        response.flags.remove(FLAG)
