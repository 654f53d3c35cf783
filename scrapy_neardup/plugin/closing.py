"""Ends the crawl of a site once only known pages come from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.matching.sites import site_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

#: Why the crawl ends, as Scrapy's stat ``finish_reason`` says it.
REASON = "neardup_closespider_pagecount_no_new"
#: Key of the meta of requests with the site that has led to them, from the start request on, or `SEVERAL`.
ORIGIN_KEY = "neardup_origin"
#: Stands there if pages of more than one site have led to the request.
SEVERAL = -1
#: How many sites are counted.
MOST_SITES = 10_000
_SEEN = ("exact", "near", "revisit")
_NEW = ("unique", "fuller", "preferred", "template", "items_differ")


class NoNewPages:
    """Counts the pages of each site that came in a row without a new one; after so many the site has ended.

    Pages that are too short to judge, walls and pages with the text of their site count neither way. Pages
    that links or redirects of another site have led to, directly or not, do not count either, nor do copies
    of pages of another site: else a site could end the crawl of another one by linking to its old stories, or
    by copying its new ones. Once a site has ended, no more of its pages are requested.
    """

    def __init__(self, pages: int, most_sites: int = MOST_SITES) -> None:
        #: Pages without a new one after which a site ends; 0: never.
        self.pages = pages
        self._most_sites = most_sites
        self._rows: dict[int, int] = {}
        self._ended: set[int] = set()

    def judged(self, url: str, origin: int, verdict: Verdict) -> bool:
        """Note the verdict on the page at *url*; return whether its site ends now.

        *origin* is the site that has led to the page, or `SEVERAL`.
        """
        site = site_key(url)
        if not self.pages or site != origin or site in self._ended or verdict.kind not in (*_SEEN, *_NEW):
            return False
        if verdict.kind in _SEEN and verdict.url is not None and site_key(verdict.url) != site:
            return False
        if site not in self._rows and len(self._rows) >= self._most_sites:
            return False
        self._rows[site] = self._rows.get(site, 0) + 1 if verdict.kind in _SEEN else 0
        if self._rows[site] < self.pages:
            return False
        self._ended.add(site)
        return True

    def has_ended(self, url: str) -> bool:
        """Whether the site of *url* has ended."""
        return bool(self._ended) and site_key(url) in self._ended

    @property
    def any_has_ended(self) -> bool:
        """Whether any site has ended."""
        return bool(self._ended)


def origin_of(response: Response) -> int:
    """Return the site that has led to a page, from the start request on; `SEVERAL` if more than one has.

    Every page and every redirect on the way counts, and so does the page itself.
    """
    sites = {site_key(url) for url in (*response.meta.get("redirect_urls", ()), response.url)}
    origin = response.meta.get(ORIGIN_KEY)
    if isinstance(origin, int):
        sites.add(origin)
    return sites.pop() if len(sites) == 1 else SEVERAL


def pass_origin(response: Response, request: Request) -> None:
    """Mark a request that the callback of a page yields with the site that has led to it."""
    request.meta[ORIGIN_KEY] = origin_of(response)
