"""Which page of a cluster to keep: preferences over the whole crawl, in an order that can be changed.

One order of all pages serves two ends: pages are clustered in it, so the canonical page of a cluster is its
leader, and the result does not depend on the order in which pages were read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from fnmatch import translate
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import numpy as np

from scrapy_neardup.errors import ConfigurationError
from scrapy_neardup.matching.sites import UNKNOWN, host_of, site_key

from .arrays import text_places
from .urls import release_of, split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    #: Columns of n pages of which the least is preferred, the most significant first.
    SortKeys = Sequence[NDArray[np.int64] | NDArray[np.float64] | NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class Pages:
    """The n pages to rank: what the rules look at, a column each.

    Raises ValueError if their lengths differ.
    """

    urls: Sequence[str]
    #: What each page names as its canonical URL, absolute; None or empty if it names none.
    declared: Sequence[str | None]
    #: Length of the main text, in any unit.
    lengths: NDArray[np.integer]
    #: When it was fetched, in seconds since 1970; 0 or NaN if unknown.
    times: NDArray[np.integer] | NDArray[np.floating]
    #: A hash of each text. It orders pages that are equal in all else, even in their URL; uint64[n].
    digests: NDArray[np.uint64]
    #: Whether it asks search engines not to index it; bool[n].
    noindex: NDArray[np.bool_]
    #: A number for each connected component of pairs, so that all pages of a cluster have the same; and a
    #: number for each site; int[n] each.
    stories: NDArray[np.integer]
    sites: NDArray[np.integer]

    def __post_init__(self) -> None:
        columns = [getattr(self, field.name) for field in fields(self)]
        if len({len(column) for column in columns}) > 1:
            raise ValueError(f"Columns of pages have different lengths: {[len(c) for c in columns]}.")


def _urls(pages: Pages, patterns: Sequence[str]) -> SortKeys:
    """By the first of *patterns* that matches the URL."""
    if not patterns:
        return []
    tests = [re.compile(translate(pattern)) for pattern in patterns]
    places = (
        next((place for place, test in enumerate(tests) if test.match(url)), len(tests)) for url in pages.urls
    )
    return [np.fromiter(places, np.int64, len(pages.urls))]


def _hosts(pages: Pages, hosts: Sequence[str]) -> SortKeys:
    """By the first of *hosts* that the URL's host is, or is below."""
    preferred = {_spelled(host): place for place, host in reversed([*enumerate(hosts)])}
    if not preferred:
        return []
    known: dict[str, int] = {}
    places = np.empty(len(pages.urls), np.int64)
    for number, url in enumerate(pages.urls):
        host = host_of(url)
        if host not in known:
            labels = host.split(".")
            above = (".".join(labels[start:]) for start in range(len(labels)))
            known[host] = min((preferred[name] for name in above if name in preferred), default=len(hosts))
        places[number] = known[host]
    return [places]


def _spelled(host: str) -> str:
    """Return a preferred *host* as `host_of` spells it; itself if it is none, so that no page has it."""
    address = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host.strip(".")
    return host_of(f"//{address}") or host


def _site(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By what is known of all pages of a story on a site."""
    named = np.array([site_key(url) if url else UNKNOWN for url in pages.declared], np.int64)
    sites = np.asarray(pages.sites, np.int64)
    first = np.lexsort([*alphabetical(pages, ())[::-1], *shortest(pages, ())])
    places = np.empty(len(first), np.int64)
    places[first] = np.arange(len(first))
    stories, groups = np.unique(np.asarray(pages.stories, np.int64) << 32 | sites, return_inverse=True)
    columns: list[NDArray[Any]] = [sites == UNKNOWN]
    # Negative, so that the least of a site tells whether any of its pages names one of another site.
    others = -((named != UNKNOWN) & (named != sites)).astype(np.int64)
    for column in (others, *earliest(pages, ()), -_own_share(stories)[groups], places):
        least = np.full(len(stories), np.inf)
        np.minimum.at(least, groups, column)
        columns.append(least[groups])
    columns[1] = -columns[1]
    return columns


def _own_share(stories: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each of *stories*, a story on a site, the share of that site's stories that no other has.

    *stories* are ``story << 32 | site``, each once: int64[k]. Returns float64[k].
    """
    _, which, sites = np.unique(stories >> 32, return_inverse=True, return_counts=True)
    _, site = np.unique(stories & 0xFFFFFFFF, return_inverse=True)
    alone = np.bincount(site, weights=sites[which] == 1)
    share: NDArray[np.float64] = (alone / np.bincount(site))[site]
    return share


def _https(pages: Pages, _: Sequence[str]) -> SortKeys:
    return [np.fromiter((split_url(url).scheme != "https" for url in pages.urls), np.int64, len(pages.urls))]


def _declared(pages: Pages, _: Sequence[str]) -> SortKeys:
    own = [urldefrag(url).url for url in pages.urls]
    named = [urldefrag(url).url if url else "" for url in pages.declared]
    targets = set(named)
    standing = (standing_of(url, by, url in targets) for url, by in zip(own, named, strict=True))
    return [np.fromiter(standing, np.int64, len(own))]


def standing_of(own: str, named: str, is_target: bool) -> int:
    """Return 0 for a page that *named* itself as canonical, or that others name and that names none.

    1 is a page that no page names, 2 one that names another one. URLs are without fragments.
    """
    return 0 if (named == own or (not named and is_target)) else 2 if named else 1


def _latest(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By the release that the path names, the newest first; without one, and of one, by time."""
    releases = [release_of(url).order for url in pages.urls]
    places = {release: place for place, release in enumerate(sorted(set(releases), reverse=True))}
    newest = np.fromiter((places[release] for release in releases), np.int64, len(releases))
    times = np.asarray(pages.times, np.float64)
    return [newest, np.where(times > 0, -times, np.inf)]


def longest(pages: Pages, _: Sequence[str]) -> SortKeys:
    return [-np.asarray(pages.lengths, np.int64)]


def earliest(pages: Pages, _: Sequence[str]) -> SortKeys:
    times = np.asarray(pages.times, np.float64)
    return [np.where(times > 0, times, np.inf)]


def shortest(pages: Pages, _: Sequence[str]) -> SortKeys:
    return [np.fromiter((len(unquote(url)) for url in pages.urls), np.int64, len(pages.urls))]


def alphabetical(pages: Pages, _: Sequence[str]) -> SortKeys:
    """By the decoded URL; of those that decode to the same, by the URL as it is written."""
    return [text_places([unquote(url) for url in pages.urls]), text_places(pages.urls)]


#: By the name of each rule, the function that makes its columns of the pages and what the user prefers.
COLUMNS: dict[str, Callable[[Pages, Sequence[str]], SortKeys]] = {
    "urls": _urls,
    "hosts": _hosts,
    "site": _site,
    "https": _https,
    "declared": _declared,
    "longest": longest,
    "earliest": earliest,
    "shortest": shortest,
    "alphabetical": alphabetical,
    "latest": _latest,
}


#: All rules by which a canonical page can be chosen; and those that are used by default, in their order.
ALL_RULES = tuple(COLUMNS)
RULES = tuple(name for name in ALL_RULES if name != "latest")


def parse_rules(text: str) -> tuple[str, ...]:
    """Return the rules of a list such as ``https,longest``.

    Raises `ConfigurationError` for unknown and repeated ones.
    """
    return check_rules([name.strip() for name in text.split(",") if name.strip()])


def check_rules(rules: Sequence[str]) -> tuple[str, ...]:
    """Return *rules*. Raises `ConfigurationError` for unknown and repeated ones."""
    if unknown := [rule for rule in rules if rule not in COLUMNS]:
        raise ConfigurationError(f"There is no rule {unknown[0]!r}: use some of {', '.join(ALL_RULES)}.")
    if len(set(rules)) < len(rules):
        raise ConfigurationError(f"A rule is given twice in {','.join(rules)!r}: name each once.")
    return tuple(rules)


def canonical_ranks(
    pages: Pages,
    rules: Sequence[str] | None = None,
    hosts: Sequence[str] = (),
    urls: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep before all others; int64[n], all different.

    Pages that ask not to be indexed come last, whatever the rules: their copies are all that can be found.
    *rules* are names of `ALL_RULES`, the most important first. None means those of `RULES`, in their order.
    Rules that are left out do not count. The rules prefer:

    - ``urls``: a page whose URL one of the patterns *urls* matches, in which * stands for anything and ? for
      one character; the first of *urls* before the second.
    - ``hosts``: a page on one of *hosts*, or on a host below it; the first of *hosts* before the second.
    - ``site``: the better of the sites that have the story. A copier cannot choose what this rule looks at,
      such as the length of a text. A site that is known comes before one that is not. A site of which no
      page names a page of another site as its canonical URL comes before others. Then the site comes first
      that the story was fetched from first; then the one with the largest share of stories that no other
      site has; then the one with the shortest URL.
    - ``https``: a page under https.
    - ``declared``: a page that names itself as the canonical URL, or that others name and that names no
      other. A page that names another one comes last.
    - ``latest``: the newest release that a part of the path names, such as ``/2.10/`` or ``/stable/``, then
      the page fetched last. It is not among `RULES`.
    - ``longest``: the longest main text.
    - ``earliest``: the page fetched first. Pages without a time come last.
    - ``shortest``: the URL with the fewest characters once percent-decoded.
    - ``alphabetical``: the first of the decoded URLs.

    Pages that the rules leave equal are ordered by URL, time, length and digest, so the order does not
    depend on how pages are numbered. Only pages that are equal in all of these are ordered by number. Raises
    `ConfigurationError` for unknown and repeated rules.
    """
    columns: list[NDArray[Any]] = [pages.noindex]
    rules = RULES if rules is None else check_rules(rules)
    preferences = {"hosts": hosts, "urls": urls}
    for rule in rules:
        columns += COLUMNS[rule](pages, preferences.get(rule, ()))
    if "alphabetical" not in rules:
        columns += alphabetical(pages, ())
    columns += (*earliest(pages, ()), *longest(pages, ()), pages.digests)
    order = np.lexsort(columns[::-1])
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
