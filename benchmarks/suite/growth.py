"""How costs grow: the exponent of n, fitted to what was measured at several sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .measuring import SPREAD, quartiles, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .measuring import Finding

#: The largest exponent that is in order.
MOST = 1.1


class Growth(NamedTuple):
    """Cost as a power of the number of documents."""

    work: str
    #: What grows: the cost of one, or of all.
    of: str
    sizes: tuple[int, ...]
    exponent: float
    #: Whether each figure may be quoted.
    stable: bool

    @property
    def outcome(self) -> str:
        return "unclear" if not self.stable else "met" if self.exponent <= MOST else "missed"


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """Fit cost = c nᵉ to pairs of n and cost; returns e."""
    sizes, costs = np.log(np.array(points, float)).T
    return float(np.polyfit(sizes, costs, 1)[0])


def growths(findings: Iterable[Finding]) -> Iterator[Growth]:
    """Fit each kind of work that was measured at two sizes at least."""
    works: dict[str, list[Finding]] = {}
    for each in findings:
        if each.growth and not each.computed:
            works.setdefault(each.work, []).append(each)
    for work, found in works.items():
        rate = found[0].more_is_better
        points = [
            (each.size, each.size / quartiles(each.ours)[1] if rate else quartiles(each.ours)[1])
            for each in found
        ]
        if len(points) > 1:
            of = "all" if rate or found[0].unit == "s" else "one"
            stable = all(spread(each.ours) <= SPREAD for each in found)
            yield Growth(work, of, tuple(size for size, _ in points), exponent(points), stable)
