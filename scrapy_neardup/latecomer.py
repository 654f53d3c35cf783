"""A page that repeats one whose own fate is still open."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from .exceptions import NearDuplicatePage
from .waiting import wait_done

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy import Request
    from scrapy.http import Response

    from .fingerprint.signature import Signature
    from .spidermiddleware import NearDupSpiderMiddleware
    from .verdict import Verdict
    from .visit import Visit

#: Seconds that a page waits for others before it passes unjudged.
PENDING_TIMEOUT = 60.0


class Latecomer:
    """Stands in for the callback of a page that matches a pending one.

    ``process_spider_input`` cannot wait, but a callback can. So this waits until the other page is settled, asks
    again, and only then calls the real callback, or under ``drop_page`` the errback. Of six equal pages in flight
    exactly one is unique; should its callback or its items fail, the next takes its place.
    """

    def __init__(
        self,
        middleware: NearDupSpiderMiddleware,
        response: Response,
        request: Request,
        visit: Visit,
        signature: Signature,
        verdict: Verdict,
    ) -> None:
        self.middleware = middleware
        self.extension = middleware.extension
        self.response = response
        self.request = request
        self.visit = visit
        self.signature = signature
        self.verdict: Verdict | None = verdict
        self.callback: Callable[..., Any] | None = request.callback

    def stand_in(self) -> None:
        """Take the place of the request's callback."""
        self.request.callback = self

    def __call__(self, response: Response, **kwargs: Any) -> Any:
        # First of all, so that nobody copies or pickles the request as it is now.
        self.request.callback = self.callback
        spider = self.extension.crawler.spider
        assert spider is not None
        callback = self.callback or spider._parse
        if response is not self.response:  # of a copy of the request that was made in spite of it
            return callback(response, **kwargs)
        return self._output(callback, kwargs)

    async def _output(self, callback: Callable[..., Any], kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        with self.extension.journal.fails_open("pending", self.response.url):
            await self._decide()
        if self.visit.match is not None and self.visit.policy == "drop_page":
            output = self._refuse(NearDuplicatePage(self.response, self.visit.match))
        else:
            output = callback(self.response, **kwargs)
        # As Scrapy does with the output of any callback.
        result = await ensure_awaitable(iterate_spider_output(output))
        async for each in as_async_generator(result):
            yield each

    async def _decide(self) -> None:
        journal = self.extension.journal
        journal.count("waited")
        deadline = time.monotonic() + PENDING_TIMEOUT
        while self.verdict is not None and self.verdict.is_duplicate and self.verdict.pending is not None:
            pending = self.verdict.pending
            if not await wait_done(pending.add_done_callback, deadline - time.monotonic()):
                journal.failed(
                    "pending_timeout",
                    f"{self.response.url} waited {PENDING_TIMEOUT:.0f} seconds for {pending.url} to be stored",
                    trace=False,
                )
                return
            self.verdict = self.extension.reserve(self.signature, self.response.url, self.visit.scope)
        if self.verdict is not None:
            self.middleware.judge(self.response, self.visit, self.verdict)

    def _refuse(self, error: NearDuplicatePage) -> Any:
        if self.request.errback is None:
            raise error
        failure = Failure(error)  # type: ignore[no-untyped-call]
        failure.request = self.request  # type: ignore[attr-defined]
        output = self.request.errback(failure)
        if isinstance(output, Failure):
            output.raiseException()
        return output
