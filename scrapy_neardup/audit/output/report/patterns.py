"""Which URL parameters, spellings and paths lead to repeated pages, and what to do about each.

A parameter is judged by experiment, which the crawl has made already: among pages whose URLs differ in
nothing else, how often is the text the same? Spellings are told by comparing each repeat with its canonical
page. Paths are generalised until they have few patterns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from scrapy_neardup.audit.urls import Url, generalise, parameter_name

from . import advice
from .spellings import spelling_differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

#: Of each kind, the patterns with the most repeats.
MOST = 40
#: Patterns with fewer repeats than this are chance.
LEAST_REPEATS = 2
#: A path segment with more values than this is a variable.
MOST_NAMES = 12
#: A path that more of all pages follow than this says nothing of the repeats among them.
NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class Pattern:
    """URLs that have something in common which leads to repeats."""

    kind: Literal["parameter", "spelling", "path", "thin"]
    #: Name of the parameter, of the spelling, or the path with variables in braces.
    name: str
    #: Positions of the pages; int64[pages], in order.
    pages: NDArray[np.int64]
    #: How many of them are repeats; of the kind "thin": have too little text.
    repeats: int
    #: A page, and the page it repeats; the second is -1 if no single page is.
    example: tuple[int, int]
    #: What to do, in a line.
    advice: str


def find_patterns(
    split: Sequence[Url],
    paths: Mapping[str, NDArray[np.int64]],
    repeats: NDArray[np.bool_],
    canonical: NDArray[np.integer],
) -> list[Pattern]:
    """Find the patterns of n URLs; those with the most repeats first, of each kind.

    *paths* is `by_path` of them. *repeats* (bool[n]) says which pages repeat their *canonical* page
    (position, int[n]; itself if there is none).
    """
    originals = canonical.tolist()
    return [
        *_best(_parameters(split, repeats, originals)),
        *_best(_spellings(split, repeats, originals)),
        *_best(_paths(paths, repeats, canonical)),
    ]


def find_thin(
    paths: Mapping[str, NDArray[np.int64]], thin: NDArray[np.bool_], empty: NDArray[np.bool_]
) -> list[Pattern]:
    """Return the *paths* (see `by_path`) of the *thin* among n pages (bool[n]), those with the most first.

    *empty* says which of them have no text at all.
    """
    found = []
    for name, having in paths.items():
        short = having[thin[having]].tolist()
        if short:
            text = advice.of_thin(len(short), len(having), int(empty[short].sum()))
            found.append(_pattern("thin", name, having, thin, (short[0], -1), text))
    return _best(found)


def _best(patterns: list[Pattern]) -> list[Pattern]:
    kept = [pattern for pattern in patterns if pattern.repeats >= LEAST_REPEATS]
    return sorted(kept, key=lambda pattern: (-pattern.repeats, pattern.name))[:MOST]


def _pattern(
    kind: Literal["parameter", "spelling", "path", "thin"],
    name: str,
    pages: Sequence[int] | NDArray[np.int64],
    repeats: NDArray[np.bool_],
    example: tuple[int, int],
    text: str,
) -> Pattern:
    positions = np.array(pages, np.int64)
    return Pattern(kind, name, positions, int(repeats[positions].sum()), example, text)


def _parameters(split: Sequence[Url], repeats: NDArray[np.bool_], originals: list[int]) -> list[Pattern]:
    complete: dict[tuple[str, ...], int] = {}
    pages: dict[str, list[int]] = defaultdict(list)
    alike: dict[str, dict[tuple[str, ...], list[int]]] = defaultdict(lambda: defaultdict(list))
    for page, url in enumerate(split):
        complete.setdefault((url.host, url.path, *sorted(url.query)), page)
        for name in {parameter_name(part) for part in url.query}:
            others = sorted(part for part in url.query if parameter_name(part) != name)
            pages[name].append(page)
            alike[name][(url.host, url.path, *others)].append(page)
    found = []
    for name, having in pages.items():
        compared = same = 0
        example = None
        for key, group in alike[name].items():
            without = complete.get(key)
            members = group if without is None else [without, *group]
            compared += len(members) - 1
            same += len(members) - len({originals[page] for page in members})
            if example is None:
                example = _repeating_pair(members, originals)
        if example is None:
            page = next((page for page in having if repeats[page]), having[0])
            example = (page, originals[page] if originals[page] != page else -1)
        share = float(repeats[having].mean())
        text = advice.of_parameter(name, compared, same, share)
        found.append(_pattern("parameter", name, having, repeats, example, text))
    return found


def _repeating_pair(members: list[int], originals: list[int]) -> tuple[int, int] | None:
    """Return two of *members* with one text, the one to keep last."""
    seen: dict[int, int] = {}
    for page in members:
        other = seen.setdefault(originals[page], page)
        if other != page:
            return (other, page) if originals[other] == page else (page, other)
    return None


def _spellings(split: Sequence[Url], repeats: NDArray[np.bool_], originals: list[int]) -> list[Pattern]:
    pages: dict[str, list[int]] = defaultdict(list)
    for page in np.flatnonzero(repeats).tolist():
        original = originals[page]
        if original != page:
            for name in spelling_differences(split[page], split[original]):
                pages[name].append(page)
    return [
        _pattern(
            "spelling", name, having, repeats, (having[0], originals[having[0]]), advice.OF_SPELLING[name]
        )
        for name, having in pages.items()
    ]


def _paths(
    paths: Mapping[str, NDArray[np.int64]], repeats: NDArray[np.bool_], canonical: NDArray[np.integer]
) -> list[Pattern]:
    names = list(paths)
    path = np.zeros(len(repeats), np.int64)
    for number, having in enumerate(paths.values()):
        path[having] = number
    usual = float(repeats.mean()) if len(repeats) else 0.0
    found = []
    for name, having in paths.items():
        again = having[repeats[having]]
        if not name or len(having) > NEARLY_ALL * len(repeats):  # identifiers without slashes have no path
            continue
        if len(again) < LEAST_REPEATS or len(again) / len(having) < usual:
            continue
        copies = again[canonical[again] != again]
        sources = Counter(path[canonical[copies]].tolist())
        source, most = min(
            ((names[number], count) for number, count in sources.items()),
            key=lambda item: (-item[1], item[0]),
            default=("", 0),
        )
        page = next((p for p in copies.tolist() if names[path[canonical[p]]] == source), int(again[0]))
        example = (page, int(canonical[page]) if canonical[page] != page else -1)
        text = advice.of_path(name, len(again) / len(having), source, most / len(again))
        found.append(_pattern("path", name, having, repeats, example, text))
    return found


def by_path(split: Sequence[Url]) -> dict[str, NDArray[np.int64]]:
    """Return the pages of each path among n URLs: host and path, with the variable segments in braces.

    Positions, in order.
    """
    # URLs that begin alike have one number, which stands for that name; each round adds a segment to it.
    names: dict[str, int] = {}
    numbers = [names.setdefault(url.host, len(names)) for url in split]
    paths = [url.path.split("/", 9) for url in split]
    for depth in range(1, 9):
        values: dict[int, set[str]] = defaultdict(set)
        for page, path in enumerate(paths):
            if depth < len(path):
                path[depth] = generalise(path[depth])
                values[numbers[page]].add(path[depth])
        so_far = list(names)
        longer: dict[tuple[int, str], int] = {}
        for page, path in enumerate(paths):
            if depth < len(path):
                number, segment = numbers[page], path[depth]
                if (number, segment) not in longer:
                    many = len(values[number]) > MOST_NAMES and segment and not segment.startswith("{")
                    name = f"{so_far[number]}/{'{name}' if many else segment}"
                    longer[number, segment] = names.setdefault(name, len(names))
                numbers[page] = longer[number, segment]
    so_far = list(names)
    for page, path in enumerate(paths):
        if len(path) > 9:
            numbers[page] = names.setdefault(so_far[numbers[page]] + "/…", len(names))
    which = np.array(numbers, np.int64)
    order = np.argsort(which, kind="stable")
    found, starts = np.unique(which[order], return_index=True)
    every = list(names)
    groups = np.split(order, starts[1:])
    return {every[number]: pages for number, pages in zip(found.tolist(), groups, strict=False)}
