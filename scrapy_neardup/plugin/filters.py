"""The page filters: which responses are examined at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_neardup.extraction.guards import is_html_type

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from .settings import CrawlOptions


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
