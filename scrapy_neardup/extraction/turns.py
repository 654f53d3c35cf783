"""Whose page is extracted next: sites take turns by the time their pages take, and none holds up the others.

The order is that of start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with seconds in place of
bytes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

#: Sites that are remembered, those that asked last; some 1,000 bytes each.
MAX_SITES = 10_000
#: Pages over the time limit for which a site is suspended. Each page within it makes up for a tenth of one:
#: of those before, and of the next.
STRIKES = 3
_FORGIVEN = 0.1
_CREDIT = 1.0
#: Seconds of a first suspension, each further one takes twice as long; and of the longest.
PAUSE, LONGEST_PAUSE = 60.0, 3600.0
#: Seconds for which a site that has asked counts as one that others may hold up.
_AROUND = 60.0
#: Good pages in a row that make a site a known one.
KNOWN = 10
#: Weight of a site's last page in the mean of its seconds, once it has had some.
_LAST = 0.1
#: A site is slow if its pages take more than this part of the time limit.
_SLOW = 0.1


@dataclass(eq=False, slots=True)
class Turn:
    """A page that waits, or is extracted, or has done so."""

    site: _Site
    #: Called once, with whether the page is to be extracted.
    decide: Callable[[bool], None]
    number: int
    granted: bool = False
    #: Seconds that it was charged with when it began.
    charged: float = 0.0


@dataclass(eq=False, slots=True)
class _Site:
    name: Hashable
    waiting: deque[Turn] = field(default_factory=deque)
    granted: int = 0
    #: Seconds that its pages have taken, counted from where the least served site was when this one came.
    served: float = 0.0
    #: Pages that have been extracted, or were to be.
    pages: int = 0
    #: Seconds a page of those; the last ones count most.
    mean: float = 0.0
    #: Those within the limit since the last one over it.
    good: int = 0
    #: Whether any has been over the limit.
    late: bool = False
    strikes: float = 0.0
    pause: float = 0.0
    suspended_until: float = float("-inf")
    asked: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether its pages have been good for long enough."""
        return self.good >= KNOWN


class Turns:
    """Have at most *places* pages extracted at a time, each of which takes *limit* seconds at most.

    The next page is of the site that has used the least time. Beyond that a site is kept from holding up
    others:

    - it has one place until its first page is done, and while pages over the limit are held against it;
    - it has half of them while its pages are slow, and other sites are around, that is, have asked lately;
    - while its pages are slow, and others are around or more than one page is held against it, no more of
      them wait than take *limit* seconds: the rest is refused, for what waits takes the place of what the
      crawl could download;
    - after `STRIKES` pages over the limit all its pages are refused for a while, a longer one each time.

    Names of sites may be had for nothing, such as those under a private suffix, or the ports of an address.
    So after a page over the limit of each of `STRIKES` sites that are not known, all sites that are not known
    have one place together for `PAUSE` seconds, and no other page of theirs waits meanwhile.

    Not thread-safe. *clock* gives seconds.
    """

    def __init__(
        self,
        places: int,
        limit: float,
        *,
        max_sites: int = MAX_SITES,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._places = self._free = places
        self._limit = limit
        self._max_sites = max_sites
        self._clock = clock
        #: That which asked last at the end.
        self._sites: OrderedDict[Hashable, _Site] = OrderedDict()
        #: Those with pages that wait.
        self._queued: dict[Hashable, _Site] = {}
        #: Pages that are being extracted.
        self._granted: set[Turn] = set()
        self._served = 0.0
        self._numbers = 0
        #: Of all sites that are not known.
        self._strikes = 0.0
        self._suspects_until = float("-inf")

    def __len__(self) -> int:
        """Return how many sites are remembered."""
        return len(self._sites)

    def ask(self, name: Hashable, decide: Callable[[bool], None]) -> Turn:
        """Queue a page of the site *name*.

        *decide* is called, now or later, with whether it is to be extracted. `end` must follow in any case,
        even if *decide* was never called.
        """
        self._numbers += 1
        site = self._remembered(name)
        turn = Turn(site, decide, self._numbers)
        site.asked = self._clock()
        if not site.granted and not site.waiting:
            site.served = max(site.served, self._served)
        site.waiting.append(turn)
        self._queued[name] = site
        self._decide()
        return turn

    def end(self, turn: Turn, seconds: float = 0.0, *, late: bool = False) -> None:
        """Take out a page that has kept a worker busy for *seconds*.

        They are 0 if its answer was known, or nobody waits for it.

        *late*: it was over the time limit.
        """
        site = turn.site
        if turn.granted:
            turn.granted = False
            self._granted.remove(turn)
            self._free += 1
            site.granted -= 1
            # What is beyond slow would keep a site waiting for minutes because of one page.
            site.served = min(site.served + seconds - turn.charged, self._served + _SLOW * self._limit)
            if seconds:
                self._learn(site, seconds, late)
        elif turn in site.waiting:
            site.waiting.remove(turn)
        self._decide()

    def _learn(self, site: _Site, seconds: float, late: bool) -> None:
        site.pages += 1
        site.mean += max(1 / site.pages, _LAST) * (seconds - site.mean)
        now = self._clock()
        self._learn_of_unknown(site, now, late)
        site.good = 0 if late else site.good + 1
        site.late = site.late or late
        if not late:
            site.strikes = max(-_CREDIT, site.strikes - _FORGIVEN)
            if site.strikes <= 0:
                site.pause = 0.0
        elif now >= site.suspended_until:  # else it began before the suspension
            site.strikes += 1
            if site.strikes >= STRIKES:
                site.strikes = STRIKES - 1  # the next one is enough
                site.pause = min(max(PAUSE, 2 * site.pause), LONGEST_PAUSE)
                site.suspended_until = now + site.pause

    def _learn_of_unknown(self, site: _Site, now: float, late: bool) -> None:
        if not late:
            self._strikes = max(0.0, self._strikes - _FORGIVEN)
        elif not site.late:  # one site alone brings nobody under suspicion
            self._strikes = min(self._strikes + 1, STRIKES)
            if self._strikes >= STRIKES:
                self._suspects_until = now + PAUSE

    def _decide(self) -> None:
        """Refuse and grant what is to be; then tell, for those who are told may ask again at once."""
        refused, granted = list(self._refuse()), list(self._grant())
        for turns, answer in ((refused, False), (granted, True)):
            for turn in turns:
                turn.decide(answer)

    def _refuse(self) -> Iterator[Turn]:
        now = self._clock()
        for site in list(self._queued.values()):
            most = len(site.waiting)
            if now < site.suspended_until:
                most = 0
            elif self._is_slow(site) and (site.strikes > 1 or self._others_than(site, now)):
                least = 0 if site.granted else 1
                most = max(least, int(self._limit / site.mean) - site.granted)
            while len(site.waiting) > most:
                yield site.waiting.pop()
            if not site.waiting:
                del self._queued[site.name]
        if now < self._suspects_until:
            yield from self._refuse_unknown()

    def _refuse_unknown(self) -> Iterator[Turn]:
        """Refuse those pages of sites that are not known which wait for too many others of these."""
        most = 0 if self._unknown_granted() else 1
        unknown = (site.waiting for site in self._queued.values() if not site.is_known)
        for turn in sorted(chain.from_iterable(unknown), key=lambda turn: turn.number)[most:]:
            turn.site.waiting.remove(turn)
            if not turn.site.waiting:
                del self._queued[turn.site.name]
            yield turn

    def _unknown_granted(self) -> int:
        return sum(not turn.site.is_known for turn in self._granted)

    def _grant(self) -> Iterator[Turn]:
        now = self._clock()
        while self._free:
            ready = [site for site in self._queued.values() if site.granted < self._share(site, now)]
            if not ready:
                return
            site = min(ready, key=lambda each: (each.served, each.waiting[0].number))
            turn = site.waiting.popleft()
            if not site.waiting:
                del self._queued[site.name]
            self._served = max(self._served, site.served)
            turn.granted = True
            self._granted.add(turn)
            turn.charged = site.mean
            site.served += turn.charged
            site.granted += 1
            self._free -= 1
            yield turn

    def _share(self, site: _Site, now: float) -> int:
        """Return how many places a site may have."""
        if now < self._suspects_until and not site.is_known and self._unknown_granted():
            return 0
        if not site.pages or site.strikes > 0:
            return 1
        if self._is_slow(site) and self._others_than(site, now):
            return max(1, self._places // 2)
        return self._places

    def _is_slow(self, site: _Site) -> bool:
        return site.mean > _SLOW * self._limit

    def _others_than(self, site: _Site, now: float) -> bool:
        """Whether pages of other sites came lately."""
        last = next((other for other in reversed(self._sites.values()) if other is not site), None)
        return last is not None and last.asked >= now - _AROUND

    def _remembered(self, name: Hashable) -> _Site:
        site = self._sites.setdefault(name, _Site(name))
        self._sites.move_to_end(name)
        if len(self._sites) > self._max_sites:
            # Those with pages are no more than the crawl has in flight.
            idle = (
                each for each in self._sites.values() if not (each.granted or each.waiting or each is site)
            )
            forgotten = next(idle, None)
            if forgotten is not None:
                del self._sites[forgotten.name]
        return site
