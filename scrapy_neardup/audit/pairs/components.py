"""Connected components: which documents a chain of pairs connects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class UnionFind:
    """Disjoint sets of 0 to *count* - 1, which grow by one pair at a time.

    Path halving and union by size (Tarjan and van Leeuwen, JACM 1984): a union takes nearly constant time.
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
        """Unite the sets of two elements; return False if it was one set already."""
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
        roots = np.array(self._parents, np.int64)
        while not np.array_equal(above := roots[roots], roots):
            roots = above
        least = np.arange(len(roots))
        np.minimum.at(least, roots, np.arange(len(roots)))
        return least[roots]


def components(count: int, pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """Label each of 0 to *count* - 1 with the least element that *pairs* (int[m, 2]) connect it with; int64[count].

    An element without a pair is its own label. This takes about 3 s for a million pairs.
    """
    sets = UnionFind(count)
    for a, b in np.asarray(pairs, np.int64).reshape(-1, 2).tolist():
        sets.union(a, b)
    return sets.labels()
