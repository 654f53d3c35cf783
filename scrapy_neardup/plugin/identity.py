"""Which page a response is: the URL that it is filed under."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.utils.request import RequestFingerprinterProtocol

#: How many hexadecimal digits of a request's fingerprint are part of its page's URL.
_DIGITS = 16


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
