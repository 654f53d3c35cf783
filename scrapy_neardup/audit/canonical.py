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

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .crawl import Crawl


def canonical_ranks(
    crawl: Crawl, stories: NDArray[np.int64], hosts: Sequence[str] = (), urls: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep before all others; int64[n], all different.

    *stories* number the connected components of pairs (int[n]). docs/audit.md has the rules; *urls* are
    patterns. The order does not depend on how pages are numbered.
    """
    sites = crawl.documents.records["site"].astype(np.int64)
    # The share of a site's stories that no other site has.
    told, which = np.unique(stories << 32 | sites, return_inverse=True)
    story, counts = np.unique(told >> 32, return_inverse=True, return_counts=True)[1:]
    site = np.unique(told & 0xFFFFFFFF, return_inverse=True)[1]
    shares = (np.bincount(site, weights=counts[story] == 1) / np.bincount(site))[site][which]
    columns = order_of(crawl, stories, shares, hosts, urls).values()
    keys = [text_places(each) if isinstance(each, list) else each for each in columns]
    return np.argsort(np.lexsort(keys[::-1]))


def order_of(
    crawl: Crawl,
    stories: NDArray[np.int64],
    shares: NDArray[np.float64],
    hosts: Sequence[str],
    patterns: Sequence[str],
) -> dict[str, Any]:
    """Return what n pages of whole *stories* (int64[n]) are ordered by, the most significant first.

    *shares* (float64[n]): of the stories of a page's site, which share no other site has. Columns of n each.
    """
    urls, sites = crawl.urls, crawl.documents.records["site"].astype(np.int64)
    groups = np.unique(stories << 32 | sites, return_inverse=True)[1]  # of a story on a site

    def most(column: NDArray[Any]) -> NDArray[np.float64]:
        found = np.full(len(urls), -np.inf)
        np.maximum.at(found, groups, column)
        return found[groups]

    tests = [re.compile(translate(pattern)) for pattern in patterns]
    ends = [f".{_spelled(host)}" for host in hosts]
    decoded = [unquote(url) for url in urls]
    lengths = np.array([*map(len, decoded)], np.int64)
    # By the canonical URL that pages name: those that are named, or name themselves; no others' last.
    own, named = ([urldefrag(url).url for url in column] for column in (urls, crawl.declared))
    targets = {*zip(stories.tolist(), named, strict=True)}
    declared = [
        0 if by == url or (not by and (story, url) in targets) else 1 + bool(by)
        for story, url, by in zip(stories.tolist(), own, named, strict=True)
    ]
    other = np.array([site_key(url) if url else UNKNOWN for url in crawl.declared], np.int64)
    earliest = np.where(crawl.fetched > 0, crawl.fetched, np.inf)
    # What no copier can choose is of all pages of a story on a site; so is the first of their URLs.
    by_url = np.lexsort((text_places(urls), text_places(decoded), lengths))
    first = by_url[np.unique(groups[by_url], return_index=True)[1]][groups]
    # A hash of the text orders pages that are equal in all else, even in their URL.
    return {
        "noindex": crawl.noindex,
        "urls": np.array([_first(test.match(url) for test in tests) for url in urls], np.int64),
        "hosts": np.array([_first(f".{host_of(url)}".endswith(end) for end in ends) for url in urls], int),
        "unknown": sites == UNKNOWN,
        "of_other": most((other != UNKNOWN) & (other != sites)),
        "first": -most(-earliest),
        "alike": -shares,
        "least_length": lengths[first],
        "least_decoded": [decoded[row] for row in first.tolist()],
        "least_url": [urls[row] for row in first.tolist()],
        "https": np.array([url.strip()[:6].lower() != "https:" for url in urls], bool),
        "declared": np.array(declared, np.int64),
        "longest": -crawl.tokens.astype(np.int64),
        "earliest": earliest,
        "length": lengths,
        "decoded": decoded,
        "url": urls,
        "digest": crawl.documents.keys[DIGEST],
    }


def _first(found: Iterable[object]) -> int:
    """Return the place of the first that holds, or else how many there are."""
    truths = [bool(each) for each in found]
    return truths.index(True) if True in truths else len(truths)


def _spelled(host: str) -> str:
    """Return a preferred *host* as `host_of` spells it; itself if it is none, so that no page has it."""
    address = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host.strip(".")
    return host_of(f"//{address}") or host
