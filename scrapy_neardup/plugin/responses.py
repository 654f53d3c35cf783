"""Which responses are pages that are examined, under which URL, and what came along with their requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.extraction.decoding import is_html_type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.utils.request import RequestFingerprinterProtocol

    from .settings import CrawlOptions

#: How many hexadecimal digits of a request's fingerprint are part of its page's URL.
_DIGITS = 16
#: How the keys of meta begin that Scrapy and plugins for it use: their values are no items of the user's.
_OF_COMPONENTS = (
    "_", "allow_offsite", "autothrottle_", "bindaddress", "cookiejar", "crawlera", "depth", "dont_",
    "download_", "ftp_", "give_up", "handle_httpstatus_", "http_", "impersonate", "inject",
    "is_start_request", "link_text", "max_retry", "neardup", "playwright", "proxy", "redirect_",
    "referrer_policy", "retry_", "rule", "selenium", "splash", "verbatim_url", "zyte_api",
)  # fmt: skip
#: How many elements of a list are looked at.
_MOST = 100


def is_for_spider(request: Request) -> bool:
    """Whether the response goes to a callback; it does not for robots.txt and for media pipelines."""
    return request.callback is not NO_CALLBACK


def is_html(response: Response) -> bool:
    """Whether a response is an HTML page: by its class, or else by its header ``Content-Type``.

    Components that bring pages in another way, such as scrapy-splash, have classes of their own for all that
    they bring. A response that is still compressed is none: its body is no text.
    """
    if isinstance(response, HtmlResponse):
        return True
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    return is_html_type(content_type) and not response.headers.get("Content-Encoding")


def skip_reason(request: Request, response: Response, config: CrawlOptions) -> str | None:
    """Return why the page is not examined, in the word of the stat ``neardup/skipped/…``; None if it is.

    Raises TimeoutError if the rules take too long for the page's URL.
    """
    if request.meta.get("neardup") is False:
        return "meta"
    if not 200 <= response.status < 300:
        return "status"
    if not is_html(response):
        return "not_html"
    if not response.body:
        return "empty"
    if len(response.body) > config.max_body_size:
        return "too_large"
    if request.meta.get("neardup") is None:
        rule = config.rules.find(response.url)
        if rule is not None and rule.policy is False:
            return "rule"
    return None


def page_url(
    response: Response,
    request: Request,
    fingerprinter: RequestFingerprinterProtocol,
    *,
    keep_fragments: bool,
) -> str:
    """Return the URL of a page, without its fragment.

    Pages that were requested with a body, or by another method than GET, may differ under one URL. For these
    the fingerprint of the request takes the place of the fragment.

    With *keep_fragments* the fragment stays. If Scrapy has left it out of the URL of the response, the
    fragment of the request is taken.
    """
    url, _, fragment = response.url.partition("#")
    if request.body or request.method not in ("GET", "HEAD"):
        return f"{url}#{request.method}-{fingerprinter.fingerprint(request).hex()[:_DIGITS]}"
    if not keep_fragments:
        return url
    fragment = fragment or request.url.partition("#")[2]
    return f"{url}#{fragment}" if fragment else url


def browser_page(request: Request) -> Any:
    """Return the browser page that nobody closes if the callback of *request* is not called; else None.

    The errback closes the page of a request that has one.
    """
    if request.errback is not None or not request.meta.get("playwright_include_page"):
        return None
    return request.meta.get("playwright_page")


async def close_browser_page(page: Any, timeout_seconds: float) -> None:
    """Close the browser page. A page left open would count for ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` for ever.

    Raises TimeoutError after *timeout_seconds*: a browser that hangs must not keep the crawl from ending.
    """
    await asyncio.wait_for(page.close(), timeout_seconds)


def carries_item(request: Request, arguments: Collection[str] | None = None) -> bool:
    """Whether *request* carries an object that can be an item: a dict, an item loader, or a list of these.

    *arguments* names the values of ``cb_kwargs`` that count; all do if it is None.
    """
    return any(_is_item(value) for value in _of_user(request, arguments))


def carries_value(request: Request, arguments: Collection[str] | None = None) -> bool:
    """Whether *request* carries a value that may be meant for an item, such as its name."""
    return any(value not in (None, "", True, False) for value in _of_user(request, arguments))


def _of_user(request: Request, arguments: Collection[str] | None) -> Iterator[Any]:
    for name, value in request.cb_kwargs.items():
        if arguments is None or name in arguments:
            yield value
    for key, value in request.meta.items():
        if not str(key).startswith(_OF_COMPONENTS):
            yield value


def _is_item(value: Any) -> bool:
    elements = value[:_MOST] if isinstance(value, (list, tuple)) else [value]
    return any(ItemAdapter.is_item(each) or isinstance(each, ItemLoader) for each in elements)
