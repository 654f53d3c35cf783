"""Counts under how many URLs a short text was met: the mark of a wall in words that no other wall uses."""

from __future__ import annotations

import threading
from collections import OrderedDict
from urllib.parse import urlsplit

from .sites import site_key

#: A text of at most so many tokens that is met on more than so many sites besides the first is a wall.
LONGEST = 100
SITES = 5
#: So is one that a single site has under more than so many page names besides the first.
NAMES = 3
#: Up to this length a text is a wall, too, if a single site has it under more than so many page names.
LONGEST_OF_A_SITE = 250
NAMES_OF_LONGER = 10
#: How many texts are counted at a time: those that were met last.
FOLLOWED = 4096


def page_name(url: str) -> str:
    """Return what *url* calls its page: the last part of its path, without ending and parameters.

    A page may have many URLs, in several sections or with parameters for tracking or printing. Their paths
    end alike.
    """
    try:
        path = urlsplit(url).path
    except ValueError:
        path = url
    return path.rstrip("/").rpartition("/")[2].partition(";")[0].partition(".")[0].lower()


class SiteCounter:
    """Remembers on which sites, and under which names, this process has met copies of stored documents."""

    def __init__(self, followed: int = FOLLOWED) -> None:
        self._followed = followed
        self._met: OrderedDict[str, dict[int, frozenset[int]]] = OrderedDict()
        self._lock = threading.Lock()

    def meets(self, url: str, copy: str, tokens: int, *, count: bool = True) -> bool:
        """Tell whether the text stored under *url* is a wall, now that it is met under the URL *copy*, too.

        The text has so many *tokens*. With *count* the meeting is remembered.
        """
        if tokens > LONGEST_OF_A_SITE:
            return False
        short = tokens <= LONGEST
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
                if len(self._met) > self._followed:
                    self._met.popitem(last=False)
        return (short and len(after) > SITES) or max(map(len, after.values())) > most
