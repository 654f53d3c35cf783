"""What the components of one crawler share: configuration, index, worker processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured

from scrapy_neardup.detector import Detector
from scrapy_neardup.errors import ConfigurationError, NearDupError
from scrapy_neardup.extraction import Workers, load_extractor
from scrapy_neardup.extraction.rehearsal import rehearse
from scrapy_neardup.extraction.turns import Turns
from scrapy_neardup.matching.sites import site_key

from .eventloop import Pace, run_bounded, wait_done
from .events import Journal
from .filters import is_crawl, is_scrapy_command
from .settings import POLICIES, CrawlOptions, is_enabled
from .settlement import Settler

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_neardup.extraction import Extraction, Page
    from scrapy_neardup.fingerprint.signature import Signature
    from scrapy_neardup.verdict import Verdict

    from .settings import Policy

#: Seconds for the last fingerprints to reach the disk.
_CLOSE_TIMEOUT = 60.0
#: Seconds beyond three time limits that a page may take in all: it may queue behind others that use up their time.
_GRACE = 5.0
#: Seconds that a page or an item waits for others before it passes unjudged.
PENDING_TIMEOUT = 60.0
#: Pages that wait in the pool, so that a worker that is done has the next one at once.
_SPARE = 1


class NearDup:
    """Extension that owns the detector and the extraction workers from the start of the crawl to its end.

    Raises the errors of errors.py at start-up, which stops the crawl before it begins; later errors are counted
    and let the page pass.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.config = CrawlOptions.from_settings(crawler.settings)
        self.journal = Journal(crawler, self.config)
        self.settler = Settler(crawler, self.journal)
        #: What the downloader middleware found out: an extraction, or the stat that counts why there is none
        #: (empty: it is counted already).
        self.outcomes: WeakKeyDictionary[Request, Extraction | str] = WeakKeyDictionary()
        #: URL and scope of the page that yielded an item, by the item's id, while the item is on its way.
        self.origins: dict[int, tuple[str, str]] = {}
        extractor = load_extractor(self.config.extractor)
        self.detector = Detector.open(
            self.config.dir,
            scheme=self.config.scheme,
            distance=self.config.distance,
            tables=self.config.tables,
            threshold=self.config.threshold,
            verified=self.config.verified,
            features=self.config.features,
            min_tokens=self.config.min_tokens,
            window=self.config.window,
            extractor=extractor.identity,
            reset=self.config.reset,
        )
        rehearse(extractor, self.detector.fingerprinter)
        self.workers = Workers(
            self.detector.fingerprinter,
            self.config.extractor,
            processes=self.config.processes,
            timeout=self.config.extract_timeout,
            memory=self.config.extract_memory,
        )
        self._pace = Pace(Turns(self.config.processes + _SPARE, self.config.extract_timeout))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        try:
            extension = cls._start(crawler)
        except NearDupError as error:
            if is_scrapy_command():
                # The sentence says what to do; Scrapy would bury it under a traceback.
                raise SystemExit(f"scrapy_neardup: {error}") from None
            raise
        if extension is None:
            raise NotConfigured
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    @classmethod
    def _start(cls, crawler: Crawler) -> Self | None:
        if not (is_crawl(crawler) and is_enabled(crawler.settings)):
            return None
        try:
            return cls(crawler)
        except NotConfigured as error:  # from code that it calls; Scrapy would go on without detection
            raise ConfigurationError(
                f"Near-duplicate detection cannot start ({error}): "
                "look for what raises NotConfigured in the code that the NEARDUP_ settings name."
            ) from error

    @classmethod
    def of(cls, crawler: Crawler) -> NearDup:
        """Return the extension of *crawler*; raise NotConfigured if it is off."""
        extension = crawler.get_extension(cls)
        if extension is None:
            raise NotConfigured
        return extension

    def spider_opened(self) -> None:
        with self.journal.fails_open("start", "the extraction workers"):
            self.workers.start()

    async def spider_closed(self) -> None:
        self.settler.close()
        if not await run_bounded(self._close, _CLOSE_TIMEOUT):
            self.journal.failed("close", f"not done after {_CLOSE_TIMEOUT:.0f} seconds", trace=False)
        self.journal.close()

    async def extract(self, page: Page) -> Extraction | str:
        """Have a worker extract and fingerprint *page*; a stat if it was not its site's turn, or got no answer."""
        async with self._pace.place(site_key(page.url)) as place:
            if place is None:
                return "skipped/slow_site"
            future = self.workers.submit(page)
            if await wait_done(future.add_done_callback, _GRACE + 3 * self.config.extract_timeout):
                extraction = future.result()
                place.seconds, place.late = extraction.seconds, extraction.reason == "timeout"
                return extraction
            future.cancel()
            return "error/extract/stuck"

    def policy_for(self, request: Request) -> Policy:
        """Return the policy of the request's meta, or of the settings."""
        value = request.meta.get("neardup")
        if value is None or value is True:
            return self.config.policy
        if value in POLICIES:
            return value  # type: ignore[no-any-return]
        choices = ", ".join(map(repr, POLICIES))
        self.journal.failed(
            "meta", f"meta 'neardup' of {request} is {value!r}: set it to False, {choices}.", trace=False
        )
        return self.config.policy

    def scope_for(self, url: str, request: Request | None = None) -> str:
        """Return the scope of the request's meta, or of the settings."""
        value = request.meta.get("neardup_scope") if request is not None else None
        if value is not None:
            return str(value)
        assert self.crawler.spider is not None
        return str(self.config.scope(url, self.crawler.spider))

    def reserve(
        self, signature: Signature, url: str, scope: str, prefix: str = "", *, has_items: bool = False
    ) -> Verdict | None:
        """Judge a document and hold its reservation; None if the index failed."""
        verdict = None
        with self.journal.fails_open("reserve", url):
            verdict = self.detector.reserve(signature, url, scope=scope, has_items=has_items)
            if verdict.reservation is not None:
                self.settler.hold(verdict.reservation, prefix)
        return verdict

    async def settled(
        self,
        verdict: Verdict | None,
        signature: Signature,
        url: str,
        scope: str,
        prefix: str = "",
        *,
        has_items: bool = False,
    ) -> Verdict | None:
        """Return *verdict* once what it matches is settled, or the one that follows; None if that fails or lasts."""
        deadline = time.monotonic() + PENDING_TIMEOUT
        while verdict is not None and verdict.is_duplicate and verdict.pending is not None:
            pending = verdict.pending
            if not await wait_done(pending.add_done_callback, deadline - time.monotonic()):
                self.journal.failed(
                    "item_pending_timeout" if prefix else "pending_timeout",
                    f"{url} waited {PENDING_TIMEOUT:.0f} seconds for {pending.url} to be stored",
                    trace=False,
                )
                return None
            verdict = self.reserve(signature, url, scope, prefix, has_items=has_items)
        return verdict

    def _close(self) -> None:
        with self.journal.fails_open("close", "the extraction workers"):
            self.workers.close()
        with self.journal.fails_open("flush", "the last fingerprints"):
            self.detector.flush()
        with self.journal.fails_open("gauges", "the stats of the index"):
            for name, value in self.detector.gauges().items():
                self.crawler.stats.set_value(f"neardup/index/{name}", value)
        with self.journal.fails_open("close", "the index"):
            self.detector.close()
