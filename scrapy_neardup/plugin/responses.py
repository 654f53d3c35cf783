"""What a response and its request say: is it a page to examine, under which URL, and what came along."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from w3lib.url import safe_url_string

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
#: Bytes of a page in which the link is looked for.
_HEAD = 1 << 17
#: Bytes of all Link headers together in which it is looked for: a page may come with hundreds of long ones.
_HEADERS = 1 << 14
_END = re.compile(rb"</head|<body", re.IGNORECASE)
_LINK = re.compile(rb"<link\s([^<>]{1,2500})>", re.IGNORECASE)
_REL, _HREF = (
    re.compile(rf"""\b{name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>;]+))""", re.IGNORECASE)
    for name in ("rel", "href")
)
_HEADER = re.compile(r"""<([^<>]{1,2500})>([^<>,]{0,200})""")


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

    The errback closes the page of a request that has one. A page that is left open would count for
    ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` for ever.
    """
    if request.errback is not None or not request.meta.get("playwright_include_page"):
        return None
    return request.meta.get("playwright_page")


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


def declared_canonical(response: Response) -> str | None:
    """Return the canonical URL that a page declares in a link header or element, without its fragment."""
    header = b",".join(response.headers.getlist("Link"))[:_HEADERS].decode("latin-1")
    for target, parameters in _HEADER.findall(header):
        if "canonical" in _value(_REL, parameters).lower().split():
            return _absolute(response.url, target)
    # A link in the body may come from what readers have written.
    head = _END.split(response.body[:_HEAD], maxsplit=1)[0]
    for found in _LINK.finditer(head):
        tag = found[1].decode("utf-8", "replace")
        if "canonical" in _value(_REL, tag).lower().split():
            return _absolute(response.url, unescape(_value(_HREF, tag)))
    return None


def _value(attribute: re.Pattern[str], tag: str) -> str:
    found = attribute.search(tag)
    return next(filter(None, found.groups()), "") if found else ""


def _absolute(base: str, target: str) -> str | None:
    try:
        url = safe_url_string(urljoin(base, target.strip())).partition("#")[0]
    except ValueError:  # such as an unclosed bracket
        return None
    return url if target and url.startswith(("http://", "https://")) else None


def asks_again(request: Request, first: Request) -> bool:
    """Tell whether *request* asks for what *first* has asked for, before redirects or after, by any headers.

    Scrapy sends it if one of the two is not filtered: those of ``start`` are not, and not noted either.
    """
    if not (request.dont_filter or first.dont_filter):
        return False
    url = request.url.partition("#")[0]
    asked = [each.partition("#")[0] for each in (first.url, *first.meta.get("redirect_urls", ()))]
    if url in asked[1:]:  # by a method that may be another one since
        return True
    return url == asked[0] and (request.method, request.body) == (first.method, first.body)
