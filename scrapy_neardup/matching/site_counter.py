"""Under how many URLs a short text was met: the mark of a wall that says nothing which walls are known to say."""

from __future__ import annotations

import threading
from collections import OrderedDict
from urllib.parse import urlsplit

from .sites import site_key

#: A text of so many tokens at most, on so many sites besides the first, is a wall.
LONGEST = 100
SITES = 5
#: So is one that a single site has under so many names besides the first; of a longer text, up to that length, more.
NAMES = 3
LONGEST_OF_A_SITE = 250
NAMES_OF_LONGER = 10
#: Texts that are followed at a time, those met last.
FOLLOWED = 4096


def page_name(url: str) -> str:
    """Return what *url* calls its page: the last part of its path, without ending and parameters.

    One page is under many URLs: in several sections, with parameters for tracking or printing. They all end alike.
    """
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    return path.rstrip("/").rpartition("/")[2].partition(";")[0].partition(".")[0].lower()


class SiteCounter:
    """The sites on which the copies of a stored document were met, and their names there, in this process."""

    def __init__(self, followed: int = FOLLOWED) -> None:
        self._followed = followed
        self._met: OrderedDict[str, dict[int, frozenset[int]]] = OrderedDict()
        self._lock = threading.Lock()

    def meets(self, url: str, copy: str, tokens: int, *, count: bool = True) -> bool:
        """Tell whether the text stored under *url*, of so many *tokens*, is a wall, now that it is met under *copy*.

        Unless *count* is off, this is taken note of.
        """
        if tokens > LONGEST_OF_A_SITE:
            return False
        short = tokens <= LONGEST
        most = NAMES if short else NAMES_OF_LONGER
        met = self._met.get(url) or {site_key(url): frozenset([hash(page_name(url))])}
        site = site_key(copy)
        names = met.get(site, frozenset()) | {hash(page_name(copy))}
        after = met | {site: names}
        if count:
            # What is beyond the limits tells no more.
            with self._lock:
                self._met[url] = after if len(names) <= most + 1 and len(after) <= SITES + 1 else met
                self._met.move_to_end(url)
                if len(self._met) > self._followed:
                    self._met.popitem(last=False)
        return (short and len(after) > SITES) or max(map(len, after.values())) > most
