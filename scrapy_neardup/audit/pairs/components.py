"""Connected components: which documents a chain of pairs connects."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from scrapy_neardup.arguments import require_whole, whole_numbers
from scrapy_neardup.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class UnionFind:
    """Disjoint sets of 0 to *count* - 1, which grow by one pair at a time, for pairs that come as a stream.

    Path halving and union by size (Tarjan and van Leeuwen, JACM 1984): a union takes nearly constant time.
    Raises `ConfigurationError` for a count below 0, and for what is none of the elements.
    """

    def __init__(self, count: int) -> None:
        require_whole("count", count, 0)
        self._parents = list(range(count))
        self._sizes = [1] * count

    def find(self, element: int) -> int:
        """Return the element that stands for the set of *element*, until the next union."""
        parents = self._parents
        # Python would take -1 for the last element.
        if not (isinstance(element, Integral) and 0 <= element < len(parents)):
            raise ConfigurationError(f"There is no element {element!r}: use 0 to {len(parents) - 1}.")
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


def components(count: int, pairs: ArrayLike) -> NDArray[np.int64]:
    """Label each of 0 to *count* - 1 with the least element that *pairs* (int[m, 2]) connect it with.

    Returns int64[count]. An element without a pair is its own label. `UnionFind` gives the same for pairs
    that come one by one; where all are known, this is many times faster. Roots are hooked onto the least of
    their neighbours and paths are cut short, all at once (after Shiloach and Vishkin, "An O(log n) parallel
    connectivity algorithm", 1982): every two rounds at least halve the roots of a component.

    Raises `ConfigurationError` for a count below 0, and for pairs that are not of these elements.
    """
    require_whole("count", count, 0)
    parents = np.arange(count)
    ends = whole_numbers("Elements", pairs, np.int64)
    if ends.size and (ends.ndim != 2 or ends.shape[1] != 2):
        raise ConfigurationError(f"Pairs come in an array of the shape (m, 2), not {ends.shape}.")
    if ends.size and not 0 <= ends.min() <= ends.max() < count:
        raise ConfigurationError(
            f"Pairs are of the elements 0 to {count - 1}: {ends.min()} or {ends.max()} is none."
        )
    a, b = ends.reshape(-1, 2).T
    while len(a):
        np.minimum.at(parents, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(above := parents[parents], parents):
            parents = above
        a, b = parents[a], parents[b]
        apart = a != b
        a, b = a[apart], b[apart]
    return parents
