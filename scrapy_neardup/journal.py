"""Tells the user what was decided and what failed: stats, log, signals, report."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from . import signals
from .exceptions import describe
from .report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from .report import Action
    from .settings import Config, Policy
    from .verdict import Verdict

logger = logging.getLogger("scrapy_neardup")

#: Warnings shown without NEARDUP_DEBUG; the stats count all.
_SHOWN_FAILURES = 3
#: Kinds of pages in the last line of the log, by their stats.
_SUMMED = {
    "judged": "checked",
    "unique": "unique",
    "exact": "duplicate/exact",
    "near": "duplicate/near",
    "of a template": "template",
    "fuller than another": "fuller",
    "walls": "wall",
    "too short": "too_short",
    "revisits": "revisit",
}


class Journal:
    """One for each crawler. None of its methods raises."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self.crawler = crawler
        self.policy = config.policy
        self.debug = config.debug
        self._report = Report(config.report) if config.report is not None else None
        self._failures = 0
        self._duplicates = 0

    def count(self, name: str, by: float = 1) -> None:
        """Add to the stat ``neardup/{name}``."""
        # Typed for whole numbers, but seconds are counted too.
        self.crawler.stats.inc_value(f"neardup/{name}", by)  # type: ignore[arg-type]

    @contextmanager
    def fails_open(self, stage: str, subject: str) -> Iterator[None]:
        """Swallow what the body raises and record it: no page is lost because this library failed."""
        try:
            yield
        except Exception:  # noqa: BLE001
            self.failed(stage, subject)

    def failed(self, stage: str, message: str, *, trace: bool = True) -> None:
        """Count and log that *stage* failed, so that its page or item was let through unjudged."""
        self.count(f"error/{stage}")
        self._failures += 1
        if self._failures > _SHOWN_FAILURES and not self.debug:
            return
        logger.warning(
            "Near-duplicate detection failed (%(stage)s) and lets this pass: %(message)s",
            {"stage": stage, "message": message},
            exc_info=trace,
            extra={"spider": self.crawler.spider},
        )
        if self._failures == _SHOWN_FAILURES and not self.debug:
            logger.warning(
                "No more failures will be shown (NEARDUP_DEBUG shows all); the stats count them as neardup/error/…",
                extra={"spider": self.crawler.spider},
            )

    def page(self, response: Response, verdict: Verdict, policy: Policy) -> None:
        """Record the decision about a page."""
        self._decided("page", "", response.url, verdict, policy)
        if verdict.is_duplicate:
            self._send(signals.page_duplicate, response=response, verdict=verdict, policy=policy)

    def item(self, item: Any, url: str, verdict: Verdict) -> None:
        """Record the decision about an item."""
        action: Action = "tag" if self.policy == "tag" else "drop_item"
        self._decided("item", "item/", url, verdict, action)
        if verdict.is_duplicate:
            self._send(signals.item_duplicate, item=item, verdict=verdict, policy=self.policy)

    def close(self) -> None:
        """Sum up and end the report."""
        counts = {kind: self.crawler.stats.get_value(f"neardup/{name}", 0) for kind, name in _SUMMED.items()}
        logger.info(
            "Near-duplicate detection: %(pages)s pages judged%(kinds)s",
            {
                "pages": counts.pop("judged"),
                "kinds": "".join(f", {count} {kind}" for kind, count in counts.items() if count),
            },
            extra={"spider": self.crawler.spider},
        )
        if self._report is not None:
            with self.fails_open("report", str(self._report.path)):
                self._report.close()

    def _decided(
        self, what: Literal["page", "item"], prefix: str, url: str, verdict: Verdict, action: Action
    ) -> None:
        self.count(f"{prefix}checked")
        if not verdict.is_duplicate:
            self.count(prefix + verdict.kind)
            action = "passed"
        else:
            self.count(f"{prefix}duplicate")
            self.count(f"{prefix}duplicate/{verdict.kind}")
            if verdict.distance is not None:
                self.count(f"{prefix}duplicate/distance/{verdict.distance}")
            if action == "tag":
                self.count(f"{prefix}tagged")
            elif action == "drop_page":
                self.count("dropped/page")
            elif action == "drop_item":
                self.count("item/dropped")
            self._log_duplicate(url, verdict, action)
        if verdict.kind != "unique":
            self._write(what, url, verdict, action)

    def _log_duplicate(self, url: str, verdict: Verdict, action: Action) -> None:
        self._duplicates += 1
        if self._duplicates > 1 and not self.debug:
            return
        more = "" if self.debug else " - no more duplicates will be shown (NEARDUP_DEBUG shows all)"
        logger.debug(
            "<%(url)s> is %(match)s: %(action)s%(more)s",
            {"url": url, "match": describe(verdict), "action": action, "more": more},
            extra={"spider": self.crawler.spider},
        )

    def _send(self, signal: object, **arguments: Any) -> None:
        # Logs what a handler raises.
        self.crawler.signals.send_catch_log(signal, spider=self.crawler.spider, **arguments)

    def _write(self, what: Literal["page", "item"], url: str, verdict: Verdict, action: Action) -> None:
        if self._report is None:
            return
        try:
            self._report.write(what, url, verdict, action)
        except OSError as error:
            path, self._report = self._report.path, None
            self.failed(
                "report",
                f"cannot write {path} ({error.strerror}); the crawl goes on without a report.",
                trace=False,
            )
