"""Ends the crawl of a site where all that comes is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.matching.sites import site_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_neardup.verdict import Verdict

#: Why the crawl ends, as Scrapy's stat ``finish_reason`` says it.
REASON = "neardup_closespider_pagecount_no_new"
#: Key of the meta of requests with the site of the start request that has led to them.
ORIGIN_KEY = "neardup_origin"
#: Sites whose pages are counted.
MOST_SITES = 10_000
_SEEN = ("exact", "near", "revisit")
_NEW = ("unique", "fuller", "preferred", "template")


class NoNewPages:
    """Counts, for each site, its pages in a row that were no new ones. After so many the site is at its end.

    Pages that are too short to judge, and walls, count neither way. Nor do pages to which the links of another site
    have led, directly or not: by linking to old stories a site could end the crawl of their site. Links on the pages
    of a site that is at its end are followed to other sites only.
    """

    def __init__(self, pages: int, most_sites: int = MOST_SITES) -> None:
        #: 0: no site ever comes to its end.
        self.pages = pages
        self._most_sites = most_sites
        self._rows: dict[int, int] = {}
        self._ended: set[int] = set()

    def judged(self, url: str, origin: int, verdict: Verdict) -> bool:
        """Note the verdict on a page that is there because of the site *origin*; return whether its site ends now."""
        site = site_key(url)
        if not self.pages or site != origin or site in self._ended or verdict.kind not in (*_SEEN, *_NEW):
            return False
        if site not in self._rows and len(self._rows) >= self._most_sites:
            return False
        self._rows[site] = self._rows.get(site, 0) + 1 if verdict.kind in _SEEN else 0
        if self._rows[site] < self.pages:
            return False
        self._ended.add(site)
        return True

    def has_ended(self, url: str) -> bool:
        """Whether the site of *url* is at its end."""
        return bool(self._ended) and site_key(url) in self._ended

    @property
    def any_has_ended(self) -> bool:
        """Whether any site is at its end."""
        return bool(self._ended)


def origin_of(response: Response) -> int:
    """Return the site of the start request that has led to a page."""
    origin = response.meta.get(ORIGIN_KEY)
    if isinstance(origin, int):
        return origin
    return site_key([*response.meta.get("redirect_urls", ()), response.url][0])


def pass_origin(response: Response, request: Request) -> None:
    """Note at a request of a page's callback what has led to the page."""
    request.meta[ORIGIN_KEY] = origin_of(response)
