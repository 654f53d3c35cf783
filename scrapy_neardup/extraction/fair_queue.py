"""Whose page is extracted next: sites take turns by the time their pages take, and none holds up the others.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996), with seconds in place of bytes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from time import monotonic

#: Sites that are remembered, those that asked last.
MAX_SITES = 10_000
#: Pages over the time limit for which a site is suspended, and for how many seconds. Each page within the
#: limit makes up for a tenth of one beyond it.
STRIKES, PAUSE, _FORGIVEN = 3, 600.0, 0.1
#: A site is slow if its pages take more than this part of the limit. Only a site that has asked within so
#: many seconds is one that it may hold up.
_SLOW, _LATELY = 0.1, 60.0


@dataclass(eq=False, slots=True)
class Turn:
    """A page that waits, or is extracted, or has done so."""

    site: _Site
    #: Called once, with whether the page is to be extracted.
    decide: Callable[[bool], None]
    granted: bool = False


@dataclass(eq=False, slots=True)
class _Site:
    asked: float = 0.0
    waiting: deque[Turn] = field(default_factory=deque)
    granted: int = 0
    #: Seconds that its pages have taken, counted from where the least served site was when this one came.
    served: float = 0.0
    #: Mean of the seconds of its last pages; None before the first is done.
    mean: float | None = None
    strikes: float = 0.0
    suspended_until: float = float("-inf")


class FairQueue:
    """Have at most *places* pages extracted at a time, each of which takes *limit* seconds at most.

    The next page is of the site that has used the least time. A site has one place until its first page is
    done, and after late ones; after `STRIKES` of these its pages are refused for `PAUSE` seconds. While its
    pages are slow, and other sites are about, no more wait than take *limit* seconds. Not thread-safe.
    """

    def __init__(self, places: int, limit: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._places = self._free = places
        self._limit, self._clock = limit, clock
        #: That which asked last at the end.
        self._sites: OrderedDict[Hashable, _Site] = OrderedDict()
        #: Those with pages that wait, in the order in which the first of these came.
        self._queued: dict[_Site, None] = {}
        self._served = 0.0

    def ask(self, name: Hashable, decide: Callable[[bool], None]) -> Turn:
        """Queue a page; *decide* is called, now or later, with whether it is extracted. `end` must follow."""
        site = self._sites.setdefault(name, _Site())
        self._sites.move_to_end(name)
        site.asked = self._clock()
        if not site.granted and not site.waiting:
            site.served = max(site.served, self._served)
        turn = Turn(site, decide)
        site.waiting.append(turn)
        self._queued[site] = None
        if len(self._sites) > MAX_SITES:
            # Those with pages are no more than the crawl has in flight.
            idle = (key for key, each in self._sites.items() if not (each.granted or each.waiting))
            self._sites.pop(next(idle, None), None)
        self._decide()
        return turn

    def end(self, turn: Turn, seconds: float = 0.0, *, late: bool = False) -> None:
        """Take out a page that has kept a worker busy for *seconds*, perhaps 0; *late* beyond the limit."""
        site = turn.site
        if turn.granted:
            turn.granted = False
            self._free += 1
            site.granted -= 1
            if seconds:
                self._learn(site, seconds, late)
        elif turn in site.waiting:
            site.waiting.remove(turn)
        self._decide()

    def _learn(self, site: _Site, seconds: float, late: bool) -> None:
        site.mean = seconds if site.mean is None else site.mean + _FORGIVEN * (seconds - site.mean)
        # What is beyond slow would keep a site waiting for minutes because of one page.
        site.served = min(site.served + seconds, self._served + _SLOW * self._limit)
        now = self._clock()
        if not late:
            site.strikes = max(0.0, site.strikes - _FORGIVEN)
        elif now >= site.suspended_until:  # else it began before the suspension
            site.strikes += 1
            if site.strikes >= STRIKES:
                site.strikes = STRIKES - 1  # the next one is enough
                site.suspended_until = now + PAUSE

    def _decide(self) -> None:
        """Refuse and grant what is to be; then tell, for those who are told may ask again at once."""
        now = self._clock()
        decided: list[Turn] = []
        for site in self._queued:
            most = self._most_waiting(site, now)
            while len(site.waiting) > most:
                decided.append(site.waiting.pop())
        while self._free and (ready := [site for site in self._queued if self._may_have_another(site)]):
            site = min(ready, key=lambda each: each.served)
            self._served = max(self._served, site.served)
            turn = site.waiting.popleft()
            turn.granted = True
            site.granted += 1
            self._free -= 1
            decided.append(turn)
        self._queued = {site: None for site in self._queued if site.waiting}
        for turn, granted in [(turn, turn.granted) for turn in decided]:
            turn.decide(granted)

    def _most_waiting(self, site: _Site, now: float) -> int:
        """Return how many pages of *site* may wait, in the place of what could be downloaded."""
        if now < site.suspended_until:
            return 0
        last = next((other for other in reversed(self._sites.values()) if other is not site), None)
        alone = last is None or last.asked < now - _LATELY
        if alone or site.mean is None or site.mean <= _SLOW * self._limit:
            return len(site.waiting)
        return max(not site.granted, int(self._limit / site.mean) - site.granted)

    def _may_have_another(self, site: _Site) -> bool:
        most = 1 if site.mean is None or site.strikes > 0 else self._places
        return bool(site.waiting) and site.granted < most
