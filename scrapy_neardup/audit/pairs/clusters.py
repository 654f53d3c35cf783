"""From pairs to clusters: connected components, and clusters whose members all resemble their leader.

Components chain: of a hundred pages, each a little different from the one before, they make one cluster though
the ends have nothing in common. So pages are clustered around leaders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .joins import ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class UnionFind:
    """Disjoint sets of 0 to *count* - 1 that grow by one pair at a time, for pairs that come as a stream.

    Path halving and union by size (Tarjan and van Leeuwen, JACM 1984); see `components` for pairs known at once.
    """

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._sizes = [1] * count

    def find(self, element: int) -> int:
        """Return the element that stands for the set of *element*, until the next union."""
        parents = self._parents
        while (parent := parents[element]) != element:
            parents[element] = element = parents[parent]
        return element

    def union(self, a: int, b: int) -> bool:
        """Unite the sets of two elements; False if it was one set already."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self._sizes[a] < self._sizes[b]:
            a, b = b, a
        self._parents[b] = a
        self._sizes[a] += self._sizes[b]
        return True

    def labels(self) -> NDArray[np.int64]:
        """Return the least element of each element's set; int64[count]."""
        roots = np.fromiter(map(self.find, range(len(self._parents))), np.int64, len(self._parents))
        least = np.full(len(roots), len(roots))
        np.minimum.at(least, roots, np.arange(len(roots)))
        return least[roots]


def components(count: int, pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """Label 0 to *count* - 1 with the least element each is connected to by *pairs* (int[m, 2]); int64[count].

    Roots are hooked onto the least of their neighbours and paths cut short, all at once (after Shiloach and Vishkin,
    "An O(log n) parallel connectivity algorithm", 1982): every two rounds at least halve a component's roots.
    """
    parents = np.arange(count)
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    while len(a):
        np.minimum.at(parents, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(above := parents[parents], parents):
            parents = above
        a, b = parents[a], parents[b]
        apart = a != b
        a, b = a[apart], b[apart]
    return parents


def leader_clusters(
    ranks: NDArray[np.number],
    pairs: NDArray[np.integer],
    verify: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]],
) -> NDArray[np.int64]:
    """Cluster n pages around leaders; return the leader of each, itself for a leader, as int64[n].

    In the order of their *ranks* (of shape [n], least first, equal ones by number; see `canonical_ranks`), pages that are in no cluster
    yet lead one. It takes in the pages in no cluster that *pairs* (int[m, 2]) connect with it, directly or by way
    of its members, and that ``verify(leaders, pages)`` (int64[k] each) finds to repeat the leader (bool[k]). So
    every member matches its leader, whatever the order of the pairs, and no pair causes more than two checks.
    *verify* is called once a round for all components together, not once a pair.
    """
    count = len(ranks)
    neighbours, starts, degrees = _adjacency(count, pairs)
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    # A page without pairs leads itself; the others wait in line, each component a line of its own.
    leaders = np.where(degrees > 0, -1, np.arange(count))
    refused = np.full(count, -1)
    turns = 1
    while len(waiting := np.flatnonzero(leaders < 0)):
        # Clusters that have left divide what remains: lines anew, ever less often, since one may hardly shorten.
        both = (leaders[a] < 0) & (leaders[b] < 0)
        a, b = a[both], b[both]
        component = components(count, np.stack((a, b), axis=1))[waiting]
        order = np.lexsort((waiting, ranks[waiting], component))
        waiting, component = waiting[order], component[order]
        heads = np.flatnonzero(np.append(True, component[1:] != component[:-1]))
        ends = np.append(heads[1:], len(component))
        for _ in range(turns):
            joining = waiting[heads[leaders[waiting[heads]] < 0]]
            leaders[joining] = joining
            while len(joining):
                near = neighbours[ranges(starts[joining], degrees[joining])]
                asking = np.repeat(leaders[joining], degrees[joining])
                new = (leaders[near] < 0) & (refused[near] != asking)
                near, first = np.unique(near[new], return_index=True)
                asking = asking[new][first]
                verified = verify(asking, near) if len(near) else np.zeros(0, np.bool_)
                refused[near] = asking
                joining = near[verified]
                leaders[joining] = asking[verified]
            heads = heads + 1
            more = heads < ends
            heads, ends = heads[more], ends[more]
            if not len(heads):
                break
        turns *= 2
    return leaders


def _adjacency(
    count: int, pairs: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the neighbours of all elements in turn, where each one's start, and how many they are."""
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    sources = np.concatenate((a, b))
    order = np.argsort(sources, kind="stable")
    degrees = np.bincount(sources, minlength=count)
    return np.concatenate((b, a))[order], np.cumsum(degrees) - degrees, degrees
