"""The extension: it owns what the components of one crawler share: settings, index, worker processes."""

from __future__ import annotations

import gc
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError, IndexUnavailable, NearDupError
from scrapy_neardup.extraction.workers import ForkServer, Workers
from scrapy_neardup.matching.items import ItemNotes
from scrapy_neardup.options import OF_THE_DETECTOR

from .budget import Budget, KnownUrls
from .eventloop import run_bounded
from .events import EventReporter
from .reservations import Reservations
from .settings import POLICIES, CrawlOptions, Policy, is_enabled, rule_for

if TYPE_CHECKING:
    from typing_extensions import Self


#: Of NEARDUP_REVISITS.
_NO_INDEX = "No index is kept, so NEARDUP_REVISITS of spider %(spider)s knows no other crawl: set NEARDUP_DIR"
#: The crawls that have not begun, and what each has opened. If another component cannot be made then, no
#: extension is told that the crawl has failed, so the next crawl of the process closes this.
_opened: dict[Crawler, list[Detector | Workers]] = {}
#: The indexes that crawls of this process have emptied: the second of two crawls keeps what the first stores.
_emptied: set[str] = set()


class NearDupExtension:
    """Opens the index and starts the workers first, where errors stop the crawl; closes both in the end."""

    #: How long the last fingerprints may take to reach the disk when the crawl ends.
    close_timeout_seconds = 60.0
    #: How long a page of a browser may take to close.
    browser_page_timeout_seconds = 10.0
    #: What forks the worker processes.
    fork_server: type[ForkServer] = ForkServer

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.config = CrawlOptions.from_settings(crawler.settings)
        self.reporter = EventReporter(crawler, self.config)
        if self.reporter.report is not None:
            self.reporter.report.require()
        #: Tells which items say the same.
        self.item_notes = ItemNotes((*self.config.item_ignore, *self.config.cluster_field))
        #: URL and scope of the page that yielded an item, by the item's ``id()``, until the page is settled.
        self.item_origins: dict[int, tuple[str, str]] = {}
        extractor = self.config.extractor_identity
        self._require_scope()
        server = self.fork_server(self.config.extractor)
        try:
            if crawler.crawling:
                server.start()  # so that the first page does not wait for it, or not for long
            self.detector = self._open(extractor)
        except BaseException:
            server.close()
            raise
        self.workers = self.config.extracting(
            self.detector.fingerprinter, keep_text=self.config.changes, server=server
        )
        if crawler in _opened:
            _opened[crawler].append(self.workers)
            with self.reporter.fails_open("start", "the extraction workers"):
                self.workers.start()  # while Scrapy makes the other components
        self.reservations = Reservations(crawler, self.reporter, remote=self.detector.index.remote)
        self._froze = False
        self.budget = self.known_urls = None
        if self.config.budget is not None:
            self.budget = Budget(self.config.budget, self._state, self.reservations.on_its_way)
        if any(rule.to is not None for rule in self.config.rules):
            self.known_urls = KnownUrls(self.config.rules, self._state)

    def _state(self) -> dict[str, Any]:
        """Return the state of the spider, which is kept in the JOBDIR, if there is one."""
        return vars(self.crawler.spider).setdefault("state", {})  # type: ignore[no-any-return]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension: Self | None = None
        wrong: NearDupError | None = None
        try:
            extension = cls(crawler) if _is_crawl(crawler) and is_enabled(crawler.settings) else None
        except NotConfigured as error:
            # The user's code raised this, and Scrapy would take it for the wish to do without detection.
            message = "look for what raises NotConfigured in the code that the NEARDUP_ settings name."
            wrong = ConfigurationError(f"Near-duplicate detection cannot start ({error}): {message}")
        except NearDupError as error:
            wrong = error
        if wrong is not None and _is_scrapy_command():
            # The message says what to do, and Scrapy would bury it under a traceback.
            raise SystemExit(f"scrapy_neardup: {wrong}")
        if extension is None:
            raise wrong or NotConfigured
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        _opened.pop(self.crawler, None)  # it closes all when it ends
        if self.config.revisits != "keep" and not (self.config.store or self.config.dir):
            self.reporter.log(logging.WARNING, _NO_INDEX)
        # Most objects of now are modules, which no crawl frees: full collections would hold up the loop.
        self._froze = not gc.get_freeze_count()
        if self._froze:
            gc.freeze()

    async def spider_closed(self) -> None:
        if self._froze:
            gc.unfreeze()
        self.reservations.close()
        if not await run_bounded(self._close, self.close_timeout_seconds):
            self.reporter.failed("close", f"not done after {self.close_timeout_seconds} seconds", trace=False)
        self.reporter.close()

    def policy_for(self, url: str, request: Request) -> tuple[Policy, bool]:
        """Return the policy for a page, and whether its meta or a rule names it, not the settings."""
        value = request.meta.get("neardup")
        if value in POLICIES:
            return value, True
        if value not in (None, True, False):
            message = f"meta 'neardup' of {request} is {value!r}: set it to False or a policy."
            self.reporter.failed("meta", message, trace=False)
        rule = rule_for(url, self.config.rules)
        return (rule.policy, True) if rule is not None and rule.policy else (self.config.policy, False)

    def scope_for(self, url: str, request: Request | None = None) -> str:
        """Return the scope of a document, which its meta, the rules or the settings name."""
        value = request.meta.get("neardup_scope") if request is not None else None
        if value is not None:
            return str(value)
        assert self.crawler.spider is not None
        rule = rule_for(url, self.config.rules)
        found = ((rule.scope if rule is not None else None) or self.config.scope)(url, self.crawler.spider)
        if not isinstance(found, str):
            raise ConfigurationError(f"NEARDUP_SCOPE gives {found!r} for {url}: let it return a str.")
        return found

    def _require_scope(self) -> None:
        """Raise `ConfigurationError` if the function of NEARDUP_SCOPE returns no str for an ordinary page."""
        try:
            self.scope_for("https://example.com/")
        except Exception as error:
            if isinstance(error, ConfigurationError):
                raise

    def _open(self, extractor: str) -> Detector:
        """Open the index for texts of the *extractor* of that identity. Raises what `Detector.open` does."""
        config = self.config
        for failed in [each for each in _opened if not each.crawling]:
            for opened in _opened.pop(failed):
                with self.reporter.fails_open("close", "what a crawl that has not begun has opened"):
                    opened.close()
        place = config.store or config.dir
        reset = config.reset and str(place) not in _emptied
        options = {name: getattr(config, name) for name in OF_THE_DETECTOR}
        detector = Detector.open(place, extractor=extractor, reset=reset, **options)
        if config.reset:
            _emptied.add(str(place))
        if self.crawler.crawling:  # else it is none of Scrapy's crawls, so nobody says when it fails
            _opened[self.crawler] = [detector]
        return detector

    def _close(self) -> None:
        """Close workers and index. Runs in a thread, because the last commit to the disk may take long."""
        with self.reporter.fails_open("close", "the extraction workers"):
            self.workers.close()
        with self.reporter.fails_open("flush", "the last fingerprints"):
            self.detector.flush()
        with self.reporter.fails_open("gauges", "the stats of the index"):
            self._set_gauges()
        with self.reporter.fails_open("close", "the index"):
            try:
                self.detector.close()
            except IndexUnavailable:
                if self.detector.index.remote:  # it counts what it could not write
                    self._set_gauges()
                raise

    def _set_gauges(self) -> None:
        for name, value in self.detector.gauges().items():
            self.crawler.stats.set_value(f"neardup/index/{name}", value)


class Component:
    """A middleware or pipeline: it shares the extension, and hears the signals that ``hears`` names."""

    hears: ClassVar[tuple[str, ...]] = ()

    def __init__(self, crawler: Crawler) -> None:
        extension = crawler.get_extension(NearDupExtension)
        if extension is None:  # it is switched off
            raise NotConfigured
        self.extension = extension

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        component = cls(crawler)
        for name in cls.hears:
            crawler.signals.connect(getattr(component, name), getattr(signals, name))
        return component


def _is_crawl(crawler: Crawler) -> bool:
    """Whether this is a crawl, and no ``scrapy check``, ``shell``, ``fetch``, ``view`` or ``parse``."""
    # ``scrapy shell`` makes the extensions before it has a spider.
    if os.environ.get("SCRAPY_CHECK") or crawler.spider is None:
        return False
    start = getattr(type(crawler.spider), "start", None)
    return not getattr(start, "__module__", "").startswith("scrapy.commands.")


def _is_scrapy_command() -> bool:
    """Whether this process is the command ``scrapy``, and no program of the user's that crawls, too."""
    program = Path(sys.argv[0])
    return program.stem == "scrapy" or program.parts[-2:] == ("scrapy", "__main__.py")
