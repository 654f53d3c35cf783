"""From the pages of a crawl to clusters around those to keep, verdicts and pairs, and the tables of these."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote, urldefrag

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrapy_neardup.matching.counters import LONGEST_ON_SITES, SITES
from scrapy_neardup.matching.items import ItemNotes, other_amounts, unpack
from scrapy_neardup.matching.matcher import Judgement
from scrapy_neardup.matching.records import DIGEST, URL, filed_url
from scrapy_neardup.matching.rules import jaccard_asked
from scrapy_neardup.matching.sites import TOLD, UNKNOWN, host_of, may_be_one, site_key

from .all_pairs import Compared, Flags, PairJudge, Rows, compare_all
from .arrays import begins, places, ranges, text_places
from .crawl import Crawl
from .model import CLUSTERS, NO_DISTANCE, PAGES, PAIRS
from .names import Names
from .options import AuditOptions

#: A page that is less similar than the rules ask is a part of another if this share of its text is in that,
#: and if its length is at most this share of the other's, which so has much else.
PART, LENGTH = 0.75, 0.8


def cluster(
    crawl: Crawl, settings: AuditOptions, advance: Callable[[int], None]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Compare all pages, group the duplicates around their canonical pages; return the tables of `Audit`."""
    judge = judge_of(crawl, settings, np.zeros(len(crawl), bool))
    compared = compare_all(judge, advance=advance)
    near, template = compared.judgement.near, compared.judgement.template
    edges = np.stack((compared.a[near], compared.b[near]), axis=1)
    ranks = canonical_ranks(crawl, components(len(crawl), edges), settings.hosts, settings.urls)
    # A crawl that met the pages by their ranks would file the second of such a pair as one of a template.
    # Nothing but an equal text repeats it: where other numbers agree, that is chance.
    a, b = compared.a[template], compared.b[template]
    later, siblings = np.zeros(len(crawl), bool), np.zeros(len(crawl), bool)
    later[np.where(ranks[a] < ranks[b], b, a)] = True
    siblings[a] = siblings[b] = True
    table = group_pages(crawl, replace(judge, template=later), edges, ranks, siblings)
    return table, number_clusters(table), pairs_table(judge, compared)


@dataclass(frozen=True)
class AuditJudge(PairJudge):
    """Judges pairs by the rules, then asks for the similarity *least* and, unless texts are equal, one name.

    A page of a *template* (bool[n]) is repeated only by its versions in other releases, as *names* tell.
    """

    template: Flags
    least: float
    names: Names

    def judge(self, a: Rows, b: Rows) -> Judgement:
        found = super().judge(a, b)
        notes, sites, names = self.documents.notes, self.documents.records["site"], self.names
        alike, other, again = np.ones(len(a), bool), np.zeros(len(a), bool), np.zeros(len(a), bool)
        of_one_site = may_be_one(sites[a], sites[b])
        rows = np.flatnonzero(found.near | found.fuller)
        columns = (rows, a[rows], b[rows], of_one_site[rows], of_one_site[rows] & ~found.exact[rows])
        for pair, one, two, together, named in zip(*(each.tolist() for each in columns), strict=True):
            if notes[one] != notes[two]:
                alike[pair] = not notes_differ(notes[one], notes[two], one_site=together)
            if named:
                other[pair], again[pair] = names.differ(one, two), names.are_releases(one, two)
        near = found.near & alike & (found.similarity >= np.float32(self.least))
        siblings = near & ~found.exact & (other | (self.template[b] & ~again))
        return found._replace(
            exact=found.exact & alike, near=near & ~siblings, fuller=found.fuller & alike,
            template=found.template | siblings,
        )  # fmt: skip


def judge_of(crawl: Crawl, settings: AuditOptions, template: Flags) -> AuditJudge:
    """Return what judges pairs of pages, of which some are known to be of a *template* (bool[n])."""
    matcher, least = settings.matcher, settings.min_similarity
    return AuditJudge(crawl.documents, crawl.long, matcher, template, least, crawl.names)


def group_pages(crawl: Crawl, judge: AuditJudge, edges: Rows, ranks: Rows, siblings: Flags) -> NDArray[Any]:
    """Group pages around canonical pages; return their table, as `Audit.pages`, clusters not yet numbered.

    *edges* (int64[m, 2]) are pairs of duplicates, *siblings* (bool[n]) pages in a pair of a template.
    """

    def repeats(kept: Rows, pages: Rows) -> Flags:
        return judge.judge(pages, kept).near

    own, leaders = np.arange(len(crawl)), leader_clusters(ranks, edges, repeats)
    # Two pages whose items differ may be like one page of another site, where only the text decides. The one
    # that is preferred stays. The others are clustered apart, until no two of a cluster differ.
    apart = _differing(leaders, judge, ranks)
    while apart.any():
        again = leader_clusters(ranks, edges[apart[edges].all(axis=1)], repeats)
        leaders = np.where(apart, again, leaders)
        apart = _differing(np.where(apart, again, own), judge, ranks)
    spread = _spread(crawl, leaders)
    return _pages_table(crawl, judge, siblings, np.where(spread, own, leaders), ranks, spread)


def _differing(leaders: Rows, judge: AuditJudge, ranks: Rows) -> Flags:
    """Tell which pages have items unlike those of a better page of their site and cluster; bool[n]."""
    notes, sites = judge.documents.notes, judge.documents.records["site"]
    found = np.zeros(len(leaders), bool)
    rows = np.flatnonzero((np.bincount(leaders) > 1)[leaders] & np.array([*map(bool, notes)], bool))
    rows = rows[np.lexsort((ranks[rows], sites[rows], leaders[rows]))]
    new = begins(leaders[rows]) | begins(sites[rows])
    several = ~(new & np.append(new[1:], True)[: len(new)])
    rows = rows[several]
    for own in np.split(rows, np.flatnonzero(new[several])[1:]) if len(rows) else ():
        found[own[[*clashing_notes(notes[row] for row in own.tolist())]]] = True
    return found


@lru_cache(maxsize=1 << 12)
def notes_differ(one: bytes, other: bytes, *, one_site: bool = True) -> bool:
    """Tell whether two notes differ: on one site in any field, on two in an amount; empty ones never do."""
    if not one or not other or one == other:
        return False
    (mine,), (others,) = unpack(one)[0], unpack(other)[0]
    return bool(ItemNotes().difference(mine, others)) if one_site else other_amounts(mine, others)


def clashing_notes(notes: Iterable[bytes]) -> Iterator[int]:
    """Yield the positions of *notes* that differ from an earlier one that was not yielded itself."""
    kept: dict[bytes, None] = {}
    for place, note in enumerate(notes):
        if note in kept:
            continue
        if any(notes_differ(note, each) for each in kept):
            yield place
        else:
            kept[note] = None


def _spread(crawl: Crawl, leaders: Rows) -> Flags:
    """Tell which pages are of a short text that is met on many sites, or of a wall that is met twice."""
    sites = crawl.documents.records["site"].astype(np.int64)
    short = (crawl.documents.records["tokens"] <= LONGEST_ON_SITES) & (sites >= TOLD)
    pairs = np.unique(np.stack((leaders[short], sites[short]), axis=1), axis=0)
    many = np.bincount(pairs[:, 0], minlength=len(crawl)) > SITES
    urls = crawl.documents.keys[URL]
    again = np.bincount(leaders[urls != urls[leaders]], minlength=len(crawl)) > 0
    return (many | (again & crawl.wall))[leaders]


def _pages_table(
    crawl: Crawl, judge: PairJudge, siblings: Flags, leaders: Rows, ranks: Rows, spread: Flags
) -> NDArray[Any]:
    pages = np.zeros(len(crawl), PAGES)
    pages["url"], pages["title"], pages["declared"] = crawl.urls, crawl.titles, crawl.declared
    pages["noindex"], pages["alternates"] = crawl.noindex, crawl.alternates
    pages["rank"], pages["canonical"] = ranks, leaders
    pages["tokens"], pages["fetched"] = crawl.documents.records["tokens"], crawl.fetched
    pages["distance"], pages["similarity"], pages["cluster"] = NO_DISTANCE, np.nan, -1
    pages["verdict"] = "unique"
    alone = np.bincount(leaders, minlength=len(crawl))[leaders] == 1
    pages["verdict"][siblings & alone] = "template"
    pages["verdict"][~crawl.long] = "too_short"
    pages["verdict"][spread] = "wall"
    pages["cluster"][~alone] = 0  # numbered by `number_clusters`
    members = np.flatnonzero(leaders != np.arange(len(crawl)))
    kept = leaders[members]
    found = judge.judge(members, kept)
    pages["distance"][members], pages["similarity"][members] = found.distance, found.similarity
    filed = np.array([filed_url(url) for url in crawl.urls], "O")
    kinds = [(filed[members] == filed[kept]).astype(bool), found.exact, _parts(judge, members, kept, found)]
    pages["verdict"][members] = np.select(kinds, ["revisit", "exact", "part"], "near")
    sites, names = crawl.documents.records["site"], crawl.names
    says = crawl.noindex | np.array([*map(bool, map(max, crawl.declared, crawl.alternates))], bool)
    for row in members[says[members] | says[kept]].tolist():
        pages["handled"][row] = _handled(pages, filed, row)
    for row in members[sites[members] == sites[kept]].tolist():
        leader, exact = int(leaders[row]), pages["verdict"][row] == "exact"
        # Of pages with equal texts each must have a word that the other lacks.
        pages["renamed"][row] = names.differ(row, leader) if exact else not names.are_equal(row, leader)
    return pages


def _parts(judge: PairJudge, pages: Rows, kept: Rows, judgement: Judgement) -> Flags:
    """Tell which of *pages* (rows) are contained in a page that is *kept* and has much else; bool[m]."""
    tokens = judge.documents.records["tokens"]
    unlike = judgement.similarity < jaccard_asked(tokens[pages])
    contained = (judgement.containment >= PART) & (tokens[pages] <= LENGTH * tokens[kept])
    found: Flags = judgement.near & ~judgement.exact & unlike & contained & judge.matcher.verified
    return found


def _handled(pages: NDArray[Any], filed: NDArray[np.object_], row: int) -> str:
    """Return which of `HANDLED` tells search engines already that the page repeats its canonical page."""
    page, kept = pages[row], pages[pages["canonical"][row]]
    if page["noindex"]:
        return "noindex"
    own, original = filed[row], filed[page["canonical"]]
    declared = filed_url(page["declared"]) if page["declared"] else own
    if declared != own and declared in (original, filed_url(kept["declared"] or kept["url"])):
        return "canonical"
    for url, alternates in ((original, page["alternates"]), (own, kept["alternates"])):
        if alternates and url in map(filed_url, json.loads(alternates).values()):
            return "hreflang"
    return ""


def number_clusters(pages: NDArray[Any]) -> NDArray[Any]:
    """Give clusters of *pages* their numbers, by size and rank; return their table, as `Audit.clusters`."""
    rows = np.flatnonzero(pages["cluster"] == 0)
    canonical, which, sizes = np.unique(pages["canonical"][rows], return_inverse=True, return_counts=True)
    order = np.lexsort((pages["rank"][canonical], -sizes))
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    pages["cluster"][rows] = numbers[which]
    clusters = np.zeros(len(order), CLUSTERS)
    clusters["canonical"], clusters["size"] = canonical[order], sizes[order]
    for verdict in ("exact", "near", "part", "revisit"):
        members = pages["cluster"][rows[pages["verdict"][rows] == verdict]]
        clusters[verdict] = np.bincount(members, minlength=len(order))
    return clusters


def pairs_table(judge: PairJudge, compared: Compared) -> NDArray[Any]:
    """Return the table of pairs, as `Audit.pairs`."""
    a, b, judgement = compared
    pairs = np.zeros(len(a), PAIRS)
    pairs["first"], pairs["second"] = a, b
    for name in ("distance", "similarity", "containment"):
        pairs[name] = getattr(judgement, name)
    longer = judge.documents.records["tokens"][a] > judge.documents.records["tokens"][b]
    part = _parts(judge, np.where(longer, b, a), np.where(longer, a, b), judgement)
    conditions = [judgement.exact, part, judgement.near]
    pairs["kind"] = np.select(conditions, ["exact", "part", "near"], "template")
    return pairs


def components(count: int, pairs: ArrayLike) -> NDArray[np.int64]:
    """Label *count* numbers with the least that *pairs* (int[m, 2]) connect it with; int64[count]."""
    # Shiloach and Vishkin, "An O(log n) parallel connectivity algorithm", 1982.
    parents = np.arange(count)
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    while len(a):
        np.minimum.at(parents, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(above := parents[parents], parents):
            parents = above
        a, b = parents[a], parents[b]
        a, b = a[a != b], b[a != b]
    return parents


#: The leader of a page that is in no cluster yet.
_WAITING = -1


def leader_clusters(
    ranks: NDArray[np.number], pairs: NDArray[np.integer], verify: Callable[[Rows, Rows], Flags]
) -> Rows:
    """Cluster n pages around leaders; return the leader of each page as int64[n].

    In the order of *ranks* (number[n], equal ones by number) each page in no cluster yet leads a new one, of
    the waiting pages that *pairs* (int[m, 2]) connect with it, directly or by way of other members, and that
    *verify* finds to repeat it, which is called with leaders and pages. No pair causes more than two checks.
    """
    count = len(ranks)
    a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
    # The neighbours of page p are degrees[p] entries of all_neighbours from starts[p] on.
    sources = np.concatenate((a, b))
    all_neighbours = np.concatenate((b, a))[np.argsort(sources, kind="stable")]
    degrees = np.bincount(sources, minlength=count)
    starts = np.cumsum(degrees) - degrees
    # The last leader that each page was found not to repeat, or its own leader; -1 for none.
    asked = np.full(count, -1)
    leaders = np.where(degrees > 0, _WAITING, np.arange(count))

    def grow(members: Rows) -> None:
        leaders[members] = members
        while len(members):
            near = all_neighbours[ranges(starts[members], degrees[members])]
            of = np.repeat(leaders[members], degrees[members])
            new = (leaders[near] == _WAITING) & (asked[near] != of)
            near, first = np.unique(near[new], return_index=True)
            of = of[new][first]
            asked[near] = of
            verified = verify(of, near) if len(near) else np.zeros(0, bool)
            members = near[verified]
            leaders[members] = of[verified]

    # The next page of every component leads a cluster, and one call of *verify* serves all. What is left of a
    # component may fall into several, so components are found anew after 1, 2, 4, … turns.
    turns = 1
    while (waiting := leaders == _WAITING).any():
        both = waiting[a] & waiting[b]
        a, b = a[both], b[both]
        for pages in islice(_next_of_each_component(np.flatnonzero(waiting), ranks, a, b), turns):
            grow(pages[leaders[pages] == _WAITING])
        turns *= 2
    return leaders


def _next_of_each_component(pages: Rows, ranks: NDArray[np.number], a: Rows, b: Rows) -> Iterator[Rows]:
    """Yield the first of *pages* (ascending) of each component, by *ranks*; then the second; and so on."""
    component = components(len(pages), np.searchsorted(pages, np.stack((a, b), axis=1)))
    order = np.lexsort((pages, ranks[pages], component))
    turn = places(component[order])
    by_turn = np.argsort(turn, kind="stable")
    yield from np.split(pages[order[by_turn]], np.flatnonzero(begins(turn[by_turn]))[1:])


def canonical_ranks(
    crawl: Crawl, stories: NDArray[np.int64], hosts: Sequence[str] = (), urls: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the rank of each page, 0 for the one to keep first, by the rules of docs/audit.md; int64[n].

    *stories* number the connected components of pairs (int[n]); *urls* are patterns.
    """
    sites = crawl.documents.records["site"].astype(np.int64)
    # The share of a site's stories that no other site has.
    told, which = np.unique(stories << 32 | sites, return_inverse=True)
    story, counts = np.unique(told >> 32, return_inverse=True, return_counts=True)[1:]
    site = np.unique(told & 0xFFFFFFFF, return_inverse=True)[1]
    shares = (np.bincount(site, weights=counts[story] == 1) / np.bincount(site))[site][which]
    columns = order_of(crawl, stories, shares, hosts, urls).values()
    keys = [text_places(each)[0] if isinstance(each, list) else each for each in columns]
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
    ends = [f".{host_of('//' + host.strip('.')) or host}" for host in hosts]
    # Shorter URLs come first, then by their characters.
    spelled = [f"{len(decoded):09}{decoded}{url}" for url in urls for decoded in (unquote(url),)]
    # By the canonical URL that pages name: those that are named, or name themselves; no others' last.
    own, named = ([urldefrag(u).url if "#" in u else u for u in each] for each in (urls, crawl.declared))
    targets = {*zip(stories.tolist(), named, strict=True)}
    declared = [
        0 if by == url or (not by and (story, url) in targets) else 1 + bool(by)
        for story, url, by in zip(stories.tolist(), own, named, strict=True)
    ]
    other = np.array([site_key(url) if url else UNKNOWN for url in crawl.declared], np.int64)
    earliest = np.where(crawl.fetched > 0, crawl.fetched, np.inf)
    # What no copier can choose is of all pages of a story on a site; so is the first of their URLs.
    by_url = np.argsort(text_places(spelled)[0])
    first = by_url[np.unique(groups[by_url], return_index=True)[1]][groups]
    # A hash of the text orders pages that are equal in all else, even in their URL.
    return {
        "noindex": crawl.noindex,
        "urls": _places(len(urls), ([bool(test.match(url)) for url in urls] for test in tests)),
        "hosts": _places(len(urls), ([f".{host_of(url)}".endswith(end) for url in urls] for end in ends)),
        "unknown": sites < TOLD,
        "of_other": most((other != UNKNOWN) & (other != sites)),
        "first": -most(-earliest),
        "alike": -shares,
        "least_url": [spelled[row] for row in first.tolist()],
        "https": np.array([url.strip()[:6].lower() != "https:" for url in urls], bool),
        "declared": np.array(declared, np.int64),
        "longest": -crawl.documents.records["tokens"].astype(np.int64),
        "earliest": earliest,
        "url": spelled,
        "digest": crawl.documents.keys[DIGEST],
    }


def _places(count: int, found: Iterable[Sequence[bool]]) -> NDArray[np.int64]:
    """Return the place of the first of *found* that holds of each of *count*, or else how many there are."""
    none = np.ones(count, bool)
    return sum((none := none & ~np.array(each, bool) for each in found), np.zeros(count, np.int64))
