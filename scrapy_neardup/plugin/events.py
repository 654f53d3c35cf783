"""Reports what was decided and what failed: in stats, log, signals and the report file."""

from __future__ import annotations

import inspect
import logging
import math
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from . import signals
from .crawl_log import CrawlLog
from .report_file import ReportFile

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

    from .policies import Policy
    from .report_file import Action, What
    from .settings import CrawlOptions

#: How the names of the stats of pages and of items begin.
_PREFIXES: dict[What, str] = {"page": "", "item": "item/"}
#: The words of the line that sums up the crawl, each with the stat whose value stands before it.
_SUMMARY_STATS = {
    "judged": "checked",
    "unique": "unique",
    "exact": "duplicate/exact",
    "near": "duplicate/near",
    "of a template": "template",
    "with a text of their site": "boilerplate",
    "fuller than another": "fuller",
    "better than another": "preferred",
    "walls": "wall",
    "too short": "too_short",
    "revisits": "revisit",
}
#: Those words of which one is said in another way.
_SINGULARS = {"walls": "wall", "revisits": "revisit"}


class FailsOpen:
    """The block of `EventReporter.fails_open`. A page meets ten of them, so it is not made of a generator."""

    __slots__ = ("_reporter", "_stage", "_subject")

    def __init__(self, reporter: EventReporter, stage: str, subject: str) -> None:
        self._reporter, self._stage, self._subject = reporter, stage, subject

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._reporter.failed(self._stage, self._subject)
        return True


class EventReporter:
    """Reports the events of one crawl.

    No method but `require_report` raises, whatever the user's stats collector, logging handlers and signal
    handlers do.
    """

    def __init__(self, crawler: Crawler, config: CrawlOptions) -> None:
        self.crawler = crawler
        self.policy = config.policy
        self._compares_items = bool(config.item_fields)
        self.log = CrawlLog(crawler, debug=config.debug)
        self._report = ReportFile(config.report) if config.report is not None else None

    def require_report(self) -> None:
        """Raise `ConfigurationError` if there is to be a report and its file cannot be written."""
        if self._report is not None:
            self._report.require()

    def count(self, name: str, by: float = 1) -> None:
        """Add to the stat ``neardup/{name}``."""
        try:
            # Scrapy's hints ask for whole numbers, but seconds are counted, too.
            self.crawler.stats.inc_value(f"neardup/{name}", by)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001
            self.log.failure("stats", f"neardup/{name} is not counted.", trace=True)

    def fails_open(self, stage: str, subject: str) -> FailsOpen:
        """Report and swallow what the body of the ``with`` raises: no page is lost by a failure of ours."""
        return FailsOpen(self, stage, subject)

    def failed(self, stage: str, message: str, *, trace: bool = True) -> None:
        """Count and log that *stage* has failed, so that a page or an item passes unjudged."""
        self.count(f"error/{stage}")
        self.log.failure(stage, message, trace=trace)

    def page_judged(
        self, url: str, response: Response, verdict: Verdict, action: Action
    ) -> list[Awaitable[object]]:
        """Report the decision about the page at *url*; return the signal handlers to await."""
        self._decided("page", url, verdict, action)
        if not verdict.is_duplicate and verdict.kind != "revisit":
            return []
        signal = signals.page_revisited if verdict.kind == "revisit" else signals.page_duplicate
        policy = "keep" if action == "passed" else action
        return self._send(signal, response=response, verdict=verdict, policy=policy)

    def page_judged_again(
        self, url: str, response: Response, verdict: Verdict, policy: Policy
    ) -> list[Awaitable[object]]:
        """Report that a page repeats yet another one. The stats do not count the page twice."""
        self.log.duplicate(url, verdict, policy)
        self._write("page", url, verdict, policy)
        return self._send(signals.page_duplicate, response=response, verdict=verdict, policy=policy)

    def item_judged(self, item: Any, url: str, verdict: Verdict) -> list[Awaitable[object]]:
        """Report the decision about an item; return the signal handlers to await."""
        action: Action = "passed"
        if verdict.is_duplicate:
            action = "tag" if self.policy == "tag" else "drop_item"
        self._decided("item", url, verdict, action)
        if not verdict.is_duplicate:
            return []
        return self._send(signals.item_duplicate, item=item, verdict=verdict, policy=self.policy)

    def site_ended(self, url: str) -> None:
        """Report that no more pages of the site of *url* are asked for."""
        self.count("ended/site")
        message = (
            "Nothing new has come from the site of <%(url)s> for long enough: no more of its pages are "
            "asked for"
        )
        self.log.write(logging.INFO, message, url=url)

    def close(self) -> None:
        """Log a line that sums up the crawl, and one of its items; close the report file."""
        with self.fails_open("close", "the sum of the stats"):
            self._sum_up("page")
            if self._compares_items:
                self._sum_up("item")
        if self._report is not None:
            with self.fails_open("report", str(self._report.path)):
                self._report.close()

    def _sum_up(self, what: What) -> None:
        counts = {
            words: self.crawler.stats.get_value(f"neardup/{_PREFIXES[what]}{name}", 0)
            for words, name in _SUMMARY_STATS.items()
        }
        judged = counts.pop("judged")
        self.log.write(
            logging.INFO,
            "Near-duplicate detection of spider %(spider)s: %(sum)s",
            sum=", ".join(
                (
                    f"{judged} {what if judged == 1 else f'{what}s'} judged",
                    *(_counted(count, words) for words, count in counts.items() if count),
                )
            ),
        )

    def _decided(self, what: What, url: str, verdict: Verdict, action: Action) -> None:
        prefix = _PREFIXES[what]
        self.count(f"{prefix}checked")
        if verdict.bounded:
            self.count(f"{prefix}bounded")
        if not verdict.is_duplicate:
            self.count(prefix + verdict.kind)
            if verdict.kind == "revisit":
                self.count(f"{prefix}revisit/{'unchanged' if verdict.unchanged else 'changed'}")
                self.count(f"{prefix}revisit/similarity/{math.floor(10 * (verdict.similarity or 0)) / 10}")
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
        if action != "passed":
            self.log.duplicate(url, verdict, action)
        if verdict.kind != "unique":
            self._write(what, url, verdict, action)

    def _send(self, signal: object, **arguments: Any) -> list[Awaitable[object]]:
        """Call all handlers of *signal*; return those that are coroutines, which run already.

        What handlers raise is logged.
        """
        # Scrapy catches what a handler raises, but its logging may raise, too.
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
            # The words are those that Scrapy uses for handlers that are no coroutines.
            self.log.write(
                logging.ERROR, "Error caught on signal handler: %(receiver)s", trace=True, receiver=receiver
            )

    def _write(self, what: What, url: str, verdict: Verdict, action: Action) -> None:
        if self._report is None:
            return
        try:
            self._report.write(what, url, verdict, action)
        except OSError as error:
            message = f"cannot write {self._report.path} ({error.strerror}), which lacks a line."
            self.failed("report", message, trace=False)
        except Exception:  # noqa: BLE001
            self.failed("report", f"{self._report.path} lacks a line.")


def _counted(count: object, words: str) -> str:
    return f"{count} {_SINGULARS.get(words, words) if count == 1 else words}"
