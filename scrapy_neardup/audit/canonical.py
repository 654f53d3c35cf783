"""Which page of a cluster to keep: one order of all pages. The leader of a cluster is its first."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urldefrag

import numpy as np

from scrapy_neardup.matching.sites import UNKNOWN, host_of, site_key

from .arrays import text_places
from .urls import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


class Pages(NamedTuple):
    """The n pages to rank: what the rules look at, a column each."""

    urls: Sequence[str]
    #: What each page names as its canonical URL, absolute; None or empty if it names none.
    declared: Sequence[str | None]
    #: Length of the main text; when it was fetched, in seconds since 1970, 0 or NaN if unknown.
    lengths: NDArray[np.integer]
    times: NDArray[np.integer] | NDArray[np.floating]
    #: A hash of each text. It orders pages that are equal in all else, even in their URL; uint64[n].
    digests: NDArray[np.uint64]
    #: Whether it asks search engines not to index it; bool[n].
    noindex: NDArray[np.bool_]
    #: A number for each connected component of pairs, and one for each site; int[n] each.
    stories: NDArray[np.integer]
    sites: NDArray[np.integer]


def ranks_of(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the place of each row in the order of *columns*, the most significant first; int64[n]."""
    return np.argsort(np.lexsort(columns[::-1]))


def canonical_ranks(pages: Pages, hosts: Sequence[str] = (), urls: Sequence[str] = ()) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep before all others; int64[n], all different.

    docs/audit.md has the rules; *urls* are patterns. The order does not depend on how pages are numbered.
    """
    alone = facts_of(pages, hosts, urls)
    decoded, written = text_places([unquote(url) for url in pages.urls]), text_places(pages.urls)
    # By the canonical URL that pages name: those that are named, or name themselves; no others' last.
    own, named = ([urldefrag(url or "").url for url in column] for column in (pages.urls, pages.declared))
    targets = {*named}
    declared = [
        0 if by == url or (not by and url in targets) else 1 + bool(by)
        for url, by in zip(own, named, strict=True)
    ]
    by_site = _by_site(pages, alone["earliest"], ranks_of([alone["length"], decoded, written]))
    return ranks_of([
        pages.noindex, alone["urls"], alone["hosts"], *by_site, alone["https"], np.array(declared, np.int64),
        alone["longest"], alone["earliest"], alone["length"], decoded, written, pages.digests,
    ])  # fmt: skip


def facts_of(pages: Pages, hosts: Sequence[str], urls: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return what the order looks at in one page alone, n each: the less, the more it is preferred."""
    tests = [re.compile(translate(pattern)) for pattern in urls]
    ends = [f".{_spelled(host)}" for host in hosts]
    times = np.asarray(pages.times, np.float64)
    numbers = {
        "urls": (_first(test.match(url) for test in tests) for url in pages.urls),
        "hosts": (_first(f".{host_of(url)}".endswith(end) for end in ends) for url in pages.urls),
        "https": (split_url(url).scheme != "https" for url in pages.urls),
        "length": (len(unquote(url)) for url in pages.urls),
    }
    found: dict[str, NDArray[Any]] = {name: np.array([*each], np.int64) for name, each in numbers.items()}
    times = np.where(times > 0, times, np.inf)
    return {**found, "longest": -np.asarray(pages.lengths, np.int64), "earliest": times}


def _first(found: Iterable[object]) -> int:
    """Return the place of the first that holds, or else how many there are."""
    truths = [bool(each) for each in found]
    return truths.index(True) if True in truths else len(truths)


def _spelled(host: str) -> str:
    """Return a preferred *host* as `host_of` spells it; itself if it is none, so that no page has it."""
    address = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host.strip(".")
    return host_of(f"//{address}") or host


def _by_site(
    pages: Pages, earliest: NDArray[np.float64], places: NDArray[np.int64]
) -> Sequence[NDArray[np.float64]]:
    """Return what is known of all pages of a story on a site; *places* order the pages by URL.

    A copier cannot choose any of it.
    """
    named = np.array([site_key(url) if url else UNKNOWN for url in pages.declared], np.int64)
    sites = np.asarray(pages.sites, np.int64)
    stories, groups = np.unique(np.asarray(pages.stories, np.int64) << 32 | sites, return_inverse=True)
    # The share of a site's stories that no other site has.
    story, counts = np.unique(stories >> 32, return_inverse=True, return_counts=True)[1:]
    site = np.unique(stories & 0xFFFFFFFF, return_inverse=True)[1]
    share = (np.bincount(site, weights=counts[story] == 1) / np.bincount(site))[site]
    others = ((named != UNKNOWN) & (named != sites)).astype(np.int64)
    columns = [(sites == UNKNOWN).astype(np.float64)]
    for column in (-others, earliest, -share[groups], places):
        least = np.full(len(stories), np.inf)
        np.minimum.at(least, groups, column)
        columns.append(least[groups])
    columns[1] *= -1  # one page that names another site is enough
    return columns
