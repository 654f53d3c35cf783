"""Reports what was decided and what failed: in stats, log, signals and the report file."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_neardup.arguments import escaped
from scrapy_neardup.errors import ConfigurationError, NearDupError
from scrapy_neardup.matching.sites import host_of
from scrapy_neardup.verdict import Verdict

from . import signals
from .marks import NearDuplicateItem, describe, policy_of
from .settings import CrawlOptions, How

#: What was judged.
What = Literal["page", "item"]
#: What was done with the document: nothing (``passed``), or what the policy says.
Action = Literal["passed", "tag", "drop_items", "drop_page", "drop_item"]

#: How the names of the stats of pages and of items begin.
_PREFIXES: dict[What, str] = {"page": "", "item": "item/"}
#: The stat that counts what was done.
_DONE: dict[Action, str] = {"tag": "tagged", "drop_page": "dropped/page", "drop_item": "dropped"}
#: The stats in the line that sums up the crawl.
_SUMMARY = (
    "unique", "duplicate/exact", "duplicate/near", "template", "boilerplate", "fuller", "preferred",
    "items_differ", "wall", "too_short", "revisit",
)  # fmt: skip
#: Stats of what was done, in the same line.
_ACTS = {"tagged": "tagged", "dropped": "dropped", "dropped/page": "dropped", "dropped/item": "items dropped"}
#: How many failures of each kind are logged; the stats count all.
_SHOWN_FAILURES = 3
_FAILURE = "Near-duplicate detection of spider %(spider)s failed (%(stage)s) and lets this pass: %(message)s"
_NO_MORE_FAILURES = " - no more failures of this kind will be shown; the stats count them as neardup/error/…"

logger = logging.getLogger("scrapy_neardup")


class EventReporter:
    """Reports the events of a crawl. No method raises, whatever stats, logging and signal handlers do."""

    def __init__(self, crawler: Crawler, config: CrawlOptions) -> None:
        self.crawler = crawler
        self._config = config
        #: Writing to the file of the report; None if there is to be none.
        self.report = ReportFile(config.report) if config.report is not None else None
        self._failures: Counter[str] = Counter()

    def log(self, level: int, message: str, /, *, trace: bool = False, **values: object) -> None:
        """Log *message* with *values* and ``%(spider)s`` in it, and with *trace* the error being handled."""
        # If a logging handler or filter of the user's raises, there is nowhere to report it.
        with suppress(Exception):
            values["spider"] = getattr(self.crawler.spider, "name", None)
            logger.log(
                level,
                message,
                {name: escaped(str(value)) for name, value in values.items()},
                exc_info=trace,
                extra={"spider": self.crawler.spider},
            )

    def count(self, name: str, by: float = 1) -> None:
        """Add to the stat ``neardup/{name}``."""
        try:
            # Scrapy's hints ask for whole numbers, but seconds are counted, too.
            self.crawler.stats.inc_value(f"neardup/{name}", by)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001
            self._log_failure("stats", f"neardup/{name} is not counted.", trace=True)

    @contextmanager
    def fails_open(self, stage: str, subject: str) -> Iterator[None]:
        """Report and swallow what the body of the ``with`` raises: no page is lost by a failure of ours."""
        try:
            yield
        except NearDupError as error:  # its sentence says all, and the remedy
            self.failed(stage, f"{subject}: {error}", trace=False)
        except Exception:  # noqa: BLE001
            self.failed(stage, subject)

    def failed(self, stage: str, message: str, *, trace: bool = True) -> None:
        """Count and log that *stage* has failed, so that a page or an item passes unjudged."""
        self.count(f"error/{stage}")
        self._log_failure(stage, message, trace=trace)

    def decided(self, what: What, url: str, verdict: Verdict, action: Action, **more: Any) -> None:
        """Report the decision about the page or item at *url* in stats, log and report, there with *more*."""
        names = ["checked", verdict.kind]
        if verdict.is_duplicate:
            names[1:] = ["duplicate", f"duplicate/{verdict.kind}"]
            if verdict.distance is not None:
                names.append(f"duplicate/distance/{verdict.distance}")
        elif verdict.kind == "revisit":
            names.append(f"revisit/{'unchanged' if verdict.unchanged else 'changed'}")
        if verdict.bounded:
            names.append("bounded")
        names += [_DONE[action]] if action in _DONE else []
        for name in names:
            self.count(_PREFIXES[what] + name)
        if action != "passed":
            message = "<%(url)s> is %(match)s: %(action)s"
            self.log(logging.DEBUG, message, url=url, match=describe(verdict), action=action)
        if verdict.kind == "unique" or self.report is None:
            return
        with self.fails_open("report", "the explanation of a verdict"):
            self._append(
                type=what,
                url=url,
                verdict=verdict.kind,
                match=verdict.url,
                distance=verdict.distance,
                similarity=_rounded(verdict.similarity),
                changed=not verdict.unchanged if verdict.kind == "revisit" else None,
                action=action,
                **more,
                why={name: _rounded(value) for name, value in verdict.explanation.items()},
            )

    async def tell_page(self, response: Response, verdict: Verdict, action: Action) -> None:
        """Send the signal about a page that repeats another or comes again, and wait for its handlers."""
        if verdict.is_duplicate or verdict.kind == "revisit":
            signal = signals.page_revisited if verdict.kind == "revisit" else signals.page_duplicate
            await self._send(signal, response=response, verdict=verdict, policy=policy_of(action))

    async def copies_seen(self, copies: list[tuple[str, str]], story: str) -> None:
        """Send the signal about *copies*, each with the URL of the page that is kept, and empty the list."""
        while copies:
            url, kept = copies.pop()
            told: dict[str, Any] = {"host": host_of(url), "kept": kept, "story": story}
            await self._send(signals.copy_seen, url=url, **told, seen=datetime.now(timezone.utc))

    async def item_refused(self, response: Response, item: Any, verdict: Verdict) -> None:
        """Report that *item* is dropped because an item of a page that its page repeats says the same."""
        self.count("dropped/item")
        exception = NearDuplicateItem(item, response.url, verdict, response)
        await self._send(scrapy_signals.item_dropped, item=item, response=response, exception=exception)

    def held(self, by: str, url: str, how: How, why: str) -> None:
        """Report that a request is held back, by the ``budget`` or by ``rules``."""
        self.count(f"{by}/{'skipped' if how == 'skip' else 'deferred'}")
        self._append(type="request", url=url, verdict=None, action=how, why={by: why})

    def close(self) -> None:
        """Log a line that sums up the crawl, and one of its items."""
        with self.fails_open("close", "the sum of the stats"):
            self._sum_up("page")
            if self._config.item_fields:
                self._sum_up("item")

    def _sum_up(self, what: What) -> None:
        found = _below(self.crawler.stats.get_stats(), f"neardup/{_PREFIXES[what]}")
        told = [
            f"{found[name]} {name.rpartition('/')[2].replace('_', ' ')}" for name in _SUMMARY if name in found
        ]
        for word, group in (("skipped", "skipped/"), ("failed", "error/")):
            if reasons := _below(found, group):
                why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
                told.append(f"{sum(reasons.values())} {word} ({why})")
        message = "Near-duplicate detection of spider %(spider)s: %(count)s %(what)ss judged: %(sum)s"
        done = [f"{found[name]} {words}" for name, words in _ACTS.items() if name in found]
        count, said = found.get("checked", 0), "; ".join(filter(None, map(", ".join, (told, done)))) or "none"
        self.log(logging.INFO, message, count=count, what=what, sum=said)

    def _log_failure(self, stage: str, message: str, *, trace: bool) -> None:
        """Log that *stage* has failed; only the first times, since one fault often meets every page."""
        self._failures[stage] += 1
        if self._failures[stage] > _SHOWN_FAILURES:
            return
        more = _NO_MORE_FAILURES if self._failures[stage] == _SHOWN_FAILURES else ""
        self.log(logging.WARNING, _FAILURE + more, trace=trace, stage=stage, message=message)

    async def _send(self, signal: object, **arguments: Any) -> None:
        # Scrapy catches and logs what a handler raises, but its logging may raise, too.
        with self.fails_open("signal", "a signal"):
            await self.crawler.signals.send_catch_log_async(signal, spider=self.crawler.spider, **arguments)

    def _append(self, **line: Any) -> None:
        if self.report is None:
            return
        try:
            self.report.append(line)
        except Exception as error:  # noqa: BLE001
            message = f"{self.report.path} lacks a line: {error}"
            self.failed("report", message, trace=not isinstance(error, OSError))


class ReportFile:
    """Appends JSON lines to a file, which is opened for each: if one cannot be written, no other is lost."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        #: Whether only the beginning of the last line was written.
        self._cut = False

    def require(self) -> None:
        """Raise `ConfigurationError` unless it is a file to write to. A pipe would hold up the crawl."""
        try:
            if not self.path.exists() or self.path.is_file():
                return self.path.open("ab").close()
            fault = "is no regular file"
        except OSError as error:
            fault = f"cannot be written ({error.strerror})"
        remedy = "set it to a file in a folder that is there and can be written."
        raise ConfigurationError(f"NEARDUP_REPORT is {str(self.path)!r}, which {fault}: {remedy}")

    def append(self, line: dict[str, Any]) -> None:
        """Append *line*. Raises OSError, or TypeError and ValueError for what no line can hold."""
        line = {"time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), **line}
        text = "\n" * self._cut + json.dumps(line, ensure_ascii=False, default=str) + "\n"
        data = text.encode("utf-8", "backslashreplace")
        with self.path.open("ab", buffering=0) as file:  # without a buffer each line is written whole
            self._cut = file.write(data) < len(data)
        if self._cut:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _below(stats: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): stats[name] for name in sorted(stats) if name.startswith(prefix)}


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value
