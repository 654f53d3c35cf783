"""Reports what was decided and what failed: in stats, log, signals and the report file.

Lines that would come with every page come once, or a few times.
"""

from __future__ import annotations

import errno
import inspect
import json
import logging
import math
import os
from collections import Counter
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from scrapy import signals as scrapy_signals
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.surrogates import escaped

from . import signals
from .outcome import NearDuplicateItem, describe

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from io import FileIO
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

    from .settings import CrawlOptions

#: What was judged.
What = Literal["page", "item"]
#: What was done with the document: nothing (``passed``), or what the policy says.
Action = Literal["passed", "tag", "drop_items", "drop_page", "drop_item"]

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
    "with items that differ": "items_differ",
    "walls": "wall",
    "too short": "too_short",
    "revisits": "revisit",
}
#: Those words of which one is said in another way.
_SINGULARS = {"walls": "wall", "revisits": "revisit"}


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

    def warn_once(self, message: str, url: str, **values: str) -> None:
        """Log *message* with *values* and the URL of an example, unless it was logged with these before."""
        said = message % {"url": "", **values}
        if said not in self._said:
            self._said.add(said)
            self.write(logging.WARNING, message % {"url": "%(url)s", **values}, url=url)

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


class ReportFile:
    """Appends JSON lines to a file, which is made where it is missing.

    A line that cannot be written is lost. The next one is written if that is possible again by then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        #: Whether only the beginning of the last line was written.
        self._cut = False

    def require(self) -> None:
        """Raise `ConfigurationError` if the file cannot be opened for writing."""
        try:
            self._open().close()
        except FileNotFoundError:
            raise ConfigurationError(
                f"NEARDUP_REPORT is {str(self.path)!r}, whose folder does not exist: make it or name another."
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"NEARDUP_REPORT is {str(self.path)!r}, which cannot be written ({error.strerror}): "
                "set it to a file that can be."
            ) from error

    def write(self, what: What, url: str, verdict: Verdict, action: Action) -> None:
        """Append one decision as a line of UTF-8.

        A lone surrogate is written as a JSON escape, and a value that is no JSON as its ``str()``. Raises
        OSError if the file cannot be written, TypeError or ValueError for a value that no line can hold.
        """
        line = {
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "type": what,
            "url": url,
            "verdict": verdict.kind,
            "match": verdict.url,
            "distance": verdict.distance,
            "similarity": _rounded(verdict.similarity),
            "changed": not verdict.unchanged if verdict.kind == "revisit" else None,
            "action": action,
            "why": {name: _rounded(value) for name, value in verdict.explanation.items()},
        }
        text = json.dumps(line, ensure_ascii=False, default=str) + "\n"
        try:
            self._append(text.encode("utf-8", "backslashreplace"))
        except OSError:
            with suppress(OSError):
                self.close()  # what is under this name later may be another file
            raise

    def close(self) -> None:
        """Close the file, if a line was written."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _append(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        data = b"\n" * self._cut + data
        written = self._file.write(data)
        if written is None:  # a pipe that is full
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._cut = written < len(data)
        if self._cut:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> FileIO:
        # Without a buffer each line is written whole, and a full disk leaves nothing to write later.
        return open(self.path, "ab", buffering=0, opener=_without_waiting)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file. A pipe that nobody reads fails, or the crawl would stand still until somebody does."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


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

    def page_decided(self, url: str, verdict: Verdict, action: Action) -> None:
        """Report the decision about the page at *url* in stats, log and report."""
        self._decided("page", url, verdict, action)

    def page_signals(self, response: Response, verdict: Verdict, action: Action) -> list[Awaitable[object]]:
        """Send the signal about a page, before its callback; return the signal handlers to await."""
        if not verdict.is_duplicate and verdict.kind != "revisit":
            return []
        signal = signals.page_revisited if verdict.kind == "revisit" else signals.page_duplicate
        policy = "keep" if action == "passed" else action
        return self._send(signal, response=response, verdict=verdict, policy=policy)

    async def item_refused(self, response: Response, item: Any, verdict: Verdict) -> None:
        """Report that *item* is dropped because an item of a page that its page repeats says the same."""
        self.count("dropped/item")
        await self.crawler.signals.send_catch_log_async(
            scrapy_signals.item_dropped,
            item=item,
            response=response,
            spider=self.crawler.spider,
            exception=NearDuplicateItem(item, response.url, verdict, response),
        )

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
        aside = [
            f"{sum(reasons.values())} {words} ({', '.join(f'{n} {why}' for why, n in reasons.items())})"
            for words, group in (("skipped", "skipped"), ("failed", "error"))
            if (reasons := self._reasons(_PREFIXES[what] + group))
        ]
        self.log.write(
            logging.INFO,
            "Near-duplicate detection of spider %(spider)s: %(sum)s",
            sum=", ".join(
                (
                    f"{judged} {what if judged == 1 else f'{what}s'} judged",
                    *(_counted(count, words) for words, count in counts.items() if count),
                    *aside,
                )
            ),
        )

    def _reasons(self, group: str) -> dict[str, int]:
        """Return how often each reason was counted of a group of stats, such as ``skipped``."""
        prefix = f"neardup/{group}/"
        stats = sorted(self.crawler.stats.get_stats().items())
        return {name.removeprefix(prefix): count for name, count in stats if name.startswith(prefix)}

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
