"""On how many sites a short text was met: the mark of a wall that no list of phrases knows."""

from __future__ import annotations

from collections import OrderedDict

from .sites import site_key

#: A text of so many tokens at most, on so many sites besides the first, is a wall.
LONGEST = 100
SITES = 5
#: Texts that are followed at a time, those met last.
_FOLLOWED = 4096


class Spread:
    """The sites on which the copies of a stored document were met, in this process."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, set[int]] = OrderedDict()

    def meets(self, url: str, site: int, tokens: int, *, count: bool = True) -> bool:
        """Tell whether a copy of *url* with so many *tokens* on *site* makes it a wall; take note of it if it is to *count*."""
        if tokens > LONGEST:
            return False
        sites = self._sites.get(url, {site_key(url)})
        if len(sites) <= SITES:
            sites = sites | {site}
        if count:
            self._sites[url] = sites
            self._sites.move_to_end(url)
            if len(self._sites) > _FOLLOWED:
                self._sites.popitem(last=False)
        return len(sites) > SITES
