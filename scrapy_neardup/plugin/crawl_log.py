"""Lines in the log of a crawl: those that would come with every page come once, or a few times."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy_neardup.surrogates import escaped

from .duplicates import describe

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_neardup.verdict import Verdict

    from .report_file import Action

logger = logging.getLogger("scrapy_neardup")

#: How many failures of each kind are logged without NEARDUP_DEBUG; the stats count all.
_SHOWN_FAILURES = 3
_NO_MORE_FAILURES = (
    " - no more failures of this kind will be shown (NEARDUP_DEBUG shows all); the stats count them as "
    "neardup/error/…"
)
_NO_MORE_DUPLICATES = " - no more duplicates will be shown (NEARDUP_DEBUG shows all)"


class CrawlLog:
    """The log of one crawl. With *debug* (NEARDUP_DEBUG) it has every failure and every duplicate.

    No method raises, whatever the user's logging handlers do.
    """

    def __init__(self, crawler: Crawler, *, debug: bool) -> None:
        self._crawler = crawler
        self._debug = debug
        self._said: set[str] = set()
        self._failures: Counter[str] = Counter()
        self._duplicates = 0

    def write(self, level: int, message: str, /, *, trace: bool = False, **values: object) -> None:
        """Log *message* with *values* in it, and with *trace* the error that is being handled.

        ``%(spider)s`` is the name of the spider: one process may have several crawls.
        """
        # If a logging handler or filter of the user's raises, there is nowhere to report it.
        with suppress(Exception):
            values["spider"] = getattr(self._crawler.spider, "name", None)
            logger.log(
                level,
                message,
                {name: escaped(str(value)) for name, value in values.items()},
                exc_info=trace,
                extra={"spider": self._crawler.spider},
            )

    def warn_once(self, message: str, url: str) -> None:
        """Log *message*, with the URL of an example, unless it was logged before."""
        if message not in self._said:
            self._said.add(message)
            self.write(logging.WARNING, message, url=url)

    def failure(self, stage: str, message: str, *, trace: bool) -> None:
        """Log that *stage* has failed; only the first times, since one fault often meets every page."""
        self._failures[stage] += 1
        if self._failures[stage] > _SHOWN_FAILURES and not self._debug:
            return
        last = self._failures[stage] == _SHOWN_FAILURES and not self._debug
        self.write(
            logging.WARNING,
            "Near-duplicate detection of spider %(spider)s failed (%(stage)s) and lets this pass: "
            "%(message)s%(more)s",
            trace=trace,
            stage=stage,
            message=message,
            more=_NO_MORE_FAILURES if last else "",
        )

    def duplicate(self, url: str, verdict: Verdict, action: Action) -> None:
        """Log the first duplicate, as an example."""
        self._duplicates += 1
        if self._duplicates > 1 and not self._debug:
            return
        self.write(
            logging.DEBUG,
            "<%(url)s> is %(match)s: %(action)s%(more)s",
            url=url,
            match=describe(verdict),
            action=action,
            more="" if self._debug else _NO_MORE_DUPLICATES,
        )
