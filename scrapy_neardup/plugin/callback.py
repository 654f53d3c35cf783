"""The object that takes the place of a page's callback and errback, to see what becomes of the page."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
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

    from .outcome import NearDuplicatePage

    #: A coroutine function that is awaited before the callback. If it returns an exception, the errback is
    #: called with the exception, and the callback is not called.
    BeforeCallback = Callable[[], Awaitable[NearDuplicatePage | None]]


@dataclass
class Called:
    """What is seen of a page's callback."""

    #: Whether it has come to its end.
    ended: bool = False
    #: How many items it has yielded.
    items: int = 0
    #: Whether the page was asked for again, as it is in place of one that was blocked.
    asked_again: bool = False


class WatchedCallback:
    """Calls the callback of a page, and notes what it yields and whether it ends.

    A spider middleware cannot see this by itself. Other middlewares may keep the page from its callback, call
    the errback, swallow what the callback raises, or filter its items.

    It can also make the callback wait, which ``process_spider_input`` cannot do: *before*, if given, is
    awaited first. A page that has to wait is a duplicate of a page in progress, or has handlers of the signal
    ``page_duplicate`` that are coroutines.
    """

    def __init__(
        self,
        response: Response,
        request: Request,
        called: Called,
        spider: Spider,
        before: BeforeCallback | None,
    ) -> None:
        callback: Callable[..., Any] = request.callback or spider._parse
        update_wrapper(self, callback)  # first, as it copies the attributes of the callback
        self._callback = callback
        self._response = response
        self._request = request
        self._called = called
        self._spider = spider
        self._before = before
        self._replaced = (request.callback, request.errback)

    def __repr__(self) -> str:
        """Return what Scrapy's warnings are to name: the callback of the spider."""
        return repr(self._callback)

    def install(self) -> None:
        """Take the place of the request's callback and errback, until one of them is called."""
        self._request.callback, self._request.errback = self, self.errback

    def __call__(self, response: Response, **kwargs: Any) -> Any:
        """Call the callback with *response* and the request's ``cb_kwargs``; return its output, watched."""
        self._uninstall()
        if response is not self._response:  # somebody copied the request while this object was installed
            return self._callback(response, **kwargs)
        # Scrapy warns of such callbacks, but has looked at this object instead.
        warn_on_generator_with_return_value(self._spider, self._callback)
        if self._before is None:
            return self._watch(self._callback(response, **kwargs))
        return self._call_after(self._before, kwargs)

    def errback(self, failure: Failure) -> Any:
        """Call the request's errback, if there is one: something has kept the page from its callback."""
        self._uninstall()
        errback = self._replaced[1]
        return failure if errback is None else errback(failure)

    def _uninstall(self) -> None:
        """Give the request its callback and errback back, before anybody can copy or pickle the request."""
        self._request.callback, self._request.errback = self._replaced

    async def _call_after(self, before: BeforeCallback, kwargs: dict[str, Any]) -> AsyncIterator[Any]:
        refusal = await before()
        output = self._callback(self._response, **kwargs) if refusal is None else self._refuse(refusal)
        # Scrapy does the same with the output of any callback.
        result = await ensure_awaitable(iterate_spider_output(output))
        async for each in self._each_async(as_async_generator(result)):
            yield each

    def _refuse(self, error: NearDuplicatePage) -> Any:
        """Call the request's errback with *error* and return its output; raise *error* without an errback."""
        errback = self._replaced[1]
        if errback is None:
            raise error
        failure = Failure(error)  # type: ignore[no-untyped-call]
        failure.request = self._request  # type: ignore[attr-defined]
        output = errback(failure)
        if isinstance(output, Failure):
            output.raiseException()
        return output

    def _watch(self, output: Any) -> Any:
        """Return an iterable of what *output* yields: asynchronous only if *output* is."""
        if inspect.iscoroutine(output):
            return self._watch_result(output)
        iterable = iterate_spider_output(output)
        if isinstance(iterable, Deferred):
            return iterable.addCallback(self._watch)
        return self._each_async(iterable) if inspect.isasyncgen(iterable) else self._each(iterable)

    async def _watch_result(self, output: Awaitable[Any]) -> Any:
        return self._watch(await output)

    def _each(self, output: Iterable[Any]) -> Iterator[Any]:
        for each in output:
            self._count(each)
            yield each
        self._called.ended = True

    async def _each_async(self, output: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for each in output:
            self._count(each)
            yield each
        self._called.ended = True

    def _count(self, output: Any) -> None:
        if isinstance(output, Request):
            self._called.asked_again |= asks_again(output, self._request)
        elif output is not None:
            self._called.items += 1


def asks_again(request: Request, first: Request) -> bool:
    """Tell whether *request* asks for what *first* has asked for, before redirects or after, by any headers.

    Scrapy sends it if one of the two is not filtered: those of ``start`` are not, and not noted either.
    """
    if not (request.dont_filter or first.dont_filter):
        return False
    url = _bare(request.url)
    if url in map(_bare, first.meta.get("redirect_urls", ())):  # by a method that may be another one since
        return True
    return url == _bare(first.url) and (request.method, request.body) == (first.method, first.body)


def _bare(url: str) -> str:
    return url.partition("#")[0]
