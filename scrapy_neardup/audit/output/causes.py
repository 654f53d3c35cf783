"""What leads to repeats: URL parameters and paths.

A parameter is judged by experiment, which the crawl has made already: among pages whose URLs differ in
nothing else, how often is the text the same? Paths are generalised until they have few patterns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_neardup.audit.urls import generalise, parameter_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from scrapy_neardup.audit.urls import Url

#: Of each kind, the causes with the most repeats; causes with fewer repeats than these are chance.
MOST, LEAST_REPEATS = 40, 2
#: A path segment with more values than this is a variable; segments after these are not told apart.
MOST_NAMES, MOST_SEGMENTS = 12, 8
#: A path that more of all pages follow than this says nothing of the repeats among them.
NEARLY_ALL = 0.9


class Cause(NamedTuple):
    """URLs that have something in common which leads to repeats."""

    #: "parameter" or "path".
    kind: str
    #: Name of the parameter, or the path with variables in braces.
    name: str
    #: How many pages have it, and how many of these are repeats.
    pages: int
    repeats: int
    #: What was measured, in a sentence.
    said: str
    #: The rows of a page, and of the page that it repeats.
    example: tuple[int, int]


def find_causes(
    split: Sequence[Url], repeats: NDArray[np.bool_], canonical: NDArray[np.int64]
) -> list[Cause]:
    """Find what n URLs have in common that leads to repeats; of each kind those with the most first.

    *repeats* (bool[n]) says which pages repeat their *canonical* page (row, int64[n]; its own if none).
    """
    found = []
    for causes in (_parameters, _paths):
        kept = [each for each in causes(split, repeats, canonical.tolist()) if each.repeats >= LEAST_REPEATS]
        found += sorted(kept, key=lambda cause: (-cause.repeats, cause.name))[:MOST]
    return found


def _parameters(split: Sequence[Url], repeats: NDArray[np.bool_], originals: list[int]) -> Iterator[Cause]:
    complete: dict[tuple[str, ...], int] = {}
    pages: dict[str, list[int]] = defaultdict(list)
    alike: dict[str, dict[tuple[str, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
    for page, url in enumerate(split):
        complete.setdefault((url.host, url.path, *sorted(url.query)), page)
        for name in {parameter_name(part) for part in url.query}:
            others = sorted(part for part in url.query if parameter_name(part) != name)
            pages[name].append(page)
            alike[name][(url.host, url.path, *others)].append(page)
    for name, having in pages.items():
        again, compared, same = [page for page in having if repeats[page]], 0, 0
        for key, group in alike[name].items() if again else ():
            members = [complete[key], *group] if key in complete else group
            compared += len(members) - 1
            same += len(members) - len({originals[page] for page in members})
        said = f"Alone, it left the text the same in {same:,} of {compared:,} comparisons." * bool(compared)
        if again:
            yield Cause("parameter", name, len(having), len(again), said, (again[0], originals[again[0]]))


def _paths(split: Sequence[Url], repeats: NDArray[np.bool_], originals: list[int]) -> Iterator[Cause]:
    paths = path_patterns(split)
    pages: dict[str, list[int]] = defaultdict(list)
    for page, name in enumerate(paths):
        pages[name].append(page)
    usual = float(repeats.mean()) if len(repeats) else 0.0
    for name, having in pages.items():
        again = [page for page in having if repeats[page] and originals[page] != page]
        # Identifiers without slashes have no path.
        if name and again and usual * len(having) <= len(again) and len(having) <= NEARLY_ALL * len(repeats):
            sources = Counter(paths[originals[page]] for page in again)
            source, most = min(sources.items(), key=lambda each: (-each[1], each[0]))
            page = next(page for page in again if paths[originals[page]] == source)
            said = f"{most / len(again):.0%} of its repeats are of {source}."
            yield Cause("path", name, len(having), len(again), said, (page, originals[page]))


def path_patterns(split: Sequence[Url]) -> list[str]:
    """Return what the path of each of n URLs follows: host and path, with variable segments in braces."""
    names = [url.host for url in split]
    paths = [[generalise(part) for part in url.path.split("/", MOST_SEGMENTS + 1)[1:]] for url in split]
    for depth in range(MOST_SEGMENTS):
        values: dict[str, set[str]] = defaultdict(set)
        for name, path in zip(names, paths, strict=True):
            values[name].update(path[depth : depth + 1])
        for page, path in enumerate(paths):
            for segment in path[depth : depth + 1]:
                many = len(values[names[page]]) > MOST_NAMES and segment and not segment.startswith("{")
                names[page] += "/{name}" if many else f"/{segment}"
    long = [len(path) > MOST_SEGMENTS for path in paths]
    return [f"{name}/…" if more else name for name, more in zip(names, long, strict=True)]
