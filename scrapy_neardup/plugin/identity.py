"""Which page a response is: the URL that it is filed under."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.utils.request import RequestFingerprinterProtocol

#: Hexadecimal digits of a request's fingerprint that tell it from others to the same URL.
_DIGITS = 16


def page_url(
    response: Response,
    request: Request,
    fingerprinter: RequestFingerprinterProtocol,
    *,
    keep_fragments: bool = False,
) -> str:
    """Return the URL of a page, without its fragment.

    What a request with a body or of another method than GET has brought is told apart by the request's fingerprint:
    it takes the place of the fragment. With *keep_fragments* the fragment stays. Scrapy's download handlers leave it
    out of the URL of the response, so that it may have to come from the request.
    """
    url, _, fragment = response.url.partition("#")
    if request.body or request.method not in ("GET", "HEAD"):
        return f"{url}#{request.method}-{fingerprinter.fingerprint(request).hex()[:_DIGITS]}"
    if not keep_fragments:
        return url
    fragment = fragment or request.url.partition("#")[2]
    return f"{url}#{fragment}" if fragment else url
