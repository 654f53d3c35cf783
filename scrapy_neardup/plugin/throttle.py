"""The throttle: how many pages are extracted at once, and how fast the extracted ones go on to the spider."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later
from twisted.internet.defer import Deferred, DeferredLock

from .eventloop import result_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

    from scrapy_neardup.extraction.turns import Turns


@dataclass(slots=True)
class ExtractionCost:
    """What the extraction of one page has cost. Whoever has the page extracted fills this in."""

    #: Seconds for which the page has kept a worker busy.
    seconds: float = 0.0
    #: Whether the page was over the time limit.
    late: bool = False


class ExtractionThrottle:
    """Lets pages be extracted when it is their site's turn, and go on one in each turn of the event loop.

    Where the crawl's own process is slower than the workers, all pages in flight would be extracted while the
    process is busy with one of them. Handled together in one turn of the event loop, they would hold up
    everything else.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._loop_lock = DeferredLock()

    @asynccontextmanager
    async def turn(self, site: Hashable) -> AsyncIterator[ExtractionCost | None]:
        """Wait until a page of *site* may be extracted, and at the end for a turn of the event loop.

        Yields None if the site gets no turn, because its pages take too long: the page is not to be
        extracted.
        """
        decided: Deferred[bool] = Deferred()
        cost = ExtractionCost()
        turn = self._turns.ask(site, decided.callback)
        try:
            if not await result_of(decided):
                yield None
                return
            yield cost
            await result_of(self._loop_lock.acquire())
            call_later(0, self._loop_lock.release)
        finally:
            self._turns.end(turn, cost.seconds, late=cost.late)
