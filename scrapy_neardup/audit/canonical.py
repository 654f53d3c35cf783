"""Which page of a cluster to keep: one order of all pages. The leader of a cluster is its first."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import numpy as np

from scrapy_neardup.matching.records import DIGEST
from scrapy_neardup.matching.sites import UNKNOWN, host_of, site_key

from .arrays import text_places
from .urls import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .crawl import Crawl


def ranks_of(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the place of each row in the order of *columns*, the most significant first; int64[n]."""
    return np.argsort(np.lexsort(columns[::-1]))


def canonical_ranks(
    crawl: Crawl, stories: NDArray[np.integer], hosts: Sequence[str] = (), urls: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep before all others; int64[n], all different.

    *stories* number the connected components of pairs (int[n]). docs/audit.md has the rules; *urls* are
    patterns. The order does not depend on how pages are numbered.
    """
    alone = facts_of(crawl.urls, crawl.tokens, crawl.fetched, hosts, urls)
    decoded, written = text_places([unquote(url) for url in crawl.urls]), text_places(crawl.urls)
    # By the canonical URL that pages name: those that are named, or name themselves; no others' last.
    own, named = ([urldefrag(url).url for url in column] for column in (crawl.urls, crawl.declared))
    targets = {*named}
    declared = [
        0 if by == url or (not by and url in targets) else 1 + bool(by)
        for url, by in zip(own, named, strict=True)
    ]
    by_site = _by_site(crawl, stories, alone["earliest"], ranks_of([alone["length"], decoded, written]))
    # A hash of the text orders pages that are equal in all else, even in their URL.
    return ranks_of([
        crawl.noindex, alone["urls"], alone["hosts"], *by_site, alone["https"], np.array(declared, np.int64),
        alone["longest"], alone["earliest"], alone["length"], decoded, written, crawl.documents.keys[DIGEST],
    ])  # fmt: skip


def facts_of(
    urls: Sequence[str],
    lengths: NDArray[Any],
    times: NDArray[Any],
    hosts: Sequence[str],
    patterns: Sequence[str],
) -> dict[str, NDArray[Any]]:
    """Return what is preferred in a page alone, the less the more, n each; *times* 0 and NaN: not known."""
    tests = [re.compile(translate(pattern)) for pattern in patterns]
    ends = [f".{_spelled(host)}" for host in hosts]
    numbers = {
        "urls": (_first(test.match(url) for test in tests) for url in urls),
        "hosts": (_first(f".{host_of(url)}".endswith(end) for end in ends) for url in urls),
        "https": (split_url(url).scheme != "https" for url in urls),
        "length": (len(unquote(url)) for url in urls),
    }
    found: dict[str, NDArray[Any]] = {name: np.array([*each], np.int64) for name, each in numbers.items()}
    earliest = np.where(times > 0, times, np.inf)
    return {**found, "longest": -lengths.astype(np.int64), "earliest": earliest}


def _first(found: Iterable[object]) -> int:
    """Return the place of the first that holds, or else how many there are."""
    truths = [bool(each) for each in found]
    return truths.index(True) if True in truths else len(truths)


def _spelled(host: str) -> str:
    """Return a preferred *host* as `host_of` spells it; itself if it is none, so that no page has it."""
    address = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host.strip(".")
    return host_of(f"//{address}") or host


def _by_site(
    crawl: Crawl, story: NDArray[np.integer], earliest: NDArray[np.float64], places: NDArray[np.int64]
) -> Sequence[NDArray[np.float64]]:
    """Return what no copier can choose, of all pages of a story on a site; *places* order pages by URL."""
    named = np.array([site_key(url) if url else UNKNOWN for url in crawl.declared], np.int64)
    sites = crawl.documents.records["site"].astype(np.int64)
    stories, groups = np.unique(story.astype(np.int64) << 32 | sites, return_inverse=True)
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
