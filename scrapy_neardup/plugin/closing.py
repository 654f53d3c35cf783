"""Tells when a crawl has come to where all is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_neardup.matching.sites import site_key

if TYPE_CHECKING:
    from scrapy_neardup.verdict import Verdict

#: Why the crawl ends, as Scrapy's stat ``finish_reason`` says it.
REASON = "neardup_closespider_pagecount_no_new"
_SEEN = ("exact", "near", "revisit")
_NEW = ("unique", "fuller", "preferred", "template")
#: Sites that are followed; a crawl that has met more does not end by this.
MOST_SITES = 10_000


class NoNewPages:
    """Counts the pages in a row that were no new ones, for each site by itself.

    The crawl may end when that many were met on each of its sites. So a site that shows nothing but copies can end no
    crawl of others. Pages that are too short to judge, and walls, count neither way.
    """

    def __init__(self, pages: int, most_sites: int = MOST_SITES) -> None:
        self._pages = pages
        self._most_sites = most_sites
        self._rows: dict[int, int] = {}
        #: Sites whose row is shorter.
        self._going_on: set[int] = set()

    def judged(self, url: str, verdict: Verdict) -> bool:
        """Note the verdict on a page; return whether the crawl may end now."""
        if not self._pages or verdict.kind not in (*_SEEN, *_NEW):
            return False
        site = site_key(url)
        if site not in self._rows and len(self._rows) >= self._most_sites:
            self._pages = 0
            return False
        self._rows[site] = self._rows.get(site, 0) + 1 if verdict.kind in _SEEN else 0
        if self._rows[site] < self._pages:
            self._going_on.add(site)
            return False
        self._going_on.discard(site)
        return not self._going_on
