"""Reads responses and requests: whether a page is examined, under which URL, and if an item comes along."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.request import RequestFingerprinterProtocol
from w3lib.url import safe_url_string

from scrapy_neardup.extraction.decoding import is_html_type
from scrapy_neardup.matching.items import fields_of

from .settings import CrawlOptions, rule_for

#: How many hexadecimal digits of a request's fingerprint are part of its page's URL.
_DIGITS = 16
#: Prefixes of the meta keys of Scrapy and of plugins for it, whose values are not the user's items.
_OF_COMPONENTS = (
    "_", "allow_offsite", "autothrottle_", "bindaddress", "cookiejar", "crawlera", "depth", "dont_",
    "download_", "ftp_", "give_up", "handle_httpstatus_", "http_", "impersonate", "inject",
    "is_start_request", "link_text", "max_retry", "neardup", "playwright", "proxy", "redirect_",
    "referrer_policy", "retry_", "rule", "selenium", "splash", "verbatim_url", "zyte_api",
)  # fmt: skip
#: How many elements of a list are looked at.
_MOST = 100
#: A URL that `safe_url_string` and `urljoin` leave as it is, which takes them 60 µs.
_PLAIN = re.compile(r"https?://[a-z0-9.-]+(?::[1-9]\d*)?/[\w/.~-]*(?:\?[\w.~=&-]+)?", re.ASCII)


def is_for_spider(request: Request) -> bool:
    """Whether the response goes to a callback; it does not for robots.txt and for media pipelines."""
    return request.callback is not NO_CALLBACK


def is_html(response: Response) -> bool:
    """Whether a response is an HTML page: by its class, or else by its header; none that is compressed."""
    if isinstance(response, HtmlResponse):
        return True
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    return is_html_type(content_type) and not response.headers.get("Content-Encoding")


def skip_reason(request: Request, response: Response, config: CrawlOptions) -> str | None:
    """Return the stat of a page that is not examined."""
    if request.meta.get("neardup") is False:
        return "skipped/meta"
    if not 200 <= response.status < 300:
        return "skipped/status"
    if not is_html(response):
        return "skipped/not_html"
    if not response.body:
        return "skipped/empty"
    if len(response.body) > config.max_body_size:
        return "skipped/too_large"
    try:
        rule = rule_for(response.url, config.rules) if request.meta.get("neardup") is None else None
    except TimeoutError:
        return "error/rules"
    return "skipped/rule" if rule is not None and rule.policy is False else None


def page_url(response: Response, request: Request, fingerprinter: RequestFingerprinterProtocol | None) -> str:
    """Return the URL of a page. What was sent with a body or by POST takes the place of its fragment."""
    url = response.url.partition("#")[0]
    if fingerprinter is not None and (request.body or request.method not in ("GET", "HEAD")):
        url += f"#{request.method}-{fingerprinter.fingerprint(request).hex()[:_DIGITS]}"
    return url


def browser_page(request: Request) -> Any:
    """Return the browser page that nobody closes if the callback of *request* is not called; else None."""
    if request.errback is not None or not request.meta.get("playwright_include_page"):
        return None
    return request.meta.get("playwright_page")


def carries_item(request: Request) -> bool:
    """Whether *request* carries a dict, item, item loader, or list of these, in meta or in arguments."""
    carried = [*request.cb_kwargs.values()]
    carried += [value for key, value in request.meta.items() if not str(key).startswith(_OF_COMPONENTS)]
    lists = (each[:_MOST] if isinstance(each, (list, tuple)) else [each] for each in carried)
    return any(_is_item(each) for some in lists for each in some)


def _is_item(value: Any) -> bool:
    if isinstance(value, (str, bytes, int, float)):
        return False
    from itemloaders import ItemLoader  # which imports much

    return fields_of(value) is not None or isinstance(value, ItemLoader)


def declared_canonical(page: str, reference: str) -> str | None:
    """Return the URL, without its fragment, of what the page at a URL declares as canonical."""
    if _PLAIN.fullmatch(reference):
        return reference
    try:
        url = safe_url_string(urljoin(page, reference)).partition("#")[0] if reference else ""
    except ValueError:  # such as an unclosed bracket
        return None
    return url if url.startswith(("http://", "https://")) else None


def asks_again(request: Request, first: Request) -> bool:
    """Tell whether *request* asks for what *first* has asked for, before redirects or after."""
    if not (request.dont_filter or first.dont_filter):  # Scrapy does not send it
        return False
    url = request.url.partition("#")[0]
    asked = [each.partition("#")[0] for each in (first.url, *first.meta.get("redirect_urls", ()))]
    if url in asked[1:]:  # by a method that may be another one since
        return True
    return url == asked[0] and (request.method, request.body) == (first.method, first.body)
