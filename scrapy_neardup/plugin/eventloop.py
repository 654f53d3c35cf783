"""Waiting that works with the asyncio reactor, with another reactor, and with none."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, DeferredLock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    from scrapy_neardup.extraction.turns import Turns


class Pace:
    """Has pages be extracted in *turns*, and what is done go on in different turns of the event loop.

    Where the crawl's own process is slower than the workers, all pages in flight would else be done while it is busy
    with one, then handled in one turn of the loop, during which everything else waits.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._loop = DeferredLock()

    @asynccontextmanager
    async def place(self, site: Hashable) -> AsyncIterator[Place | None]:
        """Wait for the turn of a page of *site*, None if it gets none; at the end, for a turn of the loop of its own."""
        decided: Deferred[bool] = Deferred()
        place = Place()
        turn = self._turns.ask(site, decided.callback)
        try:
            if not await maybe_deferred_to_future(decided):
                yield None
                return
            yield place
            await maybe_deferred_to_future(self._loop.acquire())
            call_later(0, self._loop.release)
        finally:
            self._turns.end(turn, place.seconds, late=place.late)


@dataclass(slots=True)
class Place:
    """What became of a page, to be filled in by who has it extracted."""

    #: For which it kept a worker busy.
    seconds: float = 0.0
    #: Whether it was over the time limit.
    late: bool = False


async def wait_done(subscribe: Callable[[Callable[[object], None]], object], timeout: float) -> bool:
    """Wait until the function given to *subscribe* is called, in any thread; False after *timeout* seconds.

    *subscribe* is the ``add_done_callback`` of a concurrent future or of a reservation.
    """
    done: Deferred[bool] = Deferred()

    def fire(result: bool) -> None:
        if not done.called:
            done.callback(result)

    call_in_loop = _threadsafe_call()

    def called(_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            call_in_loop(fire, True)

    timer = call_later(timeout, fire, False)
    try:
        subscribe(called)
        return await maybe_deferred_to_future(done)
    finally:
        timer.cancel()


async def run_bounded(function: Callable[[], None], timeout: float) -> bool:
    """Run *function*, which must not raise, in a thread of its own; False if it takes over *timeout* seconds."""
    finished: list[Callable[[object], None]] = []

    def run() -> None:
        try:
            function()
        finally:
            finished[0](None)

    def subscribe(callback: Callable[[object], None]) -> None:
        finished.append(callback)
        threading.Thread(target=run, name="neardup", daemon=True).start()

    return await wait_done(subscribe, timeout)


def _threadsafe_call() -> Callable[[Callable[[bool], None], bool], object]:
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    from twisted.internet import reactor

    return reactor.callFromThread  # type: ignore[no-any-return]
