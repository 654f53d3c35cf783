"""Moves the members of clusters to the leaders that they resemble most.

A page joins the first leader that it matches. Another leader, found later, may be much more like it: the
class of a library in the next release, where the first one is another class with the same methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Pages = NDArray[np.int64]
    #: How much pages are like leaders: ``likeness(leaders, pages)`` of int64[k] each returns float[k], NaN
    #: for a page that does not repeat its leader.
    Likeness = Callable[[Pages, Pages], NDArray[np.floating]]


def closest_leaders(
    leaders: Pages, ranks: NDArray[np.number], pairs: NDArray[np.integer], likeness: Likeness
) -> Pages:
    """Return the *leaders* of n pages (int64[n]) with each member under the leader that it is most like.

    A member's choice is among the leaders that come before it in *ranks* (number[n], all different) and that
    *pairs* (int[m, 2]) connect it with: directly, or by way of a page that is, or becomes, one of their
    members. Of equally like leaders the one that it has stays, then the first in *ranks* is taken. Leaders
    stay leaders. Each page is compared with each leader once at most.
    """
    leaders = leaders.copy()
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    pages, others = np.concatenate((a, b)), np.concatenate((b, a))
    member = leaders[pages] != pages
    pages, others = pages[member], others[member]
    count = len(leaders)
    members = np.flatnonzero(leaders != np.arange(count))
    best = np.full(count, np.inf)
    best[members] = likeness(leaders[members], members)
    asked = np.empty(0, np.int64)
    moved = np.ones(count, bool)
    while len(pages):
        news = moved[others]
        found = np.unique(pages[news] * count + leaders[others[news]])
        found = np.setdiff1d(found, asked, assume_unique=True)
        page, leader = np.divmod(found, count)
        fits = (leaders[page] != leader) & (ranks[leader] < ranks[page])
        page, leader = page[fits], leader[fits]
        if not len(page):
            break
        asked = np.union1d(asked, found)
        alike = likeness(leader, page)
        better = alike > best[page]  # False for NaN
        page, leader, alike = page[better], leader[better], alike[better]
        order = np.lexsort((ranks[leader], -alike, page))
        page, first = np.unique(page[order], return_index=True)
        leaders[page], best[page] = leader[order][first], alike[order][first]
        moved[:] = False
        moved[page] = True
    return leaders
