"""Groups of pages: connected components, and clusters whose members all resemble one page, the leader."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from .arrays import begins, places, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    Pages = NDArray[np.int64]
    #: Tells which pages repeat their leaders: ``verify(leaders, pages)`` of int64[k] each returns bool[k].
    Verify = Callable[[Pages, Pages], NDArray[np.bool_]]


def components(count: int, pairs: ArrayLike) -> NDArray[np.int64]:
    """Label each of 0 to *count* - 1 with the least that *pairs* (int[m, 2]) connect it with; int64[count].

    After Shiloach and Vishkin, "An O(log n) parallel connectivity algorithm", 1982.
    """
    parents = np.arange(count)
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    while len(a):
        np.minimum.at(parents, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(above := parents[parents], parents):
            parents = above
        a, b = parents[a], parents[b]
        a, b = a[a != b], b[a != b]
    return parents


#: The leader of a page that is in no cluster yet.
_WAITING = -1


def leader_clusters(ranks: NDArray[np.number], pairs: NDArray[np.integer], verify: Verify) -> Pages:
    """Cluster n pages around leaders; return the leader of each page as int64[n].

    In the order of *ranks* (number[n], equal ones by number) each page in no cluster yet leads a new one, of
    the waiting pages that *pairs* (int[m, 2]) connect with it, directly or by way of other members, and that
    *verify* finds to repeat it. No pair causes more than two checks.
    """
    count = len(ranks)
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    # The neighbours of page p are degrees[p] entries of all_neighbours from starts[p] on.
    sources = np.concatenate((a, b))
    all_neighbours = np.concatenate((b, a))[np.argsort(sources, kind="stable")]
    degrees = np.bincount(sources, minlength=count)
    starts = np.cumsum(degrees) - degrees
    # The last leader that each page was found not to repeat, or its own leader; -1 for none.
    asked = np.full(count, -1)
    leaders = np.where(degrees > 0, _WAITING, np.arange(count))

    def grow(members: Pages) -> None:
        leaders[members] = members
        while len(members):
            near = all_neighbours[ranges(starts[members], degrees[members])]
            of = np.repeat(leaders[members], degrees[members])
            new = (leaders[near] == _WAITING) & (asked[near] != of)
            near, first = np.unique(near[new], return_index=True)
            of = of[new][first]
            asked[near] = of
            verified = verify(of, near) if len(near) else np.zeros(0, bool)
            members = near[verified]
            leaders[members] = of[verified]

    # The next page of every component leads a cluster, and one call of *verify* serves all. What is left of a
    # component may fall into several, so components are found anew after 1, 2, 4, … turns.
    turns = 1
    while (waiting := leaders == _WAITING).any():
        both = waiting[a] & waiting[b]
        a, b = a[both], b[both]
        for pages in islice(_next_of_each_component(np.flatnonzero(waiting), ranks, a, b), turns):
            grow(pages[leaders[pages] == _WAITING])
        turns *= 2
    return leaders


def _next_of_each_component(pages: Pages, ranks: NDArray[np.number], a: Pages, b: Pages) -> Iterator[Pages]:
    """Yield the first of *pages* (ascending) of each component, by *ranks*; then the second; and so on."""
    component = components(len(pages), np.searchsorted(pages, np.stack((a, b), axis=1)))
    order = np.lexsort((pages, ranks[pages], component))
    turn = places(component[order])
    by_turn = np.argsort(turn, kind="stable")
    yield from np.split(pages[order[by_turn]], np.flatnonzero(begins(turn[by_turn]))[1:])
