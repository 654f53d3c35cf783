"""Counts under how many titles a site repeats a page of another site: a text of many is the site's own."""

from __future__ import annotations

import threading
from collections import OrderedDict

from .sites import UNKNOWN, site_key

#: What pages of one site with more titles than that have in common with a page of another site is the site's.
TITLES = 3
#: Stored pages and sites that repeat them, so many pairs are counted at a time: those that were met last.
FOLLOWED = 1 << 14


class TitleCounter:
    """Remembers under which titles each site has brought copies of a stored page of another site.

    Pages of two sites are copies whatever their titles say. So a page that holds what all pages of a shop
    share, such as its terms, would have each of them taken for a copy, if it is crawled before them. Titles
    are given as the filters of their words. Those of short lines take their place where a document, such as
    an item, has none.
    """

    def __init__(self, followed: int = FOLLOWED) -> None:
        self._followed = followed
        self._met: OrderedDict[tuple[str, int], frozenset[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def is_of_the_site(self, url: str, copy: str, title: bytes) -> bool:
        """Tell whether what the page at *copy* shares with the one stored under *url* is its own site's.

        It is if pages with `TITLES` other titles than *title* have it there.
        """
        others = self._met.get((url, site_key(copy)), frozenset()) - {title}
        return any(title) and len(others) >= TITLES

    def meets(self, url: str, copy: str, title: bytes) -> None:
        """Note that the page at *copy*, with *title*, was taken for a copy of the one stored under *url*."""
        site = site_key(copy)
        if not any(title) or UNKNOWN in (sites := {site, site_key(url)}) or len(sites) == 1:
            return
        with self._lock:
            titles = self._met.get((url, site), frozenset())
            self._met[url, site] = titles | {title} if len(titles) <= TITLES else titles
            self._met.move_to_end((url, site))
            if len(self._met) > self._followed:
                self._met.popitem(last=False)
