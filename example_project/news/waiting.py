"""A crawler without requests waits a little: another one may still find links."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

#: For so many seconds without a request of its own a crawler stays.
SECONDS = 5.0


class WaitForOthers:
    """Keeps a spider open until it has had nothing to do for some seconds."""

    def __init__(self) -> None:
        self._busy = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        waiting = cls()
        crawler.signals.connect(waiting.downloading, signals.request_reached_downloader)
        crawler.signals.connect(waiting.idle, signals.spider_idle)
        return waiting

    def downloading(self) -> None:
        self._busy = time.monotonic()

    def idle(self) -> None:
        if time.monotonic() < self._busy + SECONDS:
            raise DontCloseSpider
