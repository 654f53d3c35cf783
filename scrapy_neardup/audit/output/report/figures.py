"""What a report counts of all pages of a crawl, and what leads to repeats: URL parameters and paths.

A parameter is judged by experiment, which the crawl has made already: among pages whose URLs differ in
nothing else, how often is the text the same? Paths are generalised until they have few patterns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_neardup.audit.model import VERDICTS
from scrapy_neardup.audit.output.summary import count_hosts, count_verdicts
from scrapy_neardup.audit.urls import generalise, parameter_name, split_url
from scrapy_neardup.clock import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_neardup.audit.urls import Url

    from .data import ReportData

#: Sizes from which on clusters are counted together, and how the report calls them.
SIZES = {
    2: "2", 3: "3", 4: "4–5", 6: "6–10", 11: "11–20", 21: "21–50", 51: "51–100", 101: "101–1000",
    1001: "> 1000",
}  # fmt: skip
#: Bars of the chart of similarities, from 0 to 1.
BARS = 20
#: Times are known up to here, in seconds since 1970.
LAST_SECOND = 2**32
#: Of each kind, the causes with the most repeats.
MOST = 40
#: Causes with fewer repeats than this are chance.
LEAST_REPEATS = 2
#: A path segment with more values than this is a variable; segments after these are not told apart.
MOST_NAMES, MOST_SEGMENTS = 12, 8
#: A path that more of all pages follow than this says nothing of the repeats among them.
NEARLY_ALL = 0.9


def count_figures(data: ReportData, most_hosts: int) -> dict[str, Any]:
    """Return the figures of *data* as JSON has them.

    Of hosts the *most_hosts* with the most repeats are listed, the others are one row; so many pairs of hosts
    are listed.
    """
    pages, urls = data.pages, data.pages["url"].tolist()
    split = [split_url(url) for url in urls]
    repeats = np.isin(pages["verdict"], ("exact", "near"))
    canonical = data.canonical_rows()
    hosts = count_hosts(pages)
    sizes = data.sizes()
    return {
        "pageCount": len(pages),
        "clusterCount": len(data.clusters),
        "largest": int(sizes.max(initial=0)),
        "verdicts": count_verdicts(pages["verdict"]),
        "hosts": [*hosts[:most_hosts], *_together(hosts[most_hosts:])],
        "hostPairs": _pairs_of_hosts(urls, split, repeats, canonical)[:most_hosts],
        "days": _days(pages),
        "sizes": list(zip(SIZES.values(), np.histogram(sizes, [*SIZES, np.inf])[0].tolist(), strict=True)),
        "similarities": _similarities(data),
        "causes": [cause._asdict() for cause in find_causes(urls, split, repeats, canonical)],
    }


def _together(hosts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one row for all *hosts*, if there are some."""
    if hosts:
        sums = {name: sum(row[name] for row in hosts) for name in ("pages", *VERDICTS)}
        yield {"host": f"({len(hosts):,} other hosts)", **sums}


def _pairs_of_hosts(
    urls: Sequence[str], split: Sequence[Url], repeats: NDArray[np.bool_], canonical: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return the pairs of hosts of which one has pages that repeat pages of the other; the most first."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[str]] = {}
    for page in np.flatnonzero(repeats).tolist():
        original = int(canonical[page])
        pair = (split[page].host, split[original].host)
        if pair[0] != pair[1]:
            counts[pair] += 1
            examples.setdefault(pair, [urls[page], urls[original]])
    rows = [
        {
            "a": one,
            "b": other,
            "ab": count,
            "ba": counts.get((other, one), 0),
            "example": examples[one, other],
        }
        for (one, other), count in counts.items()
        # The host that repeats the other more often is named first.
        if (count, other) > (counts[other, one], one)
    ]
    return sorted(rows, key=lambda row: (-row["ab"] - row["ba"], row["a"], row["b"]))


def _days(pages: NDArray[Any]) -> list[tuple[int, dict[str, int]]]:
    """Return the days since 1970 on which pages were fetched, each with its pages by verdict."""
    pages = pages[(pages["fetched"] >= 0) & (pages["fetched"] < LAST_SECOND)]  # not NaN
    day = (pages["fetched"] // SECONDS_PER_DAY).astype(np.int64)
    return [(each, count_verdicts(pages["verdict"][day == each])) for each in np.unique(day).tolist()]


def _similarities(data: ReportData) -> list[list[int]]:
    """Count the pairs whose texts are not equal by twentieths of their similarity: taken ones, others."""
    pairs = data.pairs[data.pairs["kind"] != "exact"]
    refused = np.isin(pairs["kind"], ("rejected", "template"))
    # A similarity of 0.8 is written as 0.80000001 or 0.79999999.
    similarities = np.round(pairs["similarity"].astype(np.float64), 4)
    bars = (np.histogram(similarities[each], BARS, (0, 1))[0].tolist() for each in (~refused, refused))
    return [list(bar) for bar in zip(*bars, strict=True)]


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
    #: The URLs of a page, and of the page that it repeats.
    example: list[str]


def find_causes(
    urls: Sequence[str], split: Sequence[Url], repeats: NDArray[np.bool_], canonical: NDArray[np.int64]
) -> list[Cause]:
    """Find what n URLs have in common that leads to repeats; of each kind those with the most first.

    *split* has the parts of the *urls*. *repeats* (bool[n]) says which pages repeat their *canonical* page
    (row, int64[n]; its own if there is none).
    """
    originals = canonical.tolist()
    return [
        *_best(_parameters(urls, split, repeats, originals)),
        *_best(_paths(urls, split, repeats, canonical)),
    ]


def _best(causes: Iterator[Cause]) -> list[Cause]:
    kept = [cause for cause in causes if cause.repeats >= LEAST_REPEATS]
    return sorted(kept, key=lambda cause: (-cause.repeats, cause.name))[:MOST]


def _parameters(
    urls: Sequence[str], split: Sequence[Url], repeats: NDArray[np.bool_], originals: list[int]
) -> Iterator[Cause]:
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
        again = int(repeats[having].sum())
        if not again:
            continue
        compared = same = 0
        for key, group in alike[name].items():
            members = [complete[key], *group] if key in complete else group
            compared += len(members) - 1
            same += len(members) - len({originals[page] for page in members})
        page = next(page for page in having if repeats[page])
        said = f"Alone, it left the text the same in {same:,} of {compared:,} comparisons."
        yield Cause(
            "parameter", name, len(having), again, said if compared else "", _example(urls, page, originals)
        )


def _paths(
    urls: Sequence[str], split: Sequence[Url], repeats: NDArray[np.bool_], canonical: NDArray[np.int64]
) -> Iterator[Cause]:
    paths = path_patterns(split)
    pages: dict[str, list[int]] = defaultdict(list)
    for page, name in enumerate(paths):
        pages[name].append(page)
    usual = float(repeats.mean()) if len(repeats) else 0.0
    for name, having in pages.items():
        again = [page for page in having if repeats[page]]
        # Identifiers without slashes have no path.
        if not name or len(having) > NEARLY_ALL * len(repeats) or len(again) < usual * len(having):
            continue
        sources = Counter(paths[canonical[page]] for page in again if canonical[page] != page)
        if not sources:
            continue
        source, most = min(sources.items(), key=lambda each: (-each[1], each[0]))
        page = next(page for page in again if canonical[page] != page and paths[canonical[page]] == source)
        said = f"{most / len(again):.0%} of its repeats are of {source}."
        yield Cause("path", name, len(having), len(again), said, _example(urls, page, canonical.tolist()))


def _example(urls: Sequence[str], page: int, originals: list[int]) -> list[str]:
    return [urls[page]] if originals[page] == page else [urls[page], urls[originals[page]]]


def path_patterns(split: Sequence[Url]) -> list[str]:
    """Return what the path of each of n URLs follows: host and path, with variable segments in braces."""
    names = [url.host for url in split]
    paths = [[generalise(part) for part in url.path.split("/", MOST_SEGMENTS + 1)[1:]] for url in split]
    for depth in range(MOST_SEGMENTS):
        values: dict[str, set[str]] = defaultdict(set)
        for name, path in zip(names, paths, strict=True):
            if depth < len(path):
                values[name].add(path[depth])
        many = {name for name, found in values.items() if len(found) > MOST_NAMES}
        for page, path in enumerate(paths):
            if depth < len(path):
                name, segment = names[page], path[depth]
                variable = name in many and segment and not segment.startswith("{")
                names[page] = f"{name}/{'{name}' if variable else segment}"
    return [
        f"{name}/…" if len(path) > MOST_SEGMENTS else name for name, path in zip(names, paths, strict=True)
    ]
