"""Has pages extracted in worker processes, when it is their site's turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later
from twisted.internet.defer import Deferred, DeferredLock

from scrapy_neardup.extraction.fair_queue import FairQueue
from scrapy_neardup.matching.sites import site_key

from .eventloop import result_of, wait_through_stop

if TYPE_CHECKING:
    from scrapy_neardup.extraction import Extraction, Page, Workers

#: How many pages more than workers are handed out, so that a worker that is done has the next one at once.
_SPARE_PAGES = 1
#: A page has to be extracted within three time limits and this time: it may queue behind other pages.
GRACE_SECONDS = 5.0


class Extracting:
    """Lets pages be extracted when it is their site's turn, and go on one in each turn of the event loop.

    Where the crawl's own process is slower than the workers, all pages in flight would be extracted while the
    process is busy with one of them. Handled together in one turn of the event loop, they would hold up
    everything else. *timeout* is that of the workers, in seconds.
    """

    def __init__(self, workers: Workers, processes: int, timeout: float) -> None:
        self._workers = workers
        self._timeout = timeout
        self._turns = FairQueue(processes + _SPARE_PAGES, timeout)
        self._loop_lock = DeferredLock()

    async def extract(self, page: Page) -> Extraction | str:
        """Have a worker extract and fingerprint *page*.

        Returns the name of a stat if the page is not extracted: its site is too slow, or no worker has
        answered.
        """
        decided: Deferred[bool] = Deferred()
        turn = self._turns.ask(site_key(page.url), decided.callback)
        seconds, late = 0.0, False
        try:
            if not await result_of(decided):
                return "skipped/slow_site"
            future = self._workers.submit(page)
            if not await wait_through_stop(future.add_done_callback, GRACE_SECONDS + 3 * self._timeout):
                future.cancel()
                return "error/extract/stuck"
            extraction = future.result()
            seconds, late = extraction.seconds, extraction.reason == "timeout"
            await result_of(self._loop_lock.acquire())
            call_later(0, self._loop_lock.release)
            return extraction
        finally:
            self._turns.end(turn, seconds, late=late)
