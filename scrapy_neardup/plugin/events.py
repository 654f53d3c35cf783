"""Tells the user what was decided and what failed: stats, log, signals, report."""

from __future__ import annotations

import inspect
import logging
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_neardup.surrogates import escaped

from . import signals
from .duplicates import describe
from .report_file import Report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

    from .report_file import Action
    from .settings import CrawlOptions, Policy

logger = logging.getLogger("scrapy_neardup")

#: Warnings shown without NEARDUP_DEBUG; the stats count all.
_SHOWN_FAILURES = 3
_NO_MORE = (
    " - no more failures will be shown (NEARDUP_DEBUG shows all); the stats count them as neardup/error/…"
)
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
    """One for each crawler. None of its methods raises, whatever the user's stats collector, log and handlers do."""

    def __init__(self, crawler: Crawler, config: CrawlOptions) -> None:
        self.crawler = crawler
        self.policy = config.policy
        self.debug = config.debug
        self._report = Report(config.report) if config.report is not None else None
        self._failures = 0
        self._duplicates = 0

    def count(self, name: str, by: float = 1) -> None:
        """Add to the stat ``neardup/{name}``."""
        try:
            # Typed for whole numbers, but seconds are counted too.
            self.crawler.stats.inc_value(f"neardup/{name}", by)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001
            self._warn("stats", f"neardup/{name} is not counted.", trace=True)

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
        self._warn(stage, message, trace=trace)

    def page(self, response: Response, verdict: Verdict, policy: Policy) -> list[Awaitable[object]]:
        """Record the decision about a page; returns the signal handlers that are still busy with it."""
        self._decided("page", "", response.url, verdict, policy)
        if not verdict.is_duplicate:
            return []
        return self._send(signals.page_duplicate, response=response, verdict=verdict, policy=policy)

    def page_again(self, response: Response, verdict: Verdict, policy: Policy) -> list[Awaitable[object]]:
        """Record another decision about a page that is a duplicate already: the stats have counted it."""
        self._log_duplicate(response.url, verdict, policy)
        self._write("page", response.url, verdict, policy)
        return self._send(signals.page_duplicate, response=response, verdict=verdict, policy=policy)

    def item(self, item: Any, url: str, verdict: Verdict) -> list[Awaitable[object]]:
        """Record the decision about an item; returns the signal handlers that are still busy with it."""
        action: Action = "tag" if self.policy == "tag" else "drop_item"
        self._decided("item", "item/", url, verdict, action)
        if not verdict.is_duplicate:
            return []
        return self._send(signals.item_duplicate, item=item, verdict=verdict, policy=self.policy)

    def close(self) -> None:
        """Sum up and end the report."""
        with self.fails_open("close", "the sum of the stats"):
            counts = {
                kind: self.crawler.stats.get_value(f"neardup/{name}", 0) for kind, name in _SUMMED.items()
            }
            self._log(
                logging.INFO,
                "Near-duplicate detection: %(pages)s pages judged%(kinds)s",
                pages=counts.pop("judged"),
                kinds="".join(f", {count} {kind}" for kind, count in counts.items() if count),
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
        self._log(
            logging.DEBUG,
            "<%(url)s> is %(match)s: %(action)s%(more)s",
            url=url,
            match=describe(verdict),
            action=action,
            more=more,
        )

    def _warn(self, stage: str, message: str, *, trace: bool) -> None:
        self._failures += 1
        if self._failures > _SHOWN_FAILURES and not self.debug:
            return
        last = self._failures == _SHOWN_FAILURES and not self.debug
        self._log(
            logging.WARNING,
            "Near-duplicate detection failed (%(stage)s) and lets this pass: %(message)s%(more)s",
            trace=trace,
            stage=stage,
            message=message,
            more=_NO_MORE if last else "",
        )

    def _log(self, level: int, message: str, /, *, trace: bool = False, **values: object) -> None:
        with suppress(Exception):  # a handler or filter of the user's: where else should this be told?
            logger.log(
                level,
                message,
                {name: escaped(str(value)) for name, value in values.items()},
                exc_info=trace,
                extra={"spider": self.crawler.spider},
            )

    def _send(self, signal: object, **arguments: Any) -> list[Awaitable[object]]:
        """Call the handlers, start those that are coroutine functions and return these. What they raise is logged."""
        # Scrapy logs what a handler raises; the log may raise, too.
        with self.fails_open("signal", "a signal"):
            answers = self.crawler.signals.send_catch_log(signal, spider=self.crawler.spider, **arguments)
            return [
                maybe_deferred_to_future(deferred_from_coro(self._finish(receiver, answer)))
                for receiver, answer in answers
                if inspect.iscoroutine(answer)
            ]
        return []

    async def _finish(self, receiver: object, answer: Awaitable[object]) -> None:
        try:
            await answer
        except Exception:  # noqa: BLE001
            # As Scrapy says it of other handlers.
            self._log(
                logging.ERROR, "Error caught on signal handler: %(receiver)s", trace=True, receiver=receiver
            )

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
        except Exception:  # noqa: BLE001
            self.failed("report", f"{self._report.path} lacks a line.")
