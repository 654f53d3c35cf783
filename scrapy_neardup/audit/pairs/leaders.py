"""Clusters of pages whose members all resemble one page, the leader.

Connected components are no such clusters. Of a hundred pages, each a little different from the one before,
they make one cluster, though its ends have nothing in common. So pages are clustered around leaders.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.audit.arrays import begins, ranges

from .components import components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Pages = NDArray[np.int64]
    #: Tells which pages repeat their leaders: ``verify(leaders, pages)`` of int64[k] each returns bool[k].
    Verify = Callable[[Pages, Pages], NDArray[np.bool_]]

#: The leader of a page that is in no cluster yet.
_WAITING = -1


def leader_clusters(ranks: NDArray[np.number], pairs: NDArray[np.integer], verify: Verify) -> Pages:
    """Cluster n pages around leaders; return the leader of each page as int64[n].

    The leader of a leader is itself. The pages are taken in the order of their *ranks* (number[n], the least
    first, equal ones by number). A page that is in no cluster yet leads a new one. The cluster takes in those
    waiting pages that *pairs* (int[m, 2]) connect with the leader, directly or by way of other members, and
    that *verify* finds to repeat the leader. So every member matches its leader, whatever the order of the
    pairs, and no pair causes more than two checks.

    The components of the graph of pairs are independent, so all of them are worked on at once: in each turn
    the next page of every component, by rank, leads a cluster, and one call of *verify* serves all. Clusters
    that are complete may cut what is left of a component into several, which can then take turns side by
    side. So components are found anew after 1, 2, 4, … turns: not after each, which may be a page less only.
    """
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    clusters = _Clusters(len(ranks), a, b, verify)
    waiting = clusters.waiting
    turns = 1
    while waiting.any():
        both = waiting[a] & waiting[b]
        a, b = a[both], b[both]
        for pages in islice(_next_of_each_component(np.flatnonzero(waiting), ranks, a, b), turns):
            clusters.grow(pages)
        waiting = clusters.waiting
        turns *= 2
    return clusters.leaders


class _Clusters:
    """The clusters that there are so far, of *count* pages and the pairs of *a* and *b* (int64[m] each)."""

    def __init__(self, count: int, a: Pages, b: Pages, verify: Verify) -> None:
        self._verify = verify
        # The neighbours of page p are the self._degrees[p] entries of self._neighbours from self._starts[p]
        # on.
        sources = np.concatenate((a, b))
        self._neighbours = np.concatenate((b, a))[np.argsort(sources, kind="stable")]
        self._degrees = np.bincount(sources, minlength=count)
        self._starts = np.cumsum(self._degrees) - self._degrees
        # The last leader that each page was found not to repeat, or its own leader; -1 for none.
        self._asked = np.full(count, -1)
        #: The leader of each page; int64[count]. A page without pairs leads itself from the start.
        self.leaders = np.where(self._degrees > 0, _WAITING, np.arange(count))

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Which pages are in no cluster yet; bool[count]."""
        waiting: NDArray[np.bool_] = self.leaders == _WAITING
        return waiting

    def grow(self, pages: Pages) -> None:
        """Let those of *pages* that still wait lead clusters, and complete these.

        No two are of one component.
        """
        joining = pages[self.leaders[pages] == _WAITING]
        self.leaders[joining] = joining
        while len(joining):
            joining = self._join_neighbours(joining)

    def _join_neighbours(self, members: Pages) -> Pages:
        """Take the neighbours of new *members* into their clusters; return those that have joined."""
        degrees = self._degrees[members]
        near = self._neighbours[ranges(self._starts[members], degrees)]
        leaders = np.repeat(self.leaders[members], degrees)
        new = (self.leaders[near] == _WAITING) & (self._asked[near] != leaders)
        near, first = np.unique(near[new], return_index=True)
        leaders = leaders[new][first]
        if not len(near):
            return near
        self._asked[near] = leaders
        verified = self._verify(leaders, near)
        self.leaders[near[verified]] = leaders[verified]
        return near[verified]


def _next_of_each_component(pages: Pages, ranks: NDArray[np.number], a: Pages, b: Pages) -> Iterator[Pages]:
    """Yield the first of *pages* (ascending) of each component, by *ranks*; then the second; and so on.

    The pairs of *a* and *b* (int64[m] each) connect them.
    """
    component = components(len(pages), np.searchsorted(pages, np.stack((a, b), axis=1)))
    order = np.lexsort((pages, ranks[pages], component))
    component = component[order]
    heads = np.flatnonzero(begins(component))
    ends = np.append(heads[1:], len(component))
    while len(heads):
        yield pages[order[heads]]
        more = heads + 1 < ends
        heads, ends = heads[more] + 1, ends[more]
