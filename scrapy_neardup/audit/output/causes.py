"""URL parameters that lead to repeats.

A parameter is judged by experiment, which the crawl has made already: among pages whose URLs differ in
nothing else, how often is the text the same?
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.audit.urls import parameter_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from scrapy_neardup.audit.urls import Url

#: The causes with the most repeats; causes with fewer repeats than these are chance.
MOST, LEAST_REPEATS = 40, 2


class Cause(NamedTuple):
    """A parameter, and what was measured of it."""

    name: str
    #: How many pages have it, and how many of these are repeats.
    pages: int
    repeats: int
    #: How many pages were compared with one whose URL lacks it, or has another value; how many were the same.
    compared: int
    same: int
    #: The rows of a page, and of the page that it repeats.
    example: tuple[int, int]


def find_causes(
    split: Sequence[Url], repeats: NDArray[np.bool_], canonical: NDArray[np.int64]
) -> list[Cause]:
    """Find the parameters in n URLs that lead to repeats, those with the most first.

    *repeats* (bool[n]) says which pages repeat their *canonical* page (row, int64[n]; its own if none).
    """
    originals = canonical.tolist()
    complete: dict[tuple[str, ...], int] = {}
    alike: dict[str, dict[tuple[str, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
    for page, url in enumerate(split):
        complete.setdefault((url.host, url.path, *sorted(url.query)), page)
        for name in {parameter_name(part) for part in url.query}:
            others = sorted(part for part in url.query if parameter_name(part) != name)
            alike[name][(url.host, url.path, *others)].append(page)
    found = []
    for name, groups in alike.items():
        pages = sorted(page for group in groups.values() for page in group)
        again = [page for page in pages if repeats[page]]
        if len(again) < LEAST_REPEATS:
            continue
        compared, same = 0, 0
        for key, group in groups.items():
            members = [complete[key], *group] if key in complete else group
            compared += len(members) - 1
            same += len(members) - len({originals[page] for page in members})
        example = (again[0], originals[again[0]])
        found.append(Cause(name, len(pages), len(again), compared, same, example))
    return sorted(found, key=lambda cause: (-cause.repeats, cause.name))[:MOST]
