"""What is called in the place of a callback, to see what becomes of it."""

from __future__ import annotations

import inspect
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import warn_on_generator_with_return_value
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from scrapy import Spider
    from scrapy.http import Response

    from .duplicates import NearDuplicatePage
    from .page_state import Visit


class StandIn:
    """Stands in for the callback and the errback of a page whose place in the index hangs on its output.

    Only who is called instead of a callback knows that it was called, and that its output came to an end: other
    spider middlewares may keep the page from it, call the errback, or handle what it raises. The visit is told.
    And a callback can wait, which ``process_spider_input`` cannot: *before*, if given, is awaited first. If it
    returns an exception, the errback gets that instead of the callback the page.
    """

    def __init__(
        self,
        response: Response,
        request: Request,
        visit: Visit,
        spider: Spider,
        before: Callable[[], Awaitable[NearDuplicatePage | None]] | None,
    ) -> None:
        self.response = response
        self.request = request
        self.visit = visit
        self.spider = spider
        self.before = before
        self.replaced = (request.callback, request.errback)
        self.callback: Callable[..., Any] = request.callback or spider._parse
        update_wrapper(self, self.callback)
        request.callback, request.errback = self, self.errback

    def __call__(self, response: Response, **kwargs: Any) -> Any:
        self._step_aside()
        if response is not self.response:  # of a copy of the request that was made in spite of it
            return self.callback(response, **kwargs)
        warn_on_generator_with_return_value(self.spider, self.callback)  # Scrapy has looked at this one
        if self.before is None:
            return self._watch(self.callback(response, **kwargs))
        return self._late(self.before, kwargs)

    def errback(self, failure: Failure) -> Any:
        """Call the errback, if there is one: something has kept the page from its callback."""
        self._step_aside()
        errback = self.replaced[1]
        return failure if errback is None else errback(failure)

    def _step_aside(self) -> None:
        """First of all, so that nobody copies or pickles the request as it is now."""
        self.request.callback, self.request.errback = self.replaced

    async def _late(
        self, before: Callable[[], Awaitable[NearDuplicatePage | None]], kwargs: dict[str, Any]
    ) -> AsyncIterator[Any]:
        refusal = await before()
        output = self.callback(self.response, **kwargs) if refusal is None else self._refuse(refusal)
        # As Scrapy does with the output of any callback.
        result = await ensure_awaitable(iterate_spider_output(output))
        async for each in self._each_async(as_async_generator(result)):
            yield each

    def _refuse(self, error: NearDuplicatePage) -> Any:
        errback = self.replaced[1]
        if errback is None:
            raise error
        failure = Failure(error)  # type: ignore[no-untyped-call]
        failure.request = self.request  # type: ignore[attr-defined]
        output = errback(failure)
        if isinstance(output, Failure):
            output.raiseException()
        return output

    def _watch(self, output: Any) -> Any:
        """Return what iterates over *output*, in the same way: asynchronously only if it was before."""
        if inspect.iscoroutine(output):
            return self._result(output)
        iterable = iterate_spider_output(output)
        if isinstance(iterable, Deferred):
            return iterable.addCallback(self._watch)
        return self._each_async(iterable) if inspect.isasyncgen(iterable) else self._each(iterable)

    async def _result(self, output: Awaitable[Any]) -> Any:
        return self._watch(await output)

    def _each(self, output: Iterable[Any]) -> Iterator[Any]:
        for each in output:
            self._count(each)
            yield each
        self.visit.completed = True

    async def _each_async(self, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for each in output:
            self._count(each)
            yield each
        self.visit.completed = True

    def _count(self, output: Any) -> None:
        if output is not None and not isinstance(output, Request):
            self.visit.made += 1
