"""Browser pages that a request holds open. scrapy-playwright counts on its callback or errback to close them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Request

#: Seconds that closing a page may take: a hung renderer must not keep the crawl from ending.
_TIMEOUT = 10.0


def held_page(request: Request) -> Any:
    """Return the page that was opened for *request* and that none but its callback would close; None without."""
    if request.errback is not None or not request.meta.get("playwright_include_page"):
        return None
    return request.meta.get("playwright_page")


async def close_page(page: Any) -> None:
    """Close *page*, else it counts for ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` until no more can be opened."""
    await asyncio.wait_for(page.close(), _TIMEOUT)
