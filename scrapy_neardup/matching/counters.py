"""What a crawl learns by counting where it meets texts: walls, and what a site shows on every page."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection

from .sites import site_key, split_url

#: A text of at most so many tokens that is met on more than so many sites besides the first is a wall, and so
#: is one that a single site has under more than so many page names besides the first.
LONGEST_ON_SITES, SITES, NAMES = 100, 5, 3
#: Up to this length a text is a wall, too, if a single site has it under more than so many page names.
LONGEST_OF_A_SITE, NAMES_OF_LONGER = 250, 10
#: What pages of one site under more titles than this have in common is boilerplate, see `TitleCounter`.
TITLES = 2
#: How many texts, and how many runs of words of a site, are counted at a time: those that were met last.
FOLLOWED, RUNS = 1 << 12, 1 << 15


class SiteCounter:
    """Remembers on which sites, and under which page names, this process has met a text: many make a wall."""

    def __init__(self) -> None:
        self._met: OrderedDict[str, dict[int, frozenset[int]]] = OrderedDict()
        self._lock = threading.Lock()

    def meets(self, url: str, copy: str, tokens: int, *, count: bool = True) -> bool:
        """Tell whether the text of *url*, of so many *tokens*, is a wall, now that *copy* has it, too."""
        if tokens > LONGEST_OF_A_SITE:
            return False
        short = tokens <= LONGEST_ON_SITES
        most = NAMES if short else NAMES_OF_LONGER
        site, name = site_key(copy), hash(page_name(copy))
        with self._lock:
            met = self._met.get(url) or {site_key(url): frozenset([hash(page_name(url))])}
            names = met.get(site, frozenset()) | {name}
            after = met | {site: names}
            if count:
                # Once a limit is passed, more names and sites need not be kept.
                self._met[url] = after if len(names) <= most + 1 and len(after) <= SITES + 1 else met
                self._met.move_to_end(url)
                if len(self._met) > FOLLOWED:
                    self._met.popitem(last=False)
        return (short and len(after) > SITES) or max(map(len, after.values())) > most


def page_name(url: str) -> str:
    """Return the last part of the path of *url*, without its ending: the URLs of a page are alike in it."""
    return split_url(url).path.rstrip("/").rpartition("/")[2].partition(";")[0].partition(".")[0].lower()


class TitleCounter:
    """Remembers under which titles a site has brought texts that other sites have, by the runs of words.

    Pages of two sites are copies whatever their titles say, so one with the terms of a shop would take each
    of its pages for a copy. But what a site has under several titles is what none of its pages is about.
    """

    def __init__(self) -> None:
        self._met: OrderedDict[tuple[int, int], tuple[bytes, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def is_boilerplate(self, site: int, runs: Collection[int], title: bytes, shared: int) -> bool:
        """Tell whether what a page shares with one of another site is boilerplate of its own *site*.

        It is if pages of `TITLES` other titles than *title* had a third of the *runs* each, or if most of the
        *shared* runs were met under so many titles of the site.
        """
        if not any(title):
            return False
        met = [{*self._met.get((site, run), ())} - {title} for run in runs]
        titles = Counter(other for others in met for other in others)
        alike = sum(3 * count >= len(met) for count in titles.values())
        everywhere = sum(len(others) >= TITLES for others in met)
        return alike >= TITLES or 3 * everywhere >= 2 * max(shared, 1)

    def meets(self, site: int, runs: Collection[int], title: bytes) -> None:
        """Note that a page of *site* with *title* was taken for a copy of one of another site."""
        if not any(title):
            return
        with self._lock:
            for run in runs:
                others = (each for each in self._met.get((site, run), ()) if each != title)
                self._met[site, run] = (title, *others)[: 4 * TITLES]
                self._met.move_to_end((site, run))
            while len(self._met) > RUNS:
                self._met.popitem(last=False)
