"""Which page of a cluster to keep: one order of all pages. The leader of a cluster is its first."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urldefrag

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.sites import UNKNOWN, host_of, site_key

from .arrays import text_places
from .urls import release_of, split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    #: Columns of n pages of which the least is preferred, the most significant first.
    SortKeys = Sequence[NDArray[np.int64] | NDArray[np.float64] | NDArray[np.uint64]]


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


def _numbers(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array([*values], np.int64)


def _urls(pages: Pages, patterns: Sequence[str]) -> SortKeys:
    """By the first of *patterns* that matches the URL."""
    tests = [re.compile(translate(pattern)) for pattern in patterns]
    return [_numbers(_first(bool(test.match(url)) for test in tests) for url in pages.urls)]


def _hosts(pages: Pages, hosts: Sequence[str]) -> SortKeys:
    """By the first of *hosts* that the URL's host is, or is below."""
    ends = [f".{_spelled(host)}" for host in hosts]
    return [_numbers(_first(f".{host_of(url)}".endswith(end) for end in ends) for url in pages.urls)]


def _first(found: Iterable[bool]) -> int:
    """Return the place of the first that holds, or else how many there are."""
    place = 0
    for place, holds in enumerate(found, 1):
        if holds:
            return place - 1
    return place


def _spelled(host: str) -> str:
    """Return a preferred *host* as `host_of` spells it; itself if it is none, so that no page has it."""
    address = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host.strip(".")
    return host_of(f"//{address}") or host


def _site(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By what is known of all pages of a story on a site. A copier cannot choose any of it."""
    named = _numbers(site_key(url) if url else UNKNOWN for url in pages.declared)
    sites = np.asarray(pages.sites, np.int64)
    places = _ranks([*shortest(pages, ()), *alphabetical(pages, ())])
    stories, groups = np.unique(np.asarray(pages.stories, np.int64) << 32 | sites, return_inverse=True)
    # The share of a site's stories that no other site has.
    story, counts = np.unique(stories >> 32, return_inverse=True, return_counts=True)[1:]
    site = np.unique(stories & 0xFFFFFFFF, return_inverse=True)[1]
    share = (np.bincount(site, weights=counts[story] == 1) / np.bincount(site))[site]

    def least(column: NDArray[Any]) -> NDArray[np.float64]:
        found = np.full(len(stories), np.inf)
        np.minimum.at(found, groups, column)
        return found[groups]

    others = ((named != UNKNOWN) & (named != sites)).astype(np.int64)
    columns = [*earliest(pages, ()), -share[groups], places]
    return [(sites == UNKNOWN).astype(np.int64), -least(-others), *map(least, columns)]


def _https(pages: Pages, _: Sequence[str]) -> SortKeys:
    return [_numbers(split_url(url).scheme != "https" for url in pages.urls)]


def _declared(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By the canonical URL that pages name: those that are named, or name themselves; no others' last."""
    own, named = ([urldefrag(url or "").url for url in urls] for urls in (pages.urls, pages.declared))
    targets = {*named}
    pairs = zip(own, named, strict=True)
    return [_numbers(0 if by == url or (not by and url in targets) else 1 + bool(by) for url, by in pairs)]


def _latest(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By the release that the path names, the newest first; without one, and of one, by time."""
    releases = [release_of(url).order for url in pages.urls]
    places = {release: place for place, release in enumerate(sorted(set(releases), reverse=True))}
    times = np.asarray(pages.times, np.float64)
    return [_numbers(places[release] for release in releases), np.where(times > 0, -times, np.inf)]


def longest(pages: Pages, _: Sequence[str]) -> SortKeys:
    return [-np.asarray(pages.lengths, np.int64)]


def earliest(pages: Pages, _: Sequence[str]) -> SortKeys:
    times = np.asarray(pages.times, np.float64)
    return [np.where(times > 0, times, np.inf)]


def shortest(pages: Pages, _: Sequence[str]) -> SortKeys:
    return [_numbers(len(unquote(url)) for url in pages.urls)]


def alphabetical(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By the decoded URL; of those that decode to the same, by the URL as it is written."""
    return [text_places([unquote(url) for url in pages.urls]), text_places(pages.urls)]


#: By the name of each rule, the function that makes its columns of the pages and what the user prefers.
COLUMNS: dict[str, Callable[[Pages, Sequence[str]], SortKeys]] = {
    "urls": _urls, "hosts": _hosts, "site": _site, "https": _https, "declared": _declared,
    "longest": longest, "earliest": earliest, "shortest": shortest, "alphabetical": alphabetical,
    "latest": _latest,
}  # fmt: skip
#: All rules by which a canonical page can be chosen; and those that are used by default, in their order.
ALL_RULES = tuple(COLUMNS)
RULES = tuple(name for name in ALL_RULES if name != "latest")


def check_rules(rules: Sequence[str]) -> Sequence[str]:
    """Return *rules*. Raises `ConfigurationError` for unknown and repeated ones."""
    if unknown := [rule for rule in rules if rule not in COLUMNS]:
        raise ConfigurationError(f"There is no rule {unknown[0]!r}: use some of {', '.join(ALL_RULES)}.")
    if len(set(rules)) < len(rules):
        raise ConfigurationError(f"A rule is given twice in {','.join(rules)!r}: name each once.")
    return rules


def canonical_ranks(
    pages: Pages,
    rules: Sequence[str] | None = None,
    hosts: Sequence[str] = (),
    urls: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep before all others; int64[n], all different.

    Pages that ask not to be indexed come last, whatever the rules: their copies are all that can be found.
    *rules* are names of `ALL_RULES`, the most important first, as docs/audit.md describes them; None means
    `RULES`. *hosts* are those that the rule ``hosts`` prefers, *urls* patterns of the rule ``urls``, in which
    * stands for anything and ? for one character. Pages that the rules leave equal are ordered by URL, time,
    length and digest, so the order does not depend on how pages are numbered. Raises `ConfigurationError`
    for unknown and repeated rules.
    """
    columns: list[NDArray[Any]] = [pages.noindex]
    rules = RULES if rules is None else check_rules(rules)
    preferences = {"hosts": hosts, "urls": urls}
    for rule in rules:
        columns += COLUMNS[rule](pages, preferences.get(rule, ()))
    columns += alphabetical(pages, ())
    columns += (*earliest(pages, ()), *longest(pages, ()), pages.digests)
    return _ranks(columns)


def _ranks(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the place of each row in the order of *columns*, the most significant first; int64[n]."""
    order = np.lexsort(columns[::-1])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
