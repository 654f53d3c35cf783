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

    def meets(self, url: str, site: int, tokens: int) -> bool:
        """Take note that a copy of *url* with so many *tokens* is on *site*; tells whether that makes it a wall."""
        if tokens > LONGEST:
            return False
        sites = self._sites.setdefault(url, {site_key(url)})
        self._sites.move_to_end(url)
        if len(self._sites) > _FOLLOWED:
            self._sites.popitem(last=False)
        if len(sites) <= SITES:
            sites.add(site)
        return len(sites) > SITES
