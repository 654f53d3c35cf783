"""Lists of a few values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def without_repeats(values: int, dice: random.Random) -> list[int]:
    """Return a list of so many *values* in which each run of five stands once, if it is read as a ring."""
    met: set[tuple[int, ...]] = set()
    ways = [(start, dice.sample(range(values), values)) for start in [(0,) * 4]]
    ring: list[int] = []
    while ways:  # Hierholzer's algorithm on the graph of runs of four
        run, left = ways[-1]
        following = next((each for each in left if (*run, each) not in met), None)
        if following is None:
            ring.append(ways.pop()[0][-1])
            continue
        met.add((*run, following))
        ways.append(((*run[1:], following), dice.sample(range(values), values)))
    return ring[:0:-1]
