"""Browser pages that scrapy-playwright opens for a request and leaves to its callback or errback to close."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Request


def page_left_open(request: Request) -> Any:
    """Return the browser page that nobody closes if the callback of *request* is not called; else None.

    The errback closes the page of a request that has one.
    """
    if request.errback is not None or not request.meta.get("playwright_include_page"):
        return None
    return request.meta.get("playwright_page")


async def close_page(page: Any, timeout_seconds: float) -> None:
    """Close the browser page. A page left open would count for ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` for ever.

    Raises TimeoutError after *timeout_seconds*: a browser that hangs must not keep the crawl from ending.
    """
    await asyncio.wait_for(page.close(), timeout_seconds)
