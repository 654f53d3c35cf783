"""Waiting for other threads and processes, with the asyncio reactor of Twisted, another reactor, or none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar, cast

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


async def wait_done(subscribe: Callable[[Callable[[object], None]], object], timeout_seconds: float) -> bool:
    """Wait until something is done, without holding up the event loop; return False after *timeout_seconds*.

    *subscribe*, such as ``add_done_callback`` of a future, gets a function to call in any thread when it is.
    """
    done: Deferred[bool] = Deferred()

    def fire(result: bool) -> None:
        if not done.called:
            done.callback(result)

    if is_asyncio_available():
        call_in_loop: Callable[..., object] = asyncio.get_running_loop().call_soon_threadsafe
    else:
        from twisted.internet import reactor

        call_in_loop = reactor.callFromThread

    def called(_: object) -> None:
        with suppress(RuntimeError):  # the event loop is closed, so nobody waits any more
            call_in_loop(fire, True)

    timer = call_later(max(timeout_seconds, 0.0), fire, False)  # reactors refuse a time that has passed
    try:
        subscribe(called)
        return await result_of(done)
    finally:
        timer.cancel()


async def result_of(deferred: Deferred[T]) -> T:
    """Wait for the result of *deferred*. If it is there already, no turn of the event loop is taken."""
    if deferred.called and not isinstance(deferred.result, (Deferred, Failure)):
        return cast("T", deferred.result)
    return await maybe_deferred_to_future(deferred)


async def run_bounded(function: Callable[[], None], timeout_seconds: float) -> bool:
    """Run *function*, which must not raise, in a thread; return False after *timeout_seconds*."""
    done: Future[None] = Future()

    def run() -> None:
        function()
        done.set_result(None)

    try:
        threading.Thread(target=run, name="neardup", daemon=True).start()
    except RuntimeError:  # a limit allows no more threads
        run()
    return await wait_done(done.add_done_callback, timeout_seconds)
